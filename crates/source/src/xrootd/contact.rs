//! Prepares calls of XrdCl: look-ups of names, which may hang, happen first, under the deadline.
//!
//! XrdCl looks up the name of this machine while it is loaded, and those of servers while it holds locks: if that
//! hung, the end of the process would hang, too.

use super::library::Library;
use super::loading::library;
use sapwood_core::{Deadline, Error, ErrorKind, Result, server_of};
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use tokio::net::lookup_host;
use tokio::task::spawn_blocking;
use tokio::time::timeout_at;

/// Servers whose names were resolved.
static FOUND: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// XRootD's client, loaded, after resolving the name of the server in a URL.
///
/// # Errors
/// Those of [`library`]; `Timeout` if the deadline passes first.
pub(super) async fn library_for(url: &str, deadline: Deadline) -> Result<&'static Library> {
    let prepare = async {
        let broken = |error| Error::new(ErrorKind::Io, "XRootD's client cannot be loaded").caused_by(error);
        let library = spawn_blocking(library).await.map_err(broken)??;
        look_up(url).await;
        Ok(library)
    };
    let late =
        |_| Err(Error::new(ErrorKind::Timeout, "the deadline passed before the server's name was found"));
    timeout_at(deadline.instant().into(), prepare).await.unwrap_or_else(late)
}

/// Resolves the name of the server in a URL, the first time. If that fails, XrdCl will report it.
async fn look_up(url: &str) {
    let Some(server) = server_of(url) else { return };
    let is_found = FOUND
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .as_ref()
        .is_some_and(|found| found.contains(&server));
    if !is_found && lookup_host(&*server).await.is_ok() {
        FOUND.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(server);
    }
}
