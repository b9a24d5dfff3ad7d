//! Finds sources by a list of places; and what a finder is held to.

use futures::FutureExt;
use sapwood_core::BoxFuture;
use sapwood_core::{Deadline, Error, ErrorKind, Result, Segments};
use sapwood_fetch::replicas::{Finder, KnownReplica};
use sapwood_source::{Checksum, MemorySource, OpenedSource};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Open = dyn Fn(Deadline) -> BoxFuture<'static, Result<OpenedSource>> + Send + Sync;

/// One place of a [`List`].
pub(super) struct Candidate {
    name: String,
    open: Box<Open>,
}

impl Candidate {
    /// What `open` opens; `name` is shown in messages.
    pub(super) fn new<F>(name: impl Into<String>, open: F) -> Self
    where
        F: Fn(Deadline) -> BoxFuture<'static, Result<OpenedSource>> + Send + Sync + 'static,
    {
        Candidate { name: name.into(), open: Box::new(open) }
    }
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Candidate").field(&self.name).finish()
    }
}

/// Finds the sources of a list, in its order.
#[derive(Debug)]
pub(super) struct List {
    candidates: Vec<Candidate>,
    stated: Vec<Checksum>,
    places: Mutex<Vec<Place>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Untried,
    BeingTried,
    Failed,
    Found,
}

impl List {
    /// Finds the candidates, the first one first.
    pub(super) fn new(candidates: Vec<Candidate>) -> Self {
        let places = Mutex::new(vec![Place::Untried; candidates.len()]);
        List { candidates, stated: Vec::new(), places }
    }

    /// The same, of a file of which this is stated.
    pub(super) fn stating(self, stated: Vec<Checksum>) -> Self {
        List { stated, ..self }
    }

    /// The next place to try; `None` once all were.
    fn take(&self) -> Option<(OpenAttempt<'_>, &Candidate)> {
        let mut places = self.places();
        let next = places.iter().position(|&place| place == Place::Untried);
        let (Some(next), Some(candidate)) = (next, next.and_then(|next| self.candidates.get(next))) else {
            for place in places.iter_mut().filter(|place| **place == Place::Failed) {
                *place = Place::Untried;
            }
            return None;
        };
        let trying = OpenAttempt { list: self, index: next, outcome: Place::Untried };
        trying.set(&mut places, Place::BeingTried);
        Some((trying, candidate))
    }

    fn places(&self) -> MutexGuard<'_, Vec<Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place that is being tried; what became of it is written down when this is dropped.
struct OpenAttempt<'a> {
    list: &'a List,
    index: usize,
    outcome: Place,
}

impl OpenAttempt<'_> {
    fn set(&self, places: &mut [Place], to: Place) {
        if let Some(place) = places.get_mut(self.index) {
            *place = to;
        }
    }
}

impl Drop for OpenAttempt<'_> {
    fn drop(&mut self) {
        self.set(&mut self.list.places(), self.outcome);
    }
}

impl Finder for List {
    fn next<'a>(
        &'a self,
        _: &'a [KnownReplica],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Option<OpenedSource>>> {
        Box::pin(async move {
            let Some((mut trying, candidate)) = self.take() else { return Ok(None) };
            let opened: Result<_, Error> = (candidate.open)(deadline).await;
            trying.outcome = if opened.is_ok() { Place::Found } else { Place::Failed };
            opened.map(Some).map_err(|error| error.url(&candidate.name))
        })
    }

    fn checksums(&self) -> Vec<Checksum> {
        self.stated.clone()
    }
}

fn good(name: &'static str) -> Candidate {
    Candidate::new(name, move |_| {
        let source = Arc::new(MemorySource::new(name));
        async move { Ok(OpenedSource { source, known: Segments::default() }) }.boxed()
    })
}

fn bad() -> Candidate {
    Candidate::new("bad", |_| async { Err(Error::new(ErrorKind::Network, "no")) }.boxed())
}

fn silent() -> Candidate {
    Candidate::new("silent", |_| std::future::pending().boxed())
}

fn next(list: &List) -> Result<Option<u64>> {
    let opened = list.next(&[], Deadline::default()).now_or_never().unwrap()?;
    Ok(opened.map(|opened| opened.source.identity().size))
}

#[test]
fn replicas_are_tried_in_order_and_failed_ones_in_the_next_round() {
    let list = List::new(vec![good("a"), bad(), good("bc")]);
    assert_eq!(next(&list).unwrap(), Some(1));
    for _ in 0..2 {
        assert_eq!(next(&list).unwrap_err().url_str(), Some("bad"));
        if next(&list).unwrap() == Some(2) {
            assert_eq!(next(&list).unwrap(), None);
        }
    }
}

#[test]
fn a_slow_replica_delays_no_other_and_is_not_lost() {
    let list = List::new(vec![silent(), good("a")]);
    let mut waiting = list.next(&[], Deadline::default());
    assert!((&mut waiting).now_or_never().is_none());
    assert_eq!(next(&list).unwrap(), Some(1));
    assert_eq!(next(&list).unwrap(), None);
    drop(waiting);
    assert!(list.next(&[], Deadline::default()).now_or_never().is_none(), "it is tried again");
}
