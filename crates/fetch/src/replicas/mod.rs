//! One file, read from several places: everything above sees one source.
//!
//! [`Replicas::open`] gets its sources from a [`Finder`], such as a [`List`].

mod finder;
mod settings;

pub use finder::{Candidate, Finder, Known, List, Standing};
pub use settings::Settings;

use bytes::Bytes;
use sapwood_core::{ByteRange, Counters, Deadline, Error, ErrorKind, Event, Result, Segments};
use sapwood_source::{BoxFuture, Identity, Opened, Physics, Source, Trace, TracedSource, server_of, tell};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Several sources of one file.
#[derive(Debug)]
pub struct Replicas {
    finder: Arc<dyn Finder>,
    counters: Arc<Counters>,
    trace: Trace,
    identity: Identity,
    /// What came with the first opening; it holds the identity that the file's writer gave it.
    known: Segments,
    current: Mutex<Arc<dyn Source>>,
    /// Those that were left.
    left: Mutex<Vec<Known>>,
}

impl Replicas {
    /// Opens the first source that can be. What is read is added to `trace`, each source for itself, and what happens is
    /// added to the story in `counters`; the requests are counted by the sources themselves, where they were opened.
    ///
    /// # Errors
    /// That of the last place, if the file cannot be opened at any; `NotFound` if there is none.
    pub async fn open(
        finder: Arc<dyn Finder>,
        settings: Settings,
        counters: Arc<Counters>,
        trace: Trace,
        deadline: Deadline,
    ) -> Result<Opened> {
        let _ = settings;
        let opened = next(&*finder, &[], &counters, &trace, deadline).await?;
        let identity = opened.source.identity().clone();
        let current = Mutex::new(opened.source);
        let (known, left) = (opened.known.clone(), Mutex::default());
        let source = Replicas { finder, counters, trace, identity, known, current, left };
        Ok(Opened { source: Arc::new(source), known: opened.known })
    }

    fn current(&self) -> Arc<dyn Source> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn tell(&self, server: Option<String>, event: Event, text: &str) {
        tell(&self.counters, &self.identity.url, server.as_deref(), event, text);
    }

    async fn read(&self, ranges: &[ByteRange], deadline: Deadline) -> Result<Vec<Bytes>> {
        loop {
            let source = self.current();
            let error = match source.read_ranges(ranges, deadline).await {
                Ok(answers) => return Ok(answers),
                Err(error) => error,
            };
            self.tell(source.server(), Event::Left, error.message());
            let known = Known {
                url: source.identity().url.clone(),
                server: source.server(),
                standing: Standing::Resting,
            };
            let left = {
                let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
                left.push(known);
                left.clone()
            };
            let other = next(&*self.finder, &left, &self.counters, &self.trace, deadline).await;
            let other = other.map_err(|_| error)?;
            if other.source.identity().size != self.identity.size || !agree(&self.known, &other.known) {
                self.tell(other.source.server(), Event::Refused, "it has another file of that name");
            } else {
                self.tell(other.source.server(), Event::Switched, "it is read on from there");
                *self.current.lock().unwrap_or_else(PoisonError::into_inner) = other.source;
            }
        }
    }
}

/// Whether two openings brought the same bytes, as far as both brought them.
fn agree(one: &Segments, other: &Segments) -> bool {
    let both = one.ranges().flat_map(|a| other.ranges().map(move |b| (a, b)));
    let mut shared = both.filter_map(|(a, b)| {
        let start = a.start.max(b.start);
        let len = (a.start + a.len).min(b.start + b.len).checked_sub(start)?;
        Some(ByteRange { start, len })
    });
    shared.all(|range| one.get(range) == other.get(range))
}

/// The next source that the finder finds.
async fn next(
    finder: &dyn Finder,
    known: &[Known],
    counters: &Counters,
    trace: &Trace,
    deadline: Deadline,
) -> Result<Opened> {
    let mut last = None;
    loop {
        let began = Instant::now();
        match finder.next(known, deadline).await {
            Ok(Some(Opened { source, known })) => {
                let traced = TracedSource::within(source, trace.clone()).with_opening(began, &known);
                return Ok(Opened { source: Arc::new(traced), known });
            }
            Ok(None) => {
                return Err(last.unwrap_or_else(|| {
                    Error::new(ErrorKind::NotFound, "there is no place to read the file from")
                }));
            }
            Err(error) => {
                let url = error.url_str().unwrap_or_default();
                tell(counters, url, server_of(url).as_deref(), Event::Failed, error.message());
                last = Some(error);
            }
        }
    }
}

impl Source for Replicas {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn physics(&self) -> Physics {
        Physics { immediate: false, ..self.current().physics() }
    }

    fn server(&self) -> Option<String> {
        self.current().server()
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        Box::pin(self.read(ranges, deadline))
    }
}
