//! From a path or URL to a sink.

use super::local::LocalSink;
use super::sink::Sink;
use super::upload::Upload;
use sapwood_core::{Error, Protocol, Result, local_path, redact, url_scheme};
use sapwood_source::OpenOptions;
use tokio::runtime::Handle;

/// Makes a sink for a path or URL. That nothing can be written there is told now, not at the end. What goes over a
/// network waits on the threads of `runtime`, from any thread but those.
///
/// # Errors
/// `Unsupported` if nothing can be written to URLs of its kind, and what the place itself fails with.
pub fn create(url: &str, options: &OpenOptions, runtime: &Handle) -> Result<Box<dyn Sink>> {
    match Protocol::of(url) {
        Some(Protocol::Local) => Ok(Box::new(LocalSink::create(local_path(url)?)?)),
        Some(Protocol::S3 | Protocol::Google | Protocol::Azure) => {
            Ok(Box::new(Upload::begin(url, options, runtime)?))
        }
        _ => {
            let scheme = url_scheme(url).unwrap_or_default();
            Err(Error::unsupported(format!("files cannot be written to {scheme}://"))
                .url(redact(url))
                .hint("write to a local path or an object store (s3://, gs://, az://), and copy the file"))
        }
    }
}
