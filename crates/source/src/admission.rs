//! How many requests all sources of the process may have in flight at one server.

use crate::environment;
use sapwood_core::{Result, server_of};
use std::collections::HashMap;
use std::process;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The environment variable with the most requests in flight at one server. Default: no limit.
const VARIABLE: &str = "SAPWOOD_REQUESTS_IN_FLIGHT";

/// The value of the variable.
static ASKED: LazyLock<Option<String>> = LazyLock::new(|| environment::text(VARIABLE));

static SERVERS: Servers = Servers(Mutex::new(None));

/// The most requests in flight at one server; `None` if there is no limit.
///
/// # Errors
/// `Usage` if the variable is not a number of requests.
pub(crate) fn most() -> Result<Option<usize>> {
    let most = 1..=Semaphore::MAX_PERMITS;
    environment::number(VARIABLE, ASKED.as_deref(), most, "a number of requests, 1 or more,")
}

/// A place for requests in flight; `None` if there is no limit.
pub(crate) type Place = Option<OwnedSemaphorePermit>;

/// Waits until `requests` more may be in flight at a server, in the order of the calls. They count until the place is
/// dropped; more than the limit count as the limit.
pub(crate) async fn admit(server: &str, requests: usize) -> Place {
    SERVERS.admit(server, requests, most().ok()??).await
}

/// The same for one request to the server of a URL.
pub(crate) async fn admit_to(url: &str) -> Place {
    let most = most().ok()??;
    SERVERS.admit(&server_of(url)?, 1, most).await
}

/// The free places at each server, and the process that they are for: the requests of a parent are not ours.
struct Servers(Mutex<Option<(u32, Places)>>);

type Places = HashMap<String, Arc<Semaphore>>;

impl Servers {
    async fn admit(&self, server: &str, requests: usize, most: usize) -> Place {
        let places = {
            let mut servers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if servers.as_ref().is_none_or(|(owner, _)| *owner != process::id()) {
                *servers = None;
            }
            let (_, servers) = servers.get_or_insert_with(|| (process::id(), Places::new()));
            Arc::clone(servers.entry(server.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(most))))
        };
        let wanted = u32::try_from(requests.min(most)).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        places.acquire_many_owned(wanted).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[test]
    fn requests_wait_for_places_at_their_own_server() {
        let servers = Servers(Mutex::new(None));
        let admit = |server, requests| servers.admit(server, requests, 3).now_or_never();
        let two = admit("a:1", 2);
        assert!(two.is_some() && admit("a:1", 2).is_none() && admit("b:1", 2).is_some());
        drop(two);
        assert!(admit("a:1", 100).is_some());
    }
}
