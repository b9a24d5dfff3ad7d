//! From ranges to vector reads and back: splits and packs, and keeps what came.
#![expect(unsafe_code, reason = "memory that XrdCl filled")]

use super::call::{Reply, end};
use super::file::{Buffer, BufferRange};
use super::remote::{Connection, Remote};
use super::server::Limits;
use super::status::Status;
use crate::admission;
use crate::spans::spans;
use bytes::Bytes;
use futures::future::{join, join_all};
use sapwood_core::{ByteRange, Deadline, Error, ErrorKind, Result, Segments};
use std::sync::Arc;

/// Bytes in one vector read: its length has 31 bits, and more would starve other requests on a slow link.
const MOST_BYTES: u64 = 64 << 20;

/// Ranges that are read from a file into one allocation, over as many connections as it takes.
pub(super) struct Reading {
    spans: Vec<ByteRange>,
    bytes: usize,
    buffer: Arc<Buffer>,
    /// The pieces that have not arrived.
    missing: Vec<BufferRange>,
}

impl Reading {
    pub(super) fn new(ranges: &[ByteRange]) -> Result<Reading> {
        let spans = spans(ranges);
        let buffer = Buffer::new(spans.iter().map(|span| span.len).sum())?;
        let mut bytes = 0;
        let mut missing = Vec::with_capacity(spans.len());
        for &range in &spans {
            missing.push(BufferRange { range, at: bytes });
            bytes += range.len as usize;
        }
        Ok(Reading { spans, bytes, buffer, missing })
    }

    /// Requests the missing pieces of an open file. The outer error is final; the inner one may pass, and pieces that
    /// arrived stay.
    pub(super) async fn ask(
        &mut self,
        remote: &Remote,
        connected: &Connection,
        limits: Limits,
        deadline: Deadline,
    ) -> Result<Result<(), Status>> {
        if self.spans.is_empty() {
            return Ok(Ok(()));
        }
        let requests = requests_of(&std::mem::take(&mut self.missing), limits);
        let most = admission::most()?.unwrap_or(usize::MAX);
        let mut rest = requests.as_slice();
        loop {
            let (together, later) = rest.split_at(most.min(rest.len()));
            let _place = admission::admit(&connected.server, together.len()).await;
            let answer = self.ask_together(remote, connected, together.to_vec(), deadline).await?;
            if answer.is_err() || later.is_empty() {
                self.missing.extend(later.iter().flatten());
                return Ok(answer);
            }
            rest = later;
        }
    }

    /// Sends some requests together.
    async fn ask_together(
        &mut self,
        remote: &Remote,
        connected: &Connection,
        requests: Vec<Vec<BufferRange>>,
        deadline: Deadline,
    ) -> Result<Result<(), Status>> {
        let waits: Vec<_> = requests.iter().map(|pieces| remote.accounting.request(pieces.len())).collect();
        // Sent after the reads, and so answered after them: none of them can have seen a later version.
        let Some((reads, stat)) =
            connected.file.read_and_stat(requests.clone(), Arc::clone(&self.buffer), deadline).await
        else {
            return failed(Status::unanswered());
        };
        let reads = reads.into_iter().zip(&requests).zip(waits).map(|((answer, pieces), wait)| async move {
            let reply = complete(end(answer).await, pieces);
            remote.accounting.answered(wait);
            let came = reply.as_ref().map_or(0, |answer| answer.value);
            remote.accounting.received(usize::try_from(came).unwrap_or(usize::MAX));
            reply
        });
        let (replies, stat) = join(join_all(reads), end(stat)).await;
        let mut failure = None;
        for (reply, pieces) in replies.into_iter().zip(requests) {
            let Err(status) = reply else { continue };
            self.missing.extend(pieces);
            // A final failure tells more than one that may pass.
            failure = failure.filter(|known: &Status| !known.is_transient()).or(Some(status));
        }
        match (failure, stat) {
            (Some(status), _) => failed(status.of(&connected.server)),
            (None, Ok(stat)) => {
                connected.check(&connected.server, stat.value, stat.modified)?;
                Ok(Ok(()))
            }
            // Some servers do not support this for an open file.
            (None, Err(status)) if status.is_unsupported() => Ok(Ok(())),
            (None, Err(status)) => failed(status.of(&connected.server)),
        }
    }

    /// The bytes of each range, once [`ask`](Reading::ask) succeeded.
    pub(super) fn answers(self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let buffer = Arc::into_inner(self.buffer).filter(|_| self.missing.is_empty());
        let buffer = buffer.ok_or_else(|| Error::new(ErrorKind::Server, "XRootD's client did not answer"))?;
        // SAFETY: nothing is missing: every piece came, with as many bytes as it asked for.
        let mut bytes = unsafe { buffer.into_bytes(self.bytes) };
        let mut known = Segments::default();
        for span in self.spans {
            known.insert(span.start, bytes.split_to(span.len as usize));
        }
        // Each range lies in one of the spans; an empty one need not.
        Ok(ranges.iter().map(|range| known.get(*range).unwrap_or_default()).collect())
    }
}

/// The reply to a vector read of pieces; a failure if it has another number of bytes.
fn complete(reply: Reply, pieces: &[BufferRange]) -> Reply {
    let wanted: u64 = pieces.iter().map(|piece| piece.range.len).sum();
    match reply {
        Ok(answer) if answer.value != wanted => Err(Status::short(answer.value, wanted)),
        reply => reply,
    }
}

fn failed<T>(status: Status) -> Result<Result<T, Status>> {
    if status.is_transient() { Ok(Err(status)) } else { Err(status.error()) }
}

/// The pieces of each vector read, in order.
fn requests_of(pieces: &[BufferRange], limits: Limits) -> Vec<Vec<BufferRange>> {
    let mut requests: Vec<Vec<BufferRange>> = Vec::new();
    let mut bytes = 0;
    for &BufferRange { range, mut at } in pieces {
        let mut start = range.start;
        while start < range.end() {
            let chunk = ByteRange { start, len: limits.chunk_bytes.min(range.end() - start) };
            let piece = BufferRange { range: chunk, at };
            start = chunk.end();
            at += chunk.len as usize;
            match requests.last_mut() {
                Some(last) if last.len() < limits.chunks && bytes + chunk.len <= MOST_BYTES => {
                    last.push(piece);
                }
                _ => {
                    requests.push(vec![piece]);
                    bytes = 0;
                }
            }
            bytes += chunk.len;
        }
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::RequestAccounting;
    use crate::xrootd::fake::{self, PendingCalls, SIZE, SOCKET_ERROR};
    use crate::xrootd::file::File;
    use std::time::Duration;

    const RANGES: [ByteRange; 2] = [ByteRange { start: 10, len: 5 }, ByteRange { start: 500, len: 3 }];

    /// One range fits in a request.
    const LIMITS: Limits = Limits { chunks: 1, chunk_bytes: 100 };

    /// A file on the fake server.
    fn place() -> (Remote, Connection) {
        let library = fake::library();
        let remote = Remote::of(library, "f", RequestAccounting::new(Arc::default()));
        let file = File::new(library).unwrap();
        let connected = Connection {
            file,
            server: "h:1094".to_owned(),
            size: SIZE,
            modified: 1,
            round_trip: Duration::ZERO,
            lost: false.into(),
        };
        (remote, connected)
    }

    /// The requests that a file got, once there are so many.
    async fn requests(connected: &Connection, count: usize) -> Vec<PendingCalls> {
        let mut requests = Vec::new();
        while requests.len() < count {
            requests.extend(fake::outstanding(&connected.file));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        requests
    }

    #[tokio::test]
    async fn an_abandoned_read_is_freed_when_the_late_answer_comes() {
        let (remote, connected) = place();
        let mut reading = Reading::new(&RANGES).unwrap();
        let buffer = Arc::downgrade(&reading.buffer);
        let soon = Duration::from_millis(50);
        let read = reading.ask(&remote, &connected, LIMITS, Deadline::default());
        assert!(tokio::time::timeout(soon, read).await.is_err());
        drop(reading);
        let requests = requests(&connected, 2).await;
        assert!(buffer.upgrade().is_some(), "XrdCl may still write");
        for request in requests {
            assert!(buffer.upgrade().is_some());
            request.succeed();
        }
        assert!(buffer.upgrade().is_none());
    }

    #[tokio::test]
    async fn only_what_failed_is_asked_for_again() {
        let (remote, connected) = place();
        let mut reading = Reading::new(&RANGES).unwrap();
        let deadline = Deadline::default();
        let answer = async {
            let mut requests = requests(&connected, 2).await;
            requests.pop().unwrap().succeed();
            requests.pop().unwrap().fail(SOCKET_ERROR);
        };
        let (read, ()) = join(reading.ask(&remote, &connected, LIMITS, deadline), answer).await;
        assert!(read.unwrap().unwrap_err().is_transient());
        let answer = async {
            let request = requests(&connected, 1).await.remove(0);
            assert_eq!(request.offsets(), [RANGES[0].start]);
            request.succeed();
        };
        let (read, ()) = join(reading.ask(&remote, &connected, LIMITS, deadline), answer).await;
        read.unwrap().unwrap();
        let expected = RANGES.map(|range| (range.start..range.end()).map(|i| i as u8).collect::<Vec<_>>());
        assert_eq!(reading.answers(&RANGES).unwrap(), expected);
    }

    #[test]
    fn requests_keep_the_limits() {
        let limits = Limits { chunks: 3, chunk_bytes: 10 };
        let pieces = [(0, 25, 0), (100, 0, 25), (40, 10, 25), (60, 1, 35)]
            .map(|(start, len, at)| BufferRange { range: ByteRange { start, len }, at });
        let requests = requests_of(&pieces, limits);
        let lens: Vec<Vec<u64>> = requests.iter().map(|r| r.iter().map(|c| c.range.len).collect()).collect();
        assert_eq!(lens, [vec![10, 10, 5], vec![10, 1]]);
        assert_eq!(requests[0][2], BufferRange { range: ByteRange { start: 20, len: 5 }, at: 20 });
        assert_eq!(requests[1][1].at, 35);
        let large = [BufferRange { range: ByteRange { start: 0, len: 3 * MOST_BYTES / 2 }, at: 0 }];
        let sizes: Vec<u64> = requests_of(&large, Limits::default())
            .iter()
            .map(|request| request.iter().map(|piece| piece.range.len).sum())
            .collect();
        assert!(sizes.len() == 2 && sizes.iter().all(|&size| size <= MOST_BYTES), "{sizes:?}");
    }
}
