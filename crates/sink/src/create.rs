//! From a path or URL to a sink.

use super::local::LocalSink;
use super::sink::Sink;
use super::upload::Upload;
use sapwood_core::{Error, Protocol, Result, local_path, redact, url_scheme};
use sapwood_source::SourceOptions;
use tokio::runtime::Handle;

/// Makes a sink for a path or URL, and fails now rather than at the end if nothing can be written there. Uploads wait
/// for the network on the threads of `runtime`; call their methods from any other thread.
///
/// # Errors
/// `Unsupported` if nothing can be written to URLs of this kind, and the errors of the sink itself.
pub fn create(url: &str, options: &SourceOptions, runtime: &Handle) -> Result<Box<dyn Sink>> {
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
