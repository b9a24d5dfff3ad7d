//! What is in a directory of a server.

use crate::open::scheme;
use crate::redact;
use sapwood_core::{Deadline, Error, Result};

/// A file or directory in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name, without the directory.
    pub name: String,
    /// True if it is a directory.
    pub is_directory: bool,
}

/// The entries of the directory at a `root://` URL, sorted by name.
///
/// # Errors
/// `NotFound`, `Permission`, `Timeout`, `Network`, `Server`; `Unsupported` for any other scheme.
pub async fn list(url: &str, deadline: Deadline) -> Result<Vec<Entry>> {
    #[cfg(unix)]
    if crate::xrootd::is_scheme(scheme(url)) {
        return crate::xrootd::list(url, deadline).await;
    }
    let scheme = scheme(url).unwrap_or("file");
    Err(Error::unsupported(format!("directories cannot be listed by the protocol '{scheme}://'"))
        .url(redact(url)))
}
