//! A source over an object on an HTTP server.
//!
//! - `opening`: the first requests, which learn the size and bring head and tail.
//! - `reading`: from ranges to requests and back, with retries.
//! - `remote`: one request and its answer, redirects followed; `exchange`: one message, with what authorises it.
//! - `listing`: what is in a directory, by WebDAV. `given`: credentials that the user gave.
//! - `answer`, `multipart`, `header`: what the messages look like.
//! - `objects`: many objects, each read by a request or two.
//! - `checksums`: those that the server states of the object.
//! - `server`: what is remembered about each server. `buffers`: memory for answers.
//! - `client`: the connection pool and TLS. `spare`: connections that are made ahead of need.

mod answer;
mod buffers;
mod checksums;
pub(crate) mod client;
mod exchange;
pub(crate) mod given;
mod header;
mod listing;
mod multipart;
mod objects;
mod opening;
mod reading;
mod remote;
mod server;
mod spare;

pub(crate) use answer::error_word;
pub(crate) use listing::list;
pub(crate) use objects::Objects;
pub(crate) use opening::{Manner, open, open_object};

use crate::{BoxFuture, Checksum, Identity, Physics, Source, check};
use answer::Validators;
use bytes::Bytes;
use remote::Remote;
use sapwood_core::{ByteRange, Deadline, Result};
use std::time::Duration;

/// Largest gap that is cheaper to read than to skip, where several ranges travel in one request: one more range costs a
/// header in the answer, and the server a look into its memory.
const GAP: u64 = 4 << 10;

/// Bytes in one request. Larger ones would gain nothing and lose more when a connection breaks.
const LARGEST_REQUEST: u64 = 16 << 20;

/// The same where every range is a request of its own: a request costs a place among those in flight.
const GAP_OF_SINGLE_RANGES: u64 = 64 << 10;

/// Requests of one file that are in flight together, if several ranges travel in one.
const CONCURRENCY: usize = 16;

/// The same where every range is a request of its own.
const CONCURRENCY_OF_SINGLE_RANGES: usize = 48;

/// An object on an HTTP server that honours byte ranges. Made by [`open`](crate::open).
///
/// - Several ranges travel in one request where the server answers that; otherwise they are asked for one
///   by one, in parallel, over connections that are kept. What a server can do is learned once per process.
/// - Every answer is compared with the version that was opened (ETag, modification time, size).
/// - Requests that fail for reasons that may pass are repeated, at most three times.
#[derive(Debug)]
pub struct HttpSource {
    identity: Identity,
    validators: Validators,
    remote: Remote,
}

impl Source for HttpSource {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn physics(&self) -> Physics {
        let server = self.remote.server();
        let ranges_per_request = server.limits().ranges;
        let single = ranges_per_request == 1;
        Physics {
            gap: if single { GAP_OF_SINGLE_RANGES } else { GAP },
            largest_request: LARGEST_REQUEST,
            ranges_per_request,
            concurrency: match (single, self.remote.concurrency) {
                (false, _) => CONCURRENCY,
                (true, most @ ..=CONCURRENCY_OF_SINGLE_RANGES) => most,
                (true, most) => client::connections_at(server.round_trip(), most),
            },
            immediate: false,
            tied: false,
        }
    }

    fn round_trip(&self) -> Option<Duration> {
        Some(self.remote.server().round_trip()).filter(|time| !time.is_zero())
    }

    fn checksums(&self, deadline: Deadline) -> BoxFuture<'_, Vec<Checksum>> {
        Box::pin(async move {
            let stated = tokio::time::timeout_at(deadline.instant().into(), self.stated());
            stated.await.unwrap_or_default()
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
