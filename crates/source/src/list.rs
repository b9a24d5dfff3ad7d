//! Listing the directories of servers.

#[cfg(unix)]
use crate::xrootd;
use crate::{ListingEntry, SourceOptions, cloud, http};
use sapwood_core::{Error, Protocol, Result, redact, url_scheme};

/// The entries of a directory at an XRootD, WebDAV or object store URL, sorted by name.
///
/// The option `tail` is ignored.
///
/// # Errors
/// `NotFound`, `Permission`, `Timeout`, `Network`, `Server`; `Unsupported` for a server whose directories cannot
/// be listed, and for any other scheme.
pub async fn list(url: &str, options: &SourceOptions) -> Result<Vec<ListingEntry>> {
    let listed = match Protocol::of(url) {
        Some(Protocol::Http | Protocol::WebDav) => http::list(url, options).await,
        Some(Protocol::S3 | Protocol::Google | Protocol::Azure) => cloud::list(url, options).await,
        #[cfg(unix)]
        Some(Protocol::Xrootd) => xrootd::list(url, options.deadline).await,
        _ => {
            let scheme = url_scheme(url).unwrap_or("file").to_ascii_lowercase();
            Err(Error::unsupported(format!("directories cannot be listed by the protocol '{scheme}://'")))
        }
    };
    listed.map_err(|error| error.url(redact(url)))
}
