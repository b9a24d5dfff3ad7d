//! The reader: touches columns in windows from several threads, and fetches what the policy decides.

use super::ColumnMap;
use super::claim::{ColumnClaim, FetchedColumn, Pin, Work};
use super::fetch_log::Fetch;
use super::fetching::{ReaderState, SharedReader};
use super::flight::Flight;
use super::ledger::Accounting;
use super::policy::{Policy, Rules};
use super::store::{Limits, Stage};
use super::travel::ExpectedWindow;
use crate::wait::wait;
use sapwood_core::{Call, Error, ErrorKind, Result};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Handle;

/// Reads columns of windows when they are touched, together with columns that are likely to be touched with
/// them.
///
/// Thread-safe: several threads may read different windows. A thread waits for bytes that another has
/// requested, and does not request them again. Dropping the reader cancels what is in flight.
pub struct Reader<V>(Arc<SharedReader<V>>);

impl<V: Clone + Send + 'static> Reader<V> {
    /// A reader of the columns that `layout` describes, whose fetches run on `handle`.
    ///
    /// `seed` are columns and the shares of windows in which they were touched, as [learned](Reader::learned)
    /// by another reader. Times of fetches count from `begin`. From an immediate source, only touched columns
    /// are read, whatever the rules are.
    pub fn new(
        layout: Arc<dyn ColumnMap>,
        handle: Handle,
        rules: Rules,
        limits: Limits,
        seed: &[(usize, f64)],
        begin: Instant,
    ) -> Self {
        let policy = Policy::new(layout.columns(), rules, seed);
        Reader(Arc::new(SharedReader::new(layout, handle, limits, policy, begin)))
    }

    /// The values of some columns in a window; `work` decodes them, unless they are decoded already.
    ///
    /// Trained columns that have arrived are decoded together with a touched one. `declared` means that no
    /// other columns will be needed: nothing is fetched speculatively. Must not be called inside an
    /// asynchronous task.
    ///
    /// # Errors
    /// `Usage` for a column or window that does not exist; those of fetching and of `work`, for the touched
    /// columns only; `Timeout` after the deadline of the call; `Cancelled` if it is interrupted.
    pub fn touch(
        &self,
        columns: &[usize],
        window: usize,
        declared: bool,
        work: Work<'_, V>,
        call: &mut Call<'_>,
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
                TouchStep::Done(values) => return Ok(values),
                TouchStep::Work(fetched, gate) => {
                    let claim = ColumnClaim { shared: &self.0, window, gate, fetched };
                    let Err(error) = claim.work(work, call) else { continue };
                    let alone = claim.fetched.iter().all(|fetched| columns.contains(&fetched.column));
                    if alone || matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Timeout) {
                        return Err(error);
                    }
                    claim.refuse(columns);
                }
                TouchStep::Wait(flight) => {
                    self.0.wait(&flight, call)?;
                    let Some(error) = flight.failure() else { continue };
                    match error.kind() {
                        // Another thread cancelled it: fetch it again.
                        ErrorKind::Cancelled => {}
                        // Speculative columns must not make a touch fail: once more, without them.
                        kind if !alone && kind != ErrorKind::Timeout => alone = true,
                        _ => return Err(error),
                    }
                }
            }
        }
    }

    /// Marks a window as no longer needed.
    pub fn release(&self, window: usize) {
        let mut state = self.0.lock();
        if let Some(held) = state.store.windows.get_mut(&window) {
            held.released = true;
        }
        state.store.shrink(self.0.limits);
    }

    /// Declares which windows will be opened, in the order in which they will first be opened: only those are
    /// prefetched. Also says what share of each window's entries will be looked at: where that is small,
    /// little is fetched speculatively. Applies until [`forget`](Reader::forget) is called with the returned
    /// number.
    pub fn expect(&self, windows: Vec<ExpectedWindow>) -> u64 {
        self.0.lock().policy.travel.expect(windows)
    }

    /// The window that will be opened after this one, if that is [declared](Reader::expect).
    pub fn expected_after(&self, window: usize) -> Option<usize> {
        self.0.lock().policy.travel.after(window)
    }

    /// Withdraws the declaration with this number.
    pub fn forget(&self, expected: u64) {
        self.0.lock().policy.travel.forget(expected);
    }

    /// For each touched column: the windows in which it was touched, and the windows that were seen.
    pub fn learned(&self) -> Vec<(usize, u64, u64)> {
        let (counts, seen) = self.0.lock().policy.learned();
        let mut learned: Vec<_> = counts.into_iter().map(|(column, count)| (column, count, seen)).collect();
        learned.sort_unstable();
        learned
    }

    /// Counts of touches and fetches.
    pub fn accounting(&self) -> Accounting {
        let state = self.0.lock();
        Accounting { held_bytes: state.store.held_bytes(), ..state.ledger.accounting() }
    }

    /// The first fetches, at most [`MOST_FETCHES`](super::MOST_FETCHES), in the order asked.
    pub fn fetches(&self) -> Vec<Fetch> {
        self.0.lock().ledger.fetches()
    }
}

/// What a touch does next.
enum TouchStep<V> {
    Done(Vec<V>),
    /// Decode these.
    Work(Vec<FetchedColumn>, Arc<Flight>),
    Wait(Arc<Flight>),
}

impl<V: Clone + Send + 'static> SharedReader<V> {
    /// Counts the touch, and fetches what the policy decides.
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

    /// Fetches the touched columns that are missing, and columns that are likely to be touched with them.
    /// Returns the columns that were not touched in the window before.
    fn fetch_missing(
        self: &Arc<Self>,
        state: &mut ReaderState<V>,
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

    /// The next step until the columns have values.
    fn step(self: &Arc<Self>, columns: &[usize], window: usize, alone: bool) -> TouchStep<V> {
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
                    Some(flight) => return TouchStep::Wait(Arc::clone(flight)),
                    None if here.contains(column) => {}
                    None => here.push(*column),
                },
            }
        }
        if here.is_empty() {
            return elsewhere.map_or(TouchStep::Done(values), TouchStep::Wait);
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
            FetchedColumn {
                column,
                pieces: slots.and_then(|slots| slots.get(&column)).map(bytes).unwrap_or_default(),
            }
        });
        let fetched: Vec<FetchedColumn> = fetched.collect();
        for slot in &fetched {
            if let Some(slot) = state.store.window(window).slots.get_mut(&slot.column) {
                slot.stage = Stage::Working(Arc::clone(&gate));
            }
        }
        TouchStep::Work(fetched, gate)
    }

    /// Waits for a flight. The last waiting thread that gives up cancels it.
    fn wait(&self, flight: &Arc<Flight>, call: &mut Call<'_>) -> Result<()> {
        let start = Instant::now();
        let fetcher = self.layout.fetcher(0);
        let result = wait(&self.handle, flight.over(), call);
        fetcher.counters().wait_ns.add_time(start.elapsed());
        if result.is_err() {
            let mut state = self.lock();
            if flight.is_fetch() && !flight.is_done() && flight.is_unwatched() {
                state.store.failed(flight);
                flight.end(Some(Error::new(ErrorKind::Cancelled, "the fetch was cancelled")));
            }
        }
        result.map_err(|error| fetcher.counters().explain(error).url(&*fetcher.source().identity().url))
    }
}

impl<V> fmt::Debug for Reader<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SharedReader { layout, limits, immediate, .. } = self.0.deref();
        let mut debug = f.debug_struct("Reader");
        debug.field("layout", layout).field("limits", limits).field("immediate", immediate);
        debug.finish_non_exhaustive()
    }
}
