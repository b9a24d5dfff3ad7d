//! A source over a file on an XRootD server.

use super::reading::Reading;
use super::remote::{Connection, Remote};
use super::server::Limits;
use super::status::Status;
use super::streams::Streams;
use crate::retry::{Retries, RetryPolicy};
use crate::{Checksum, CostModel, Identity, Source, check};
use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Result, server_of};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::Mutex;

/// Largest gap that is cheaper to read than to skip: another range of a vector read costs 16 bytes each way, and the
/// server a system call.
const GAP: u64 = 4 << 10;

/// Bytes in one request. Larger ones would gain nothing and lose more when a connection breaks.
const LARGEST_REQUEST: u64 = 16 << 20;

/// Requests of one file that are in flight together.
const CONCURRENCY: usize = 16;

/// A file on an XRootD server. Made by [`open`](crate::open).
///
/// - Ranges travel as vector reads, within the limits that the server states.
/// - Each read also asks for the size and modification time of the file, in the same round trip; if they differ from
///   those of the file that was opened, the error is of kind `Changed`.
/// - Over a long distance, further connections to the same server share the work, as long as they gain something.
/// - If the connection breaks, the file is reopened, perhaps on another server, by the [`RetryPolicy`](crate::RetryPolicy).
#[derive(Debug)]
pub struct XrootdSource {
    pub(super) identity: Identity,
    pub(super) remote: Arc<Remote>,
    pub(super) current: Mutex<Arc<Connection>>,
    pub(super) streams: Arc<Streams>,
    pub(super) ranges_per_request: usize,
    pub(super) retry: RetryPolicy,
}

impl XrootdSource {
    /// The bytes of all ranges. If the connection breaks, the file is reopened, and the missing bytes are requested
    /// again.
    async fn read(&self, ranges: &[ByteRange], deadline: Deadline) -> Result<Vec<Bytes>> {
        let mut reading = Reading::new(ranges)?;
        let mut retries =
            Retries::new(self.retry, self.remote.accounting.counters(), &self.identity.url, deadline);
        loop {
            let attempt = match self.connected(deadline).await? {
                Ok(first) => {
                    let limits = Limits::known(&first.server).unwrap_or_default();
                    reading.deal(&self.remote, &self.streams, &first, limits, deadline).await?
                }
                Err(status) => Err(status),
            };
            match attempt {
                Ok(()) => return reading.answers(ranges),
                Err(status) => retries.pause(status.passing()?, None).await?,
            }
        }
    }

    /// The open file, reopened if its connection was lost and no other read reopened it.
    async fn connected(&self, deadline: Deadline) -> Result<Result<Arc<Connection>, Status>> {
        let mut current = self.current.lock().await;
        if !current.lost.load(Ordering::Relaxed) {
            return Ok(Ok(Arc::clone(&current)));
        }
        let found = match self.remote.connect(deadline).await? {
            Ok(found) => found,
            Err(status) => return Ok(Err(status)),
        };
        current.check(&found.server, found.size, found.modified)?;
        self.remote.limits(&found, deadline).await;
        *current = Arc::new(found);
        Ok(Ok(Arc::clone(&current)))
    }
}

impl Source for XrootdSource {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn cost_model(&self) -> CostModel {
        CostModel {
            gap: GAP,
            largest_request: LARGEST_REQUEST,
            ranges_per_request: self.ranges_per_request,
            concurrency: CONCURRENCY,
            immediate: false,
            tied: false,
            deals_out: true,
        }
    }

    fn server(&self) -> Option<String> {
        let server = self.current.try_lock().ok()?.server.clone();
        if server.is_empty() { server_of(&self.identity.url) } else { Some(server) }
    }

    fn round_trip(&self) -> Option<Duration> {
        Some(self.current.try_lock().ok()?.round_trip)
    }

    fn checksums(&self, deadline: Deadline) -> BoxFuture<'_, Vec<Checksum>> {
        Box::pin(async move {
            let current = Arc::clone(&*self.current.lock().await);
            let checksum = self.remote.checksum(&current, deadline).await;
            checksum.into_iter().collect()
        })
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        Box::pin(async move {
            check::request(&self.identity, ranges, deadline)?;
            match tokio::time::timeout_at(deadline.instant().into(), self.read(ranges, deadline)).await {
                Ok(answers) => answers.map_err(|error| error.url(&self.identity.url)),
                Err(_) => Err(check::timeout(&self.identity)),
            }
        })
    }
}
