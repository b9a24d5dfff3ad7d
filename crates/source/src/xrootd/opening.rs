//! Opens a file: the first vector read brings head and tail, while the server is asked for its limits.

use super::contact::library_for;
use super::reading::Reading;
use super::remote::Remote;
use super::replicas::without_tried;
use super::server::Limits;
use super::source::XrootdSource;
use super::status::advise;
use super::streams::{self, Streams};
use crate::accounting::RequestAccounting;
use crate::ends::{head_and_tail, tail_at};
use crate::retry::{Retries, log_event};
use crate::{Identity, OpenedSource, SourceOptions};
use futures::future::join;
use sapwood_core::{Error, ErrorKind, Result, Segments, SourceEvent, redact, server_of};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Mutex;

/// Opens a URL.
pub(crate) async fn open(url: &str, options: &SourceOptions) -> Result<OpenedSource> {
    streams::count()?;
    let name = redact(without_tried(url));
    let accounting = RequestAccounting::new(Arc::clone(&options.counters), server_of(url));
    let opened = async {
        let library = library_for(url, options.deadline).await?;
        let remote = Remote::new(library, url, name.clone(), accounting)?;
        open_remote(remote, options).await
    };
    let opened = tokio::time::timeout_at(options.deadline.instant().into(), opened).await;
    let late = |_| Err(Error::new(ErrorKind::Timeout, "the deadline passed before the file was open"));
    opened.unwrap_or_else(late).map_err(|error| advise(error, url))
}

async fn open_remote(mut remote: Remote, options: &SourceOptions) -> Result<OpenedSource> {
    let deadline = options.deadline;
    let streams = Arc::new(Streams::default());
    let mut retries = Retries::new(options.retry, &options.counters, &remote.name, deadline);
    let (connected, ranges, answers, limits) = loop {
        let attempt = match remote.connect(deadline).await? {
            Ok(connected) => {
                let ranges = head_and_tail(connected.size, tail_at(connected.round_trip, options.tail_size));
                let mut reading = Reading::new(&ranges)?;
                let (connected, begin) = (Arc::new(connected), Instant::now());
                let read = async {
                    let read = reading.ask(&remote, &connected, Limits::default(), deadline).await;
                    let bytes = ranges.iter().map(|range| range.len).sum();
                    streams.opened(&connected, bytes, begin.elapsed());
                    read
                };
                let (read, limits) = join(read, remote.limits(&connected, deadline)).await;
                match read? {
                    Ok(()) => Ok((connected, reading.answers(&ranges)?, ranges, limits)),
                    Err(status) => Err(status),
                }
            }
            Err(status) => Err(status),
        };
        match attempt {
            Ok((connected, answers, ranges, limits)) => break (connected, ranges, answers, limits),
            Err(status) if remote.avoid(&status) => {
                let error = status.error();
                options.counters.retry(&error);
                log_event(
                    &options.counters,
                    &remote.name,
                    Some(&status.server),
                    SourceEvent::Left,
                    error.message(),
                );
            }
            Err(status) => retries.pause(status.passing()?, None).await?,
        }
    };
    let mut known = Segments::default();
    for (range, bytes) in ranges.iter().zip(answers) {
        known.insert(range.start, bytes);
    }
    let version = Some(format!("{}-{}", connected.modified, connected.size));
    let identity = Identity { url: remote.name.clone(), size: connected.size, version };
    let (remote, current) = (Arc::new(remote), Mutex::new(connected));
    let retry = options.retry;
    let source =
        XrootdSource { identity, retry, remote, current, streams, ranges_per_request: limits.chunks };
    Ok(OpenedSource { source: Arc::new(source), known })
}
