//! From a path or URL to a source, with the head and the tail of the file in memory.

use crate::admission;
use crate::ends::{LOCAL_TAIL, head_and_tail, with_ends};
#[cfg(unix)]
use crate::xrootd;
use crate::{CountingSource, LocalSource, OpenedSource, Source, SourceOptions, cloud, http, mount};
use sapwood_core::{Error, Protocol, Result, SourceEvent, local_path, redact, server_of, url_scheme};
use std::path::PathBuf;
use std::sync::Arc;

/// Opens a path, or a URL of one of the schemes `file`, `http`, `https`, `dav`, `davs`, `s3`, `gs`, `az`, `root` and `roots`.
///
/// The last `options.tail_size` bytes, 16 KiB at most if the file is local, and the head that goes [with](crate::head_with)
/// such a tail, are in [`OpenedSource::known`].
///
/// # Errors
/// `NotFound`, `Permission`, `Timeout`, `Network`, `Server`, `Io`; `Usage` for a directory or an illegal URL;
/// `Unsupported` for any other scheme, for a server that cannot send parts of a large file, and for `root://` without
/// XRootD's client.
pub async fn open(url: &str, options: &SourceOptions) -> Result<OpenedSource> {
    admission::most()?;
    let opened = open_by_protocol(url, options).await?;
    if let Some(server) = opened.source.server() {
        let events = &options.counters.events;
        if let Some(first) = server_of(url).filter(|first| *first != server) {
            events.log(Some(&first), SourceEvent::Redirected, format!("to {server}"));
        }
        events.log(Some(&server), SourceEvent::Opened, "");
    }
    Ok(opened)
}

async fn open_by_protocol(url: &str, options: &SourceOptions) -> Result<OpenedSource> {
    match Protocol::of(url) {
        Some(Protocol::Local) => open_local(local_path(url)?, options).await,
        Some(Protocol::Http | Protocol::WebDav) => http::open(url, options).await,
        Some(Protocol::S3 | Protocol::Google | Protocol::Azure) => cloud::open(url, options).await,
        #[cfg(unix)]
        Some(Protocol::Xrootd) => xrootd::open(url, options).await,
        _ => {
            let scheme = url_scheme(url).unwrap_or_default().to_ascii_lowercase();
            Err(Error::unsupported(format!("the protocol '{scheme}://' is not supported"))
                .url(redact(url))
                .hint("use a local path, file://, http(s)://, dav(s)://, s3://, gs://, az:// or root(s)://"))
        }
    }
}

async fn open_local(path: PathBuf, options: &SourceOptions) -> Result<OpenedSource> {
    if let Some(mount) = mount::network_mount(&path) {
        return mount::open(path, mount, options).await;
    }
    let source = LocalSource::open(path)?.with_page_cache(options.page_cache);
    // A disk fetches both at the same time, and has them when they are read.
    source.announce(&head_and_tail(source.identity().size, options.tail_size));
    let source = CountingSource::new(source, Arc::clone(&options.counters));
    with_ends(source, options.tail_size.min(LOCAL_TAIL), options.deadline).await
}
