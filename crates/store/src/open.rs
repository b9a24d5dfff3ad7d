//! From a path or URL to a store.

use super::cloud::CloudStore;
use super::local::LocalStore;
use super::store::Store;
use sapwood_core::{Error, Protocol, Result, local_path, redact, url_scheme};
use sapwood_source::SourceOptions;
use std::sync::Arc;

/// The store at a path or URL: a directory, which is made when it is first written to, or a place in a bucket
/// (`s3://`, `gs://`, `az://`). Nothing is read or written yet.
///
/// # Errors
/// `Usage` if the URL names no such place, `Unsupported` for any other scheme.
pub fn open_store(url: &str, options: &SourceOptions) -> Result<Arc<dyn Store>> {
    match Protocol::of(url) {
        Some(Protocol::Local) => Ok(Arc::new(LocalStore::new(local_path(url)?, options))),
        Some(Protocol::S3 | Protocol::Google | Protocol::Azure) => {
            Ok(Arc::new(CloudStore::new(url, options)?))
        }
        _ => {
            let scheme = url_scheme(url).unwrap_or_default();
            Err(Error::unsupported(format!("{scheme}:// is not supported for stores"))
                .url(redact(url))
                .hint("use a directory or a place in an object store (s3://, gs://, az://)"))
        }
    }
}
