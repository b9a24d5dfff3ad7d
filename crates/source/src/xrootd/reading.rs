//! From ranges to vector reads and back: splits, packs, repeats.
#![expect(unsafe_code, reason = "memory that XrdCl filled")]

use super::XrootdSource;
use super::file::Buffer;
use super::remote::{Connected, Remote};
use super::server::Limits;
use super::status::{Status, advise};
use crate::accounting::Accounting;
use crate::open::head_and_tail;
use crate::spans::spans;
use crate::{Identity, OpenOptions, Opened, redact};
use bytes::Bytes;
use futures::future::{join, try_join_all};
use sapwood_core::{ByteRange, Deadline, Error, ErrorKind, Result, Segments};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// Times that a file is opened again.
const MOST_RETRIES: u32 = 3;

/// Longest pause before the first retry; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// Bytes in one vector read: below what its 31-bit length can say, and not so many that a slow link starves the rest.
const MOST_BYTES: u64 = 64 << 20;

/// Opens a URL; head and tail come with the first vector read, the limits of the server beside it.
pub(crate) async fn open(url: &str, options: &OpenOptions) -> Result<Opened> {
    let name = redact(url);
    let accounting = Accounting::new(Arc::clone(&options.counters));
    let opened = async {
        let remote = Remote::new(url, name.clone(), accounting)?;
        open_remote(remote, options).await
    };
    let opened = tokio::time::timeout_at(options.deadline.instant().into(), opened).await;
    let late = |_| Err(Error::new(ErrorKind::Timeout, "the deadline passed before the file was open"));
    opened.unwrap_or_else(late).map_err(|error| advise(error, url))
}

async fn open_remote(remote: Remote, options: &OpenOptions) -> Result<Opened> {
    let deadline = options.deadline;
    let mut retries = Retries::default();
    let (connected, ranges, answers, limits) = loop {
        let attempt = match remote.connect(deadline).await? {
            Ok(connected) => {
                let ranges = head_and_tail(connected.size, options.tail);
                let read = read_once(&remote, &connected, &ranges, Limits::default(), deadline);
                let (read, limits) = join(read, remote.limits(&connected, deadline)).await;
                read?.map(|answers| (connected, ranges, answers, limits))
            }
            Err(status) => Err(status),
        };
        match attempt {
            Ok(opened) => break opened,
            Err(status) => retries.pause(&status).await?,
        }
    };
    let mut known = Segments::default();
    for (range, bytes) in ranges.iter().zip(answers) {
        known.insert(range.start, bytes);
    }
    let version = Some(format!("{}-{}", connected.modified, connected.size));
    let identity = Identity { url: remote.name.clone(), size: connected.size, version };
    let current = Mutex::new(Arc::new(connected));
    let source = XrootdSource { identity, remote, current, ranges_per_request: limits.chunks };
    Ok(Opened { source: Arc::new(source), known })
}

impl XrootdSource {
    /// The bytes of all ranges.
    pub(super) async fn read(&self, ranges: &[ByteRange], deadline: Deadline) -> Result<Vec<Bytes>> {
        let mut retries = Retries::default();
        loop {
            let connected = Arc::clone(&*self.current.lock().await);
            let limits = Limits::known(&connected.server).unwrap_or_default();
            let status = match read_once(&self.remote, &connected, ranges, limits, deadline).await? {
                Ok(answers) => return Ok(answers),
                Err(status) => status,
            };
            retries.pause(&status).await?;
            if let Err(status) = self.reconnect(&connected, deadline).await? {
                retries.pause(&status).await?;
            }
        }
    }

    /// Opens the file again, unless another read did.
    async fn reconnect(&self, lost: &Arc<Connected>, deadline: Deadline) -> Result<Result<(), Status>> {
        let mut current = self.current.lock().await;
        if !Arc::ptr_eq(&current, lost) {
            return Ok(Ok(()));
        }
        let found = match self.remote.connect(deadline).await? {
            Ok(found) => found,
            Err(status) => return Ok(Err(status)),
        };
        lost.check(&found.server, found.size, found.modified)?;
        self.remote.limits(&found, deadline).await;
        *current = Arc::new(found);
        Ok(Ok(()))
    }
}

/// Reads ranges from an open file. The outer result is final; the inner may pass.
async fn read_once(
    remote: &Remote,
    connected: &Connected,
    ranges: &[ByteRange],
    limits: Limits,
    deadline: Deadline,
) -> Result<Result<Vec<Bytes>, Status>> {
    let spans = spans(ranges);
    if spans.is_empty() {
        return Ok(Ok(vec![Bytes::new(); ranges.len()]));
    }
    let buffer = Buffer::new(spans.iter().map(|span| span.len).sum())?;
    let mut at = 0;
    let mut requests = Vec::new();
    for chunks in requests_of(&spans, limits) {
        let bytes = chunks.iter().map(|chunk| chunk.len as usize).sum();
        requests.push((connected.file.vector_read(&chunks, &buffer, at, deadline), chunks.len(), bytes));
        at += bytes;
    }
    let requests = requests.into_iter().map(|(request, chunks, bytes): (_, usize, usize)| async move {
        let wait = remote.accounting.request(chunks);
        let reply = request.await;
        remote.accounting.answered(wait);
        remote.accounting.received(if reply.is_ok() { bytes } else { 0 });
        reply
    });
    // Sent behind the reads, and so answered behind them: none of them can have met a later version.
    let stat = connected.file.stat(true, deadline);
    let (read, stat) = join(try_join_all(requests), stat).await;
    let failed = |status: Status| failed(status.of(&connected.server));
    if let Err(status) = read {
        return failed(status);
    }
    match stat {
        Ok(stat) => connected.check(&connected.server, stat.value, stat.modified)?,
        // Not every server answers this for an open file.
        Err(status) if status.is_unsupported() => {}
        Err(status) => return failed(status),
    }
    let Some(buffer) = Arc::into_inner(buffer) else {
        return Ok(Err(Status::unanswered()));
    };
    // SAFETY: all requests succeeded, each with as many bytes as it asked for.
    let mut bytes = unsafe { buffer.into_bytes(at) };
    let mut known = Segments::default();
    for span in spans {
        known.insert(span.start, bytes.split_to(span.len as usize));
    }
    // Each range lies in one of the spans; an empty one need not.
    Ok(Ok(ranges.iter().map(|range| known.get(*range).unwrap_or_default()).collect()))
}

fn failed<T>(status: Status) -> Result<Result<T, Status>> {
    if status.is_transient() { Ok(Err(status)) } else { Err(status.error()) }
}

/// The chunks of each vector read, in the order of the spans.
fn requests_of(spans: &[ByteRange], limits: Limits) -> Vec<Vec<ByteRange>> {
    let mut requests: Vec<Vec<ByteRange>> = Vec::new();
    let mut bytes = 0;
    for span in spans {
        let mut start = span.start;
        while start < span.end() {
            let chunk = ByteRange { start, len: limits.chunk_bytes.min(span.end() - start) };
            start = chunk.end();
            match requests.last_mut() {
                Some(last) if last.len() < limits.chunks && bytes + chunk.len <= MOST_BYTES => {
                    last.push(chunk)
                }
                _ => {
                    requests.push(vec![chunk]);
                    bytes = 0;
                }
            }
            bytes += chunk.len;
        }
    }
    requests
}

/// Repeats a bounded number of times, after random pauses that grow: many clients that failed together should not
/// come back together.
#[derive(Debug, Default)]
struct Retries {
    count: u32,
}

impl Retries {
    /// Waits before the next try; fails if there were enough, or if another cannot help.
    async fn pause(&mut self, status: &Status) -> Result<()> {
        if !status.is_transient() || self.count >= MOST_RETRIES {
            return Err(status.error());
        }
        let longest = FIRST_PAUSE * 2_u32.pow(self.count);
        self.count += 1;
        tokio::time::sleep(longest.mul_f64(fastrand::f64())).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_keep_the_limits() {
        let limits = Limits { chunks: 3, chunk_bytes: 10 };
        let ranges = [(0, 25), (100, 0), (40, 10), (60, 1)].map(|(start, len)| ByteRange { start, len });
        let requests = requests_of(&ranges, limits);
        let lens: Vec<Vec<u64>> = requests.iter().map(|r| r.iter().map(|c| c.len).collect()).collect();
        assert_eq!(lens, [vec![10, 10, 5], vec![10, 1]]);
        assert_eq!(requests[0][2], ByteRange { start: 20, len: 5 });
        let large = [ByteRange { start: 0, len: 3 * MOST_BYTES / 2 }];
        let sizes: Vec<u64> = requests_of(&large, Limits::default())
            .iter()
            .map(|request| request.iter().map(|chunk| chunk.len).sum())
            .collect();
        assert!(sizes.len() == 2 && sizes.iter().all(|&size| size <= MOST_BYTES), "{sizes:?}");
    }
}
