//! A source over an object on an HTTP server.

use super::answer::Validators;
use super::limits::{CONCURRENCY, CONCURRENCY_OF_SINGLE_RANGES, GAP, GAP_OF_SINGLE_RANGES};
use super::reading::{Version, read};
use super::remote::Remote;
use super::{checksums, client};
use crate::{Checksum, CostModel, Identity, Source, check};
use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Result};
use std::time::Duration;

/// An object on an HTTP server that honors byte ranges. Made by [`open`](crate::open).
///
/// - Several ranges travel in one request if the server answers that; otherwise they are requested one by one, in
///   parallel, over kept-alive connections. What a server can do is learned once per process.
/// - Every answer is compared with the version that was opened (ETag, modification time, size).
/// - Requests that fail for reasons that may pass are repeated, by the [`RetryPolicy`](crate::RetryPolicy).
#[derive(Debug)]
pub struct HttpSource {
    pub(super) identity: Identity,
    pub(super) validators: Validators,
    pub(super) remote: Remote,
}

impl Source for HttpSource {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn cost_model(&self) -> CostModel {
        let server = self.remote.server();
        let ranges_per_request = server.limits().ranges;
        let single = ranges_per_request == 1;
        CostModel {
            gap: if single { GAP_OF_SINGLE_RANGES } else { GAP },
            largest_request: server.request_bytes(),
            ranges_per_request,
            concurrency: match (single, self.remote.concurrency) {
                (false, _) => CONCURRENCY,
                (true, most @ ..=CONCURRENCY_OF_SINGLE_RANGES) => most,
                (true, most) => client::connections_at(server.round_trip(), most),
            },
            immediate: false,
            tied: false,
            deals_out: false,
        }
    }

    fn round_trip(&self) -> Option<Duration> {
        Some(self.remote.server().round_trip()).filter(|time| !time.is_zero())
    }

    fn checksums(&self, deadline: Deadline) -> BoxFuture<'_, Vec<Checksum>> {
        Box::pin(async move {
            let stated = checksums::stated(&self.remote, &self.validators);
            tokio::time::timeout_at(deadline.instant().into(), stated).await.unwrap_or_default()
        })
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        Box::pin(async move {
            check::request(&self.identity, ranges, deadline)?;
            let version = Version { validators: &self.validators, size: self.identity.size };
            let retries = self.remote.retries(&self.identity.url, deadline);
            let read = read(&self.remote, ranges, version, retries);
            match tokio::time::timeout_at(deadline.instant().into(), read).await {
                Ok(answers) => answers.map_err(|error| error.url(&self.identity.url)),
                Err(_) => Err(check::timeout(&self.identity)),
            }
        })
    }
}
