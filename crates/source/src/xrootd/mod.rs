//! A source over a file on an XRootD server, read with libXrdCl.
//!
//! - `library`: the shim over libXrdCl (`native/xrdcl`), loaded at the first `root://` URL; `settings`: how it is set up.
//! - `call`: one operation of XrdCl as a future; `file`: the operations of an open file; `closing`: their end.
//! - `contact`: what is done before XrdCl is called about a server. `opening`: head and tail in hand. `remote`: a file, here or on the server that it redirects to; `server`: what is
//!   remembered about each server.
//! - `reading`: from ranges to vector reads and back, with retries; `streams`: over further connections, where much is read.
//! - `status`: XrdCl's failures as errors. `listing`: what is in a directory. `places`: where else a file is.

mod call;
mod closing;
mod contact;
#[cfg(test)]
mod fake;
mod file;
mod library;
mod listing;
mod opening;
mod places;
mod reading;
mod remote;
mod server;
mod settings;
mod status;
mod streams;

pub(crate) use listing::list;
pub(crate) use opening::open;
pub(crate) use places::{Why, avoiding, is_cache, is_redirected, locate, on_server, plain};
pub(crate) use server::site;

use crate::server::server_of;
use crate::{BoxFuture, Checksum, Identity, Physics, Source, check};
use bytes::Bytes;
use remote::{Connected, Remote};
use sapwood_core::{ByteRange, Deadline, Result};
use std::sync::Arc;
use std::time::Duration;
use streams::Streams;
use tokio::sync::Mutex;

/// The schemes of URLs that libXrdCl understands.
const SCHEMES: [&str; 4] = ["root", "roots", "xroot", "xroots"];

/// Largest gap that is cheaper to read than to skip: one more range of a vector read costs 16 bytes each way, and the
/// server a system call.
const GAP: u64 = 4 << 10;

/// Bytes in one request. Larger ones would gain nothing and lose more when a connection breaks.
const LARGEST_REQUEST: u64 = 16 << 20;

/// Requests of one file that are in flight together.
const CONCURRENCY: usize = 16;

/// True for the schemes that are read here.
pub(crate) fn is_scheme(scheme: Option<&str>) -> bool {
    scheme.is_some_and(|scheme| SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme)))
}

/// A file on an XRootD server. Made by [`open`](crate::open).
///
/// - Ranges travel as vector reads, within the limits that the server states.
/// - With every read the server is asked for size and modification time, on the way of the read itself; if they are
///   not those of the file that was opened, the error is of kind `Changed`.
/// - Where much is read from afar, further connections to the same server share the work, four in all.
/// - If the connection breaks, the file is opened again, at most three times, perhaps on another server.
#[derive(Debug)]
pub struct XrootdSource {
    identity: Identity,
    remote: Arc<Remote>,
    current: Mutex<Arc<Connected>>,
    streams: Arc<Streams>,
    ranges_per_request: usize,
}

impl XrootdSource {
    /// The server that sends the bytes, as `host:port`: another than the URL names where that one redirects.
    pub async fn data_server(&self) -> String {
        self.current.lock().await.server.clone()
    }
}

impl Source for XrootdSource {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn physics(&self) -> Physics {
        Physics {
            gap: GAP,
            largest_request: LARGEST_REQUEST,
            ranges_per_request: self.ranges_per_request,
            concurrency: CONCURRENCY,
            immediate: false,
            tied: false,
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
