//! From ranges to vector reads and back: splits and packs, and keeps what came.
#![expect(unsafe_code, reason = "memory that XrdCl filled")]

use super::call::{Reply, end};
use super::file::{Buffer, BufferRange};
use super::remote::{Connection, Remote};
use super::server::Limits;
use super::status::Status;
use super::streams::Streams;
use crate::accounting::RequestDepth;
use crate::admission;
use crate::spans::spans;
use bytes::Bytes;
use futures::StreamExt;
use futures::future::{join, join_all};
use futures::stream::FuturesUnordered;
use sapwood_core::{ByteRange, Deadline, Error, ErrorKind, Result, Segments};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

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

    /// Requests the missing pieces over one connection. The outer error is final; the inner one may pass, and pieces that
    /// arrived stay.
    pub(super) async fn ask(
        &mut self,
        remote: &Remote,
        connected: &Connection,
        limits: Limits,
        deadline: Deadline,
    ) -> Result<Result<(), Status>> {
        let pieces = std::mem::take(&mut self.missing);
        let asked = request(remote, connected, pieces, &self.buffer, limits, deadline).await?;
        asked.waits.into_iter().for_each(|wait| remote.accounting.answered(wait));
        self.missing = asked.missing;
        asked.failure.map_or(Ok(Ok(())), failed)
    }

    /// Requests the missing pieces in batches, over as many connections as pay. The errors are those of
    /// [`ask`](Reading::ask).
    pub(super) async fn deal(
        &mut self,
        remote: &Arc<Remote>,
        streams: &Arc<Streams>,
        first: &Arc<Connection>,
        limits: Limits,
        deadline: Deadline,
    ) -> Result<Result<(), Status>> {
        let mut left = VecDeque::from(std::mem::take(&mut self.missing));
        let mut wanted: u64 = left.iter().map(|piece| piece.range.len).sum();
        let _begun = streams.begin(wanted);
        let (mut in_flight, mut waits, mut failure) = (FuturesUnordered::new(), Vec::new(), None);
        let buffer = &self.buffer;
        loop {
            tokio::select! {
                biased;
                batch = streams.batch(remote, first, wanted), if wanted > 0 && failure.is_none() => {
                    let pieces = cut(&mut left, batch.bytes);
                    wanted -= batch.bytes;
                    in_flight.push(async move {
                        let connected = &batch.connection;
                        let asked = request(remote, connected, pieces, buffer, limits, deadline).await?;
                        match &asked.failure {
                            None => batch.arrived(),
                            Some(_) => connected.lost.store(true, Ordering::Relaxed),
                        }
                        Ok::<_, Error>(asked)
                    });
                }
                Some(asked) = in_flight.next(), if !in_flight.is_empty() => {
                    let asked = asked?;
                    self.missing.extend(asked.missing);
                    failure = worse(failure, asked.failure);
                    // What is sent as others arrive only waits for its turn: it is no further round trip.
                    waits.extend(asked.waits);
                    if wanted == 0 {
                        waits.drain(..).for_each(|wait| remote.accounting.answered(wait));
                    }
                }
                else => break,
            }
        }
        drop(in_flight);
        waits.into_iter().for_each(|wait| remote.accounting.answered(wait));
        self.missing.extend(left);
        failure.map_or(Ok(Ok(())), failed)
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

/// What became of pieces that were requested.
#[derive(Default)]
struct RequestOutcome {
    missing: Vec<BufferRange>,
    failure: Option<Status>,
    waits: Vec<RequestDepth>,
}

/// Requests pieces over one connection, as many together as may be in flight.
async fn request(
    remote: &Remote,
    connected: &Connection,
    pieces: Vec<BufferRange>,
    buffer: &Arc<Buffer>,
    limits: Limits,
    deadline: Deadline,
) -> Result<RequestOutcome> {
    let requests = requests_of(&pieces, limits);
    let most = admission::most()?.unwrap_or(usize::MAX);
    let mut asked = RequestOutcome::default();
    for together in requests.chunks(most) {
        if asked.failure.is_some() {
            asked.missing.extend(together.iter().flatten());
            continue;
        }
        let _place = admission::admit(&connected.server, together.len()).await;
        request_together(remote, connected, together, buffer, deadline, &mut asked).await?;
    }
    Ok(asked)
}

/// Sends some requests together.
async fn request_together(
    remote: &Remote,
    connected: &Connection,
    requests: &[Vec<BufferRange>],
    buffer: &Arc<Buffer>,
    deadline: Deadline,
    asked: &mut RequestOutcome,
) -> Result<()> {
    let server = Some(connected.server.as_str());
    asked.waits.extend(requests.iter().map(|pieces| remote.accounting.request_to(server, pieces.len())));
    // The size and time are requested after the reads, and so answered after them: none of them can have seen a later
    // version.
    let Some((reads, stat)) =
        connected.file.read_and_stat(requests.to_vec(), Arc::clone(buffer), deadline).await
    else {
        asked.missing.extend(requests.iter().flatten());
        asked.failure = Some(Status::unanswered());
        return Ok(());
    };
    let reads = reads.into_iter().zip(requests).map(|(answer, pieces)| async move {
        let reply = complete(end(answer).await, pieces);
        let came = reply.as_ref().map_or(0, |answer| answer.value);
        remote.accounting.received(usize::try_from(came).unwrap_or(usize::MAX));
        reply
    });
    let (replies, stat) = join(join_all(reads), end(stat)).await;
    let mut failure = None;
    for (reply, pieces) in replies.into_iter().zip(requests) {
        let Err(status) = reply else { continue };
        asked.missing.extend(pieces);
        failure = worse(failure, Some(status));
    }
    match stat {
        Ok(stat) if failure.is_none() => connected.check(&connected.server, stat.value, stat.modified)?,
        // Some servers do not support this for an open file.
        Err(status) if failure.is_none() && !status.is_unsupported() => failure = Some(status),
        _ => {}
    }
    asked.failure = failure.map(|status| status.of(&connected.server));
    Ok(())
}

/// One of two failures: a final one tells more than one that may pass.
fn worse(known: Option<Status>, other: Option<Status>) -> Option<Status> {
    match (known, other) {
        (Some(known), Some(_)) if !known.is_transient() => Some(known),
        (known, other) => other.or(known),
    }
}

/// The first `bytes` bytes of the pieces.
fn cut(pieces: &mut VecDeque<BufferRange>, mut bytes: u64) -> Vec<BufferRange> {
    let mut first = Vec::new();
    while bytes > 0
        && let Some(BufferRange { range, at }) = pieces.pop_front()
    {
        let len = range.len.min(bytes);
        first.push(BufferRange { range: ByteRange { start: range.start, len }, at });
        if len < range.len {
            let rest = ByteRange { start: range.start + len, len: range.len - len };
            pieces.push_front(BufferRange { range: rest, at: at + len as usize });
        }
        bytes -= len;
    }
    first
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
        let remote = Remote::of(library, "f", RequestAccounting::new(Arc::default(), None));
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

    /// The requests that a file got, once there are `count` of them.
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
    fn batches_are_cut_from_pieces() {
        let piece = |start, len, at| BufferRange { range: ByteRange { start, len }, at };
        let mut pieces = VecDeque::from([piece(0, 10, 0), piece(100, 10, 10)]);
        assert_eq!(cut(&mut pieces, 13), [piece(0, 10, 0), piece(100, 3, 10)]);
        assert_eq!(cut(&mut pieces, 100), [piece(103, 7, 13)]);
        assert!(pieces.is_empty());
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
