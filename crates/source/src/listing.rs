//! What is in a directory of a server.

use crate::open::scheme;
use crate::{OpenOptions, cloud, http, redact};
use sapwood_core::{Error, Result};

/// A file or directory in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name, without the directory.
    pub name: String,
    /// True if it is a directory.
    pub is_directory: bool,
}

/// The entries of the directory at a URL, sorted by name: of XRootD, WebDAV and object stores.
///
/// Of the options, `tail` has no meaning here.
///
/// # Errors
/// `NotFound`, `Permission`, `Timeout`, `Network`, `Server`; `Unsupported` for a server whose directories cannot
/// be listed, and for any other scheme.
pub async fn list(url: &str, options: &OpenOptions) -> Result<Vec<Entry>> {
    let scheme = scheme(url).unwrap_or("file").to_ascii_lowercase();
    let listed = match scheme.as_str() {
        "http" | "https" | "dav" | "davs" => http::list(url, options).await,
        other if cloud::is_scheme(other) => cloud::list(url, options).await,
        #[cfg(unix)]
        other if crate::xrootd::is_scheme(Some(other)) => crate::xrootd::list(url, options.deadline).await,
        other => {
            let message = format!("directories cannot be listed by the protocol '{other}://'");
            Err(Error::unsupported(message))
        }
    };
    listed.map_err(|error| error.url(redact(url)))
}
