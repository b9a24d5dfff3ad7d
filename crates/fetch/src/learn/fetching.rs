//! The state that the threads of a reader share, and the fetches that they start.

use super::flight::Flight;
use super::ledger::Ledger;
use super::policy::{Decision, Policy, Touch};
use super::store::{ColumnStore, Limits, ObjectRange};
use super::{ColumnMap, FetchKind};
use crate::plan;
use bytes::Bytes;
use sapwood_core::{ByteRange, Deadline, Error, Result};
use sapwood_source::record::RecordedChunk;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;
use tokio::runtime::Handle;

/// Windows to fetch ahead at first; more while the reader has to wait for them.
const FIRST_DEPTH: usize = 4;
/// Most windows to fetch ahead for that reason.
const MOST_DEPTH: usize = 16;

pub(super) struct SharedReader<V> {
    pub(super) layout: Arc<dyn ColumnMap>,
    pub(super) handle: Handle,
    pub(super) limits: Limits,
    /// The source never waits: nothing is prefetched.
    pub(super) immediate: bool,
    state: Mutex<ReaderState<V>>,
}

pub(super) struct ReaderState<V> {
    pub(super) policy: Policy,
    pub(super) ledger: Ledger,
    pub(super) store: ColumnStore<V>,
    pub(super) depth: Depth,
}

/// How many windows are fetched ahead.
#[derive(Debug)]
pub(super) struct Depth(usize);

impl Default for Depth {
    fn default() -> Self {
        Depth(FIRST_DEPTH)
    }
}

impl Depth {
    pub(super) fn windows(&self) -> usize {
        self.0
    }

    /// The link is slower than the reader: more must be in flight.
    pub(super) fn grow(&mut self) {
        self.0 = (2 * self.0).min(MOST_DEPTH);
    }
}

impl<V: Clone + Send + 'static> SharedReader<V> {
    pub(super) fn new(
        layout: Arc<dyn ColumnMap>,
        handle: Handle,
        limits: Limits,
        policy: Policy,
        begin: Instant,
    ) -> Self {
        let immediate = layout.fetcher(0).source().cost_model().immediate;
        let state = ReaderState {
            policy,
            ledger: Ledger::new(begin),
            store: ColumnStore::new(),
            depth: Depth::default(),
        };
        SharedReader { layout, handle, limits, immediate, state: Mutex::new(state) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ReaderState<V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes to fetch for some columns of a window.
    pub(super) fn costs(&self, state: &ReaderState<V>, columns: &[usize], window: usize) -> u64 {
        columns.iter().filter_map(|&column| state.store.cost(&*self.layout, column, window)).sum()
    }

    /// Starts the fetch that a touch of missing columns in a window needs.
    pub(super) fn fetch_for(
        self: &Arc<Self>,
        state: &mut ReaderState<V>,
        missing: &[usize],
        window: usize,
        declared: bool,
        alone: bool,
    ) {
        let opening = !state.store.is_asked(window);
        let held = state.store.window(window);
        let (reopened, misses) = (held.reopened, held.misses);
        let decision = if alone || self.immediate {
            let kind = if declared { FetchKind::Declared } else { FetchKind::Touched };
            Decision { kind, columns: missing.to_vec() }
        } else {
            let in_flight_bytes = self.layout.fetcher(0).link().bytes_in_flight();
            let touch = Touch { window, missing, declared, opening, reopened, misses, in_flight_bytes };
            state.policy.decide(&touch, |column| state.store.cost(&*self.layout, column, window))
        };
        let is_miss = matches!(decision.kind, FetchKind::Startup | FetchKind::Trigger | FetchKind::Touched);
        state.store.window(window).misses += usize::from(is_miss);
        self.launch(state, decision, window);
    }

    /// Fetches what is not held yet of some columns.
    pub(super) fn launch(self: &Arc<Self>, state: &mut ReaderState<V>, decision: Decision, window: usize) {
        let flight = Arc::new(Flight::new());
        let mut places = Vec::new();
        for &column in &decision.columns {
            let pieces = self.layout.pieces(column, window);
            let cost = state.store.ask(pieces, column, window, &flight, &mut places);
            state.ledger.fetched(column, cost);
        }
        if places.is_empty() {
            return;
        }
        if let Some(read) = self.layout.recorded() {
            read.fetch(decision.kind.name(), &decision.columns, window, recorded(&*self.layout, &places));
        }
        let kind = decision.kind;
        let listed = state.ledger.asked(kind, window, &decision.columns, &places);
        if self.immediate {
            // Read where it is decoded, while it is still in the processor's cache.
            state.ledger.answered(kind, listed, 1);
            return flight.end(None);
        }
        let (shared, weak) = (Arc::downgrade(self), Arc::downgrade(&flight));
        let layout = Arc::clone(&self.layout);
        let task = self.handle.spawn(async move {
            let (requests, result) = fetch(&*layout, &places).await;
            let note = move |ledger: &mut Ledger| ledger.answered(kind, listed, requests);
            land(&shared, &weak, note, &places, result);
        });
        flight.carried_by(task);
    }
}

/// Fetches ranges of several objects, all at once, and returns how many requests this took.
async fn fetch(layout: &dyn ColumnMap, places: &[ObjectRange]) -> (u64, Result<Vec<Bytes>>) {
    let mut by_object: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, (object, _)) in places.iter().enumerate() {
        by_object.entry(*object).or_default().push(index);
    }
    let mut requests = 0;
    let mut fetches = Vec::with_capacity(by_object.len());
    for (object, indices) in by_object {
        let places = indices.iter().filter_map(|&index| places.get(index));
        let ranges: Vec<ByteRange> = places.map(|place| place.1).collect();
        let fetcher = layout.fetcher(object);
        requests += plan(&ranges, &fetcher.source().cost_model(), &fetcher.link()).requests().len() as u64;
        fetches.push(async move {
            // The deadlines of the waiting threads bound their waits. This one only keeps the task from
            // running forever.
            let answers = fetcher.fetch_unwaited(&ranges, Deadline::default()).await?;
            Ok::<_, Error>(indices.into_iter().zip(answers))
        });
    }
    let answers = futures::future::try_join_all(fetches).await.map(|answers| {
        let mut answers: Vec<(usize, Bytes)> = answers.into_iter().flatten().collect();
        answers.sort_unstable_by_key(|(index, _)| *index);
        answers.into_iter().map(|(_, bytes)| bytes).collect()
    });
    (requests, answers)
}

/// The ranges, as they are recorded.
fn recorded(layout: &dyn ColumnMap, places: &[ObjectRange]) -> Vec<RecordedChunk> {
    let file = |object| layout.fetcher(object).recorded().unwrap_or_default();
    places
        .iter()
        .map(|&(object, range)| RecordedChunk { file: file(object), first_entry: 0, range })
        .collect()
}

/// Ends a fetch; `note` takes note that it was answered.
fn land<V: Clone + Send + 'static>(
    shared: &Weak<SharedReader<V>>,
    flight: &Weak<Flight>,
    note: impl FnOnce(&mut Ledger),
    places: &[ObjectRange],
    result: Result<Vec<Bytes>>,
) {
    let (Some(shared), Some(flight)) = (shared.upgrade(), flight.upgrade()) else { return };
    let mut guard = shared.lock();
    if flight.is_done() {
        return;
    }
    let state = &mut *guard;
    let error = match result {
        Ok(answers) => {
            note(&mut state.ledger);
            state.store.arrived(places, answers);
            state.store.shrink(shared.limits);
            None
        }
        Err(error) => {
            state.store.failed(&flight);
            Some(error)
        }
    };
    flight.end(error);
}
