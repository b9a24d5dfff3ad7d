//! Reaches a file: directly if it has one location, or through one source that combines all replicas.

use crate::OpenOptions;
use futures::future::{Either, select};
use sapwood_core::{Error, ErrorKind, Result, Segments, SourceEvent, redact, server_of};
use sapwood_fetch::candidates::ReplicaCandidates;
use sapwood_fetch::replicas::{ReplicaReadOptions, Replicas};
use sapwood_source::{
    OpenedSource, Redirector, Replica, ReplicaList, Source, Trace, TracedSource, choose, is_document,
    log_event, normalized_server_of, open, parse_document, read_document,
};
use std::future::pending;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a redirector may take to open a file before it is asked for the servers that have it.
const SLOW: Duration = Duration::from_secs(2);

/// The source of a file that was just opened, and the trace of all its sources.
pub struct ReachedSource {
    /// The source.
    pub source: Arc<dyn Source>,
    /// The parts that were read on opening.
    pub known: Segments,
    /// The requests to its sources.
    pub trace: Trace,
}

impl ReachedSource {
    /// A file with one source, whose opening began at `begin`.
    pub(crate) fn alone(opened: OpenedSource, begin: Instant, trace: Trace) -> ReachedSource {
        let OpenedSource { source, known } = opened;
        let traced = TracedSource::within(source, trace.clone()).with_opening(begin, &known);
        ReachedSource { source: Arc::new(traced), known, trace }
    }

    /// A file with several sources.
    async fn several(
        candidates: ReplicaCandidates,
        options: &OpenOptions,
        trace: Trace,
    ) -> Result<ReachedSource> {
        let replica_options = ReplicaReadOptions {
            sources: options.replicas.sources.max(1),
            probe_interval: options.replicas.probe_interval,
            ..ReplicaReadOptions::default()
        };
        let counters = Arc::clone(&options.source.counters);
        let opened = Replicas::open(
            Arc::new(candidates),
            replica_options,
            counters,
            trace.clone(),
            options.source.deadline,
        )
        .await?;
        Ok(ReachedSource { source: opened.source, known: opened.known, trace })
    }
}

/// Opens a file at `url`, or at the replicas in the options. Requests to its sources are added to `trace`.
pub(crate) async fn reach(url: &str, options: &OpenOptions, trace: Trace) -> Result<ReachedSource> {
    // The first opening begins with the trace.
    let begin = if trace.records().is_empty() { trace.begin() } else { Instant::now() };
    let replicas = &options.replicas;
    if replicas.is_empty() && !is_document(url) {
        let opened = open_one(url, options).await?;
        let server = opened.source.server();
        if replicas.sources < 2 || Redirector::of(url, server.as_deref(), &options.source).is_none() {
            return Ok(ReachedSource::alone(opened, begin, trace));
        }
        let candidates = ReplicaCandidates::new(options.source.clone());
        candidates.add_opened(url, opened);
        return ReachedSource::several(candidates, options, trace).await;
    }
    ReachedSource::several(candidates(url, options).await?, options, trace).await
}

/// Opens the file at one URL. If a redirector is slow, also tries the servers that it names.
async fn open_one(url: &str, options: &OpenOptions) -> Result<OpenedSource> {
    let redirector = Redirector::at(url, &options.source).filter(|_| options.replicas.sources > 1);
    let Some(redirector) = redirector else { return open(url, &options.source).await };
    let elsewhere = async {
        tokio::time::sleep(SLOW).await;
        let urls = redirector.locate(options.source.deadline).await.unwrap_or_default();
        for other in urls.iter().filter(|other| normalized_server_of(other) != normalized_server_of(url)) {
            if let Ok(opened) = open(other, &options.source).await {
                return opened;
            }
        }
        pending().await
    };
    match select(pin!(open(url, &options.source)), pin!(elsewhere)).await {
        Either::Left((opened, _)) => opened,
        Either::Right((opened, _)) => Ok(opened),
    }
}

/// All candidates of a file. A name that is neither a URL nor an existing local path is a logical one, without location.
async fn candidates(url: &str, options: &OpenOptions) -> Result<ReplicaCandidates> {
    let replicas = &options.replicas;
    let candidates = ReplicaCandidates::new(options.source.clone());
    let mut failure = None;
    let is_place = url.contains("://") || Path::new(url).exists();
    for place in is_place.then_some(url).into_iter().chain(replicas.urls.iter().map(String::as_str)) {
        if !is_document(place) {
            candidates.add(Replica::of(place));
            continue;
        }
        match read_document(place, &options.source).await.and_then(|found| described(found, url, place)) {
            Ok(described) => candidates.add_described(described),
            Err(error) => {
                log_event(
                    &options.source.counters,
                    place,
                    server_of(place).as_deref(),
                    SourceEvent::Failed,
                    error.message(),
                );
                failure = Some(error);
            }
        }
    }
    for document in &replicas.documents {
        candidates.add_described(described(parse_document(document.as_bytes())?, url, "")?);
    }
    match (candidates.is_empty(), failure) {
        (false, _) => Ok(candidates),
        (true, Some(failure)) => Err(failure),
        (true, None) => Err(Error::new(ErrorKind::NotFound, "no location of the file is known")
            .url(redact(url))
            .hint("list its locations in 'replicas'")),
    }
}

/// The entry of a document for the requested file; if the document itself was requested, its only entry.
fn described(found: Vec<ReplicaList>, url: &str, document: &str) -> Result<ReplicaList> {
    let name = Some(url).filter(|&url| url != document);
    let place = if document.is_empty() { url } else { document };
    choose(found, name).map_err(|error| error.url(redact(place)))
}
