//! How a file is reached: at its one place as it is; at several, as one source that is made of all.

use futures::future::{Either, select};
use sapwood_core::{Error, ErrorKind, Event, Result, Segments};
use sapwood_fetch::places::Places;
use sapwood_fetch::replicas::{Replicas, Settings};
use sapwood_source::{
    Described, OpenOptions, Opened, Place, Redirector, Source, Trace, TracedSource, choose, is_document,
    open, parse_document, place_of, read_document, redact, server_of, tell,
};
use std::future::pending;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a redirector may take to hand out a file before it is asked for the servers that have it.
const SLOW: Duration = Duration::from_secs(2);

/// A file that was just opened, and the trace of all its sources.
pub struct ReachedSource {
    /// What reads it.
    pub source: Arc<dyn Source>,
    /// What came with opening.
    pub known: Segments,
    /// What its sources were asked.
    pub trace: Trace,
}

impl ReachedSource {
    /// A file with one source, which was opened since `begin`.
    pub(crate) fn alone(opened: Opened, begin: Instant, trace: Trace) -> ReachedSource {
        let Opened { source, known } = opened;
        let traced = TracedSource::within(source, trace.clone()).with_opening(begin, &known);
        ReachedSource { source: Arc::new(traced), known, trace }
    }

    /// A file with several sources.
    async fn several(places: Places, options: &OpenOptions, trace: Trace) -> Result<ReachedSource> {
        let settings = Settings { sources: options.replicas.sources.max(1), ..Settings::default() };
        let counters = Arc::clone(&options.counters);
        let opened =
            Replicas::open(Arc::new(places), settings, counters, trace.clone(), options.deadline).await?;
        Ok(ReachedSource { source: opened.source, known: opened.known, trace })
    }
}

/// Opens a file at `url`, and where else the options say that it is; what its sources are asked is added to `trace`.
pub(crate) async fn reach(url: &str, options: &OpenOptions, trace: Trace) -> Result<ReachedSource> {
    // The first opening began with the trace.
    let begin = if trace.records().is_empty() { trace.begin() } else { Instant::now() };
    let replicas = &options.replicas;
    if replicas.urls.is_empty() && replicas.documents.is_empty() && !is_document(url) {
        let opened = open_one(url, options).await?;
        let server = opened.source.server();
        if replicas.sources < 2 || Redirector::of(url, server.as_deref(), options).is_none() {
            return Ok(ReachedSource::alone(opened, begin, trace));
        }
        let places = Places::new(options.clone());
        places.add_opened(url, opened);
        return ReachedSource::several(places, options, trace).await;
    }
    ReachedSource::several(places(url, options).await?, options, trace).await
}

/// Opens the file at one URL; where a redirector takes long to hand it out, at one of the servers that it names.
async fn open_one(url: &str, options: &OpenOptions) -> Result<Opened> {
    let redirector = Redirector::at(url, options).filter(|_| options.replicas.sources > 1);
    let Some(redirector) = redirector else { return open(url, options).await };
    let elsewhere = async {
        tokio::time::sleep(SLOW).await;
        let urls = redirector.locate(options.deadline).await.unwrap_or_default();
        for other in urls.iter().filter(|other| place_of(other) != place_of(url)) {
            if let Ok(opened) = open(other, options).await {
                return opened;
            }
        }
        pending().await
    };
    match select(pin!(open(url, options)), pin!(elsewhere)).await {
        Either::Left((opened, _)) => opened,
        Either::Right((opened, _)) => Ok(opened),
    }
}

/// All places of a file. A name that is neither a URL nor that of a local file is a logical one: no place by itself.
async fn places(url: &str, options: &OpenOptions) -> Result<Places> {
    let replicas = &options.replicas;
    let places = Places::new(options.clone());
    let mut failure = None;
    let is_place = url.contains("://") || Path::new(url).exists();
    for place in is_place.then_some(url).into_iter().chain(replicas.urls.iter().map(String::as_str)) {
        if !is_document(place) {
            places.add(Place::of(place));
            continue;
        }
        match read_document(place, options).await.and_then(|found| described(found, url, place)) {
            Ok(described) => places.add_described(described),
            Err(error) => {
                tell(&options.counters, place, server_of(place).as_deref(), Event::Failed, error.message());
                failure = Some(error);
            }
        }
    }
    for document in &replicas.documents {
        places.add_described(described(parse_document(document.as_bytes())?, url, "")?);
    }
    match (places.is_empty(), failure) {
        (false, _) => Ok(places),
        (true, Some(failure)) => Err(failure),
        (true, None) => Err(Error::new(ErrorKind::NotFound, "no place of the file is known")
            .url(redact(url))
            .hint("say in 'replicas' where it is")),
    }
}

/// What a document says of the file that was asked for; of the only one, if the document itself was.
fn described(found: Vec<Described>, url: &str, document: &str) -> Result<Described> {
    let name = Some(url).filter(|&url| url != document);
    let place = if document.is_empty() { url } else { document };
    choose(found, name).map_err(|error| error.url(redact(place)))
}
