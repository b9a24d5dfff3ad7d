//! The reader: touches columns in windows from several threads, and fetches as the policy decides.

use super::ahead::Depth;
use super::claim::{Claim, Pin};
use super::flight::Flight;
use super::ledger::{Accounting, Fetch, Ledger};
use super::policy::{Decision, Policy, Rules, Touch};
use super::store::{Place, Stage, Store};
use super::travel::Stop;
use super::{Kind, Layout};
use crate::plan;
use crate::wait::wait;
use bytes::Bytes;
use sapwood_core::{ByteRange, Deadline, Error, ErrorKind, Result};
use sapwood_source::record::RecordedBasket;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;
use tokio::runtime::Handle;

/// How much a reader may hold.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes and values of windows that are kept when nobody needs them any more.
    pub memory_bytes: u64,
    /// Bytes that are fetched ahead of the window that is opened; 0 fetches nothing ahead.
    pub ahead_bytes: u64,
}

/// A column whose bytes are here.
#[derive(Debug)]
pub struct Fetched {
    /// The column.
    pub column: usize,
    /// Its pieces: object, range, bytes. None where the source is immediate: they are read where they are needed.
    pub pieces: Vec<((usize, ByteRange), Bytes)>,
}

/// Asked about ten times a second during a wait: true gives up.
pub(super) type Interrupt<'a> = &'a mut dyn FnMut() -> bool;

/// Makes values, and says how many bytes each takes, of columns that were fetched: all of them or an error.
pub(super) type Work<'a, V> = &'a (dyn Fn(&[Fetched], Interrupt<'_>) -> Result<Vec<(V, u64)>> + 'a);

/// Reads columns of windows when they are touched, and what is likely to be touched with them.
///
/// Thread-safe: several readers may be in different windows. What one asked for another waits for, and does not
/// ask again. Dropping it abandons what is in flight.
pub struct Reader<V>(Arc<Shared<V>>);

pub(super) struct Shared<V> {
    pub(super) layout: Arc<dyn Layout>,
    handle: Handle,
    pub(super) limits: Limits,
    /// The source never waits: nothing is fetched ahead of the work.
    immediate: bool,
    state: Mutex<State<V>>,
}

pub(super) struct State<V> {
    pub(super) policy: Policy,
    ledger: Ledger,
    pub(super) store: Store<V>,
    pub(super) depth: Depth,
}

impl<V: Clone + Send + 'static> Reader<V> {
    /// A reader of what `layout` describes, whose fetches run on `handle`.
    ///
    /// `seed` are columns and shares of windows in which they were touched, as another reader
    /// [learned](Reader::learned) them. Times of fetches count from `begin`. From an immediate source only what is
    /// touched is read, whatever the rules say.
    pub fn new(
        layout: Arc<dyn Layout>,
        handle: Handle,
        rules: Rules,
        limits: Limits,
        seed: &[(usize, f64)],
        begin: Instant,
    ) -> Self {
        let immediate = layout.fetcher(0).source().cost_model().immediate;
        let state = State {
            policy: Policy::new(layout.columns(), rules, seed),
            ledger: Ledger::new(begin),
            store: Store::new(),
            depth: Depth::default(),
        };
        Reader(Arc::new(Shared { layout, handle, limits, immediate, state: Mutex::new(state) }))
    }

    /// The values of some columns in a window; `work` makes them of their bytes, where nobody did before.
    ///
    /// Trained columns that are here are worked on together with one that is touched. `declared` says that the
    /// columns are all that will be needed: nothing is guessed. Must not be called inside an asynchronous task.
    ///
    /// # Errors
    /// `Usage` for a column or window that is not there; those of fetching and of `work`, of the touched columns
    /// only; `Timeout` when the deadline passes; `Cancelled` when `interrupted` says so.
    pub fn touch(
        &self,
        columns: &[usize],
        window: usize,
        declared: bool,
        deadline: Deadline,
        interrupted: Interrupt<'_>,
        work: Work<'_, V>,
    ) -> Result<Vec<V>> {
        let layout = &self.0.layout;
        if window >= layout.windows() || columns.iter().any(|column| *column >= layout.columns()) {
            return Err(Error::usage("there is no such column or window"));
        }
        let _pin = Pin::new(&self.0, window);
        self.0.note(columns, window, declared);
        let mut alone = false;
        loop {
            match self.0.step(columns, window, alone) {
                Step::Done(values) => return Ok(values),
                Step::Work(fetched, gate) => {
                    let claim = Claim { shared: &self.0, window, gate, fetched };
                    let Err(error) = claim.work(interrupted, work) else { continue };
                    let alone = claim.fetched.iter().all(|fetched| columns.contains(&fetched.column));
                    if alone || matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Timeout) {
                        return Err(error);
                    }
                    claim.refuse(columns);
                }
                Step::Wait(flight) => {
                    self.0.wait(&flight, deadline, interrupted)?;
                    let Some(error) = flight.failure() else { continue };
                    match error.kind() {
                        // Others gave it up: it is asked for anew.
                        ErrorKind::Cancelled => {}
                        // What was asked for on suspicion must not stop what was touched: once more, without it.
                        kind if !alone && kind != ErrorKind::Timeout => alone = true,
                        _ => return Err(error),
                    }
                }
            }
        }
    }

    /// Nobody needs a window any more.
    pub fn release(&self, window: usize) {
        let mut state = self.0.lock();
        if let Some(held) = state.store.windows.get_mut(&window) {
            held.released = true;
        }
        state.store.shrink(self.0.limits.memory_bytes);
    }

    /// Says which windows will be opened, each once, in the order in which they will be opened first: those are fetched
    /// ahead, and no others. And what share of the entries of each will be looked at: where few are, little is guessed.
    /// Until it is [forgotten](Reader::forget), by what is returned.
    pub fn expect(&self, windows: Vec<Stop>) -> u64 {
        self.0.lock().policy.travel.expect(windows)
    }

    /// None of the windows that were expected by that number will be opened any more.
    pub fn forget(&self, expected: u64) {
        self.0.lock().policy.travel.forget(expected);
    }

    /// By column that was touched: windows in which it was, and windows that were seen.
    pub fn learned(&self) -> Vec<(usize, u64, u64)> {
        let (counts, seen) = self.0.lock().policy.learned();
        let mut learned: Vec<_> = counts.into_iter().map(|(column, count)| (column, count, seen)).collect();
        learned.sort_unstable();
        learned
    }

    /// Who asked for what.
    pub fn accounting(&self) -> Accounting {
        let state = self.0.lock();
        Accounting { held_bytes: state.store.held_bytes(), ..state.ledger.accounting() }
    }

    /// All fetches, in the order asked.
    pub fn fetches(&self) -> Vec<Fetch> {
        self.0.lock().ledger.fetches()
    }
}

/// What a touch has to do next.
enum Step<V> {
    Done(Vec<V>),
    /// Make values of these.
    Work(Vec<Fetched>, Arc<Flight>),
    Wait(Arc<Flight>),
}

impl<V: Clone + Send + 'static> Shared<V> {
    pub(super) fn lock(&self) -> MutexGuard<'_, State<V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the touch, and asks for what the policy makes of it.
    fn note(self: &Arc<Self>, columns: &[usize], window: usize, declared: bool) {
        let mut guard = self.lock();
        let state = &mut *guard;
        let before = state.policy.was_touched(window);
        if state.policy.open(window) {
            state.ledger.opened();
        }
        let held = state.store.window(window);
        held.released = false;
        let opening = !std::mem::replace(&mut held.opened, true);
        held.reopened |= opening && before;
        if columns.iter().filter_map(|column| held.slots.get(column)).any(|slot| slot.is_late()) {
            state.depth.grow();
        }
        let first = self.fetch_missing(state, columns, window, declared, false);
        if self.immediate {
            return;
        }
        if opening && !before {
            self.read_ahead(state);
        } else if first.iter().any(|column| state.policy.goes_over(*column)) {
            self.read_ahead_again(state, &first, declared);
        }
    }

    /// Asks for the touched columns that are missing, and what is likely to be touched with them. Returns those that
    /// were not touched in the window before.
    fn fetch_missing(
        self: &Arc<Self>,
        state: &mut State<V>,
        columns: &[usize],
        window: usize,
        declared: bool,
        alone: bool,
    ) -> Vec<usize> {
        let missing: Vec<usize> =
            columns.iter().copied().filter(|&column| !state.store.has(column, window)).collect();
        if !missing.is_empty() {
            self.fetch_for(state, &missing, window, declared, alone);
        }
        let mut first = Vec::new();
        for &column in columns {
            if state.policy.touch(column, window) {
                state.ledger.touched(column, !missing.contains(&column));
                first.push(column);
            }
            let slot = state.store.window(window).slots.get_mut(&column);
            if let Some(slot) = slot.filter(|slot| !slot.touched) {
                slot.touched = true;
                state.ledger.used(column, slot.cost);
            }
        }
        first
    }

    /// Makes the fetch that a touch of missing columns in a window takes.
    pub(super) fn fetch_for(
        self: &Arc<Self>,
        state: &mut State<V>,
        missing: &[usize],
        window: usize,
        declared: bool,
        alone: bool,
    ) {
        let opening = !state.store.is_asked(window);
        let held = state.store.window(window);
        let (reopened, misses) = (held.reopened, held.misses);
        let decision = if alone || self.immediate {
            let kind = if declared { Kind::Declared } else { Kind::Touched };
            Decision { kind, columns: missing.to_vec() }
        } else {
            let in_flight_bytes = self.layout.fetcher(0).link().bytes_in_flight();
            let touch = Touch { window, missing, declared, opening, reopened, misses, in_flight_bytes };
            state.policy.decide(&touch, |column| state.store.cost(&*self.layout, column, window))
        };
        let is_miss = matches!(decision.kind, Kind::Startup | Kind::Trigger | Kind::Touched);
        state.store.window(window).misses += usize::from(is_miss);
        self.launch(state, decision, window);
    }

    /// Sends what is not held yet of some columns.
    pub(super) fn launch(self: &Arc<Self>, state: &mut State<V>, decision: Decision, window: usize) {
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
        let number = state.ledger.asked(decision.kind, window, decision.columns, places.clone());
        if self.immediate {
            // Read where it is worked on, while it is still in the processor's cache.
            state.ledger.answered(number, 1);
            return flight.end(None);
        }
        let (shared, weak) = (Arc::downgrade(self), Arc::downgrade(&flight));
        let layout = Arc::clone(&self.layout);
        let task = self.handle.spawn(async move {
            let (requests, result) = fetch(&*layout, &places).await;
            land(&shared, &weak, (number, requests), &places, result);
        });
        flight.carried_by(task);
    }

    /// What is to be done until the columns have values.
    fn step(self: &Arc<Self>, columns: &[usize], window: usize, alone: bool) -> Step<V> {
        let mut guard = self.lock();
        let state = &mut *guard;
        if columns.iter().any(|&column| !state.store.has(column, window)) {
            // Its fetch failed.
            self.fetch_missing(state, columns, window, false, alone);
        }
        let mut values = Vec::with_capacity(columns.len());
        let (mut here, mut elsewhere) = (Vec::new(), None);
        let held = state.store.window(window);
        for column in columns {
            let Some(slot) = held.slots.get(column) else { continue };
            match &slot.stage {
                Stage::Value(value, _) => values.push(value.clone()),
                Stage::Working(gate) => elsewhere = elsewhere.or_else(|| Some(Arc::clone(gate))),
                Stage::Bytes => match slot.flights.iter().find(|flight| !flight.is_done()) {
                    Some(flight) => return Step::Wait(Arc::clone(flight)),
                    None if here.contains(column) => {}
                    None => here.push(*column),
                },
            }
        }
        if here.is_empty() {
            return elsewhere.map_or(Step::Done(values), Step::Wait);
        }
        if !self.immediate && here.iter().any(|column| state.policy.is_trained(*column)) {
            let with = state.policy.trained(window).into_iter().filter(|column| {
                let slot = held.slots.get(column);
                slot.is_some_and(|slot| slot.is_ready() && !slot.refused) && !columns.contains(column)
            });
            here.extend(with);
        }
        let gate = Arc::new(Flight::new());
        let fetched = here.into_iter().map(|column| {
            let bytes = |slot| state.store.bytes(slot).unwrap_or_default();
            let slots = state.store.windows.get(&window).map(|held| &held.slots);
            Fetched {
                column,
                pieces: slots.and_then(|slots| slots.get(&column)).map(bytes).unwrap_or_default(),
            }
        });
        let fetched: Vec<Fetched> = fetched.collect();
        for slot in &fetched {
            if let Some(slot) = state.store.window(window).slots.get_mut(&slot.column) {
                slot.stage = Stage::Working(Arc::clone(&gate));
            }
        }
        Step::Work(fetched, gate)
    }

    /// Waits for a flight. Who gives up as the last one abandons it.
    fn wait(&self, flight: &Arc<Flight>, deadline: Deadline, interrupted: Interrupt<'_>) -> Result<()> {
        let start = Instant::now();
        let fetcher = self.layout.fetcher(0);
        let result = wait(&self.handle, flight.over(), deadline, interrupted);
        fetcher.counters().wait_ns.add_time(start.elapsed());
        if result.is_err() {
            let mut state = self.lock();
            if flight.is_fetch() && !flight.is_done() && flight.is_unwatched() {
                state.store.failed(flight);
                flight.end(Some(Error::new(ErrorKind::Cancelled, "the fetch was given up")));
            }
        }
        result.map_err(|error| fetcher.counters().explain(error).url(&*fetcher.source().identity().url))
    }
}

/// The bytes at some places, all asked for at once, and the number of requests that this takes.
async fn fetch(layout: &dyn Layout, places: &[Place]) -> (u64, Result<Vec<Bytes>>) {
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
            // The deadlines of those who wait bound their waits. This one only keeps the task from living forever.
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

/// The places, as they are recorded.
fn recorded(layout: &dyn Layout, places: &[Place]) -> Vec<RecordedBasket> {
    let file = |object| layout.fetcher(object).recorded().unwrap_or_default();
    places
        .iter()
        .map(|&(object, range)| RecordedBasket { file: file(object), first_entry: 0, range })
        .collect()
}

/// A fetch is over.
fn land<V: Clone + Send + 'static>(
    shared: &Weak<Shared<V>>,
    flight: &Weak<Flight>,
    (number, requests): (usize, u64),
    places: &[Place],
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
            state.ledger.answered(number, requests);
            state.store.arrived(places, answers);
            state.store.shrink(shared.limits.memory_bytes);
            None
        }
        Err(error) => {
            state.store.failed(&flight);
            Some(error)
        }
    };
    flight.end(error);
}

impl<V> fmt::Debug for Reader<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { layout, limits, immediate, .. } = self.0.deref();
        let mut debug = f.debug_struct("Reader");
        debug.field("layout", layout).field("limits", limits).field("immediate", immediate);
        debug.finish_non_exhaustive()
    }
}
