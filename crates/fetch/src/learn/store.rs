//! The contents of each window: bytes in flight, fetched bytes, and decoded values.

use super::flight::Flight;
use super::{ColumnMap, ColumnRange};
use bytes::Bytes;
use sapwood_core::ByteRange;
use std::collections::HashMap;
use std::sync::Arc;

/// Memory limits of a reader.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes and values of all windows up to which those are kept that are no longer needed.
    pub kept_bytes: u64,
    /// Bytes and values of all windows, but for the one in use.
    pub memory_bytes: u64,
    /// Bytes to fetch ahead of the open window; 0 turns prefetching off.
    pub ahead_bytes: u64,
}

/// An object, and a range in it.
pub(super) type ObjectRange = (usize, ByteRange);

/// Everything that is held.
#[derive(Debug)]
pub(super) struct ColumnStore<V> {
    pub(super) windows: HashMap<usize, Window<V>>,
    pieces: HashMap<ObjectRange, RangeBytes>,
    clock: u64,
    held_bytes: u64,
}

/// Bytes that have arrived or are in flight.
#[derive(Debug)]
struct RangeBytes {
    bytes: Option<Bytes>,
    flight: Arc<Flight>,
    /// Number of columns in windows that need them.
    holders: usize,
}

/// The contents of a window.
#[derive(Debug)]
pub(super) struct Window<V> {
    pub(super) slots: HashMap<usize, WindowColumn<V>>,
    /// When it was last used.
    used: u64,
    /// Calls that work on it now, which keep it in memory.
    pub(super) pins: usize,
    /// It was touched, and not only prefetched.
    pub(super) opened: bool,
    /// More was prefetched when more columns became trained.
    pub(super) extended: bool,
    /// It was touched, dropped, and touched again.
    pub(super) reopened: bool,
    /// It is no longer needed.
    pub(super) released: bool,
    /// Fetches for touches of missing columns.
    pub(super) misses: usize,
}

impl<V> Default for Window<V> {
    fn default() -> Self {
        Window {
            slots: HashMap::new(),
            used: 0,
            pins: 0,
            opened: false,
            extended: false,
            reopened: false,
            released: false,
            misses: 0,
        }
    }
}

/// One column in one window.
#[derive(Debug)]
pub(super) struct WindowColumn<V> {
    pub(super) pieces: Vec<ColumnRange>,
    pub(super) flights: Vec<Arc<Flight>>,
    pub(super) stage: Stage<V>,
    /// Bytes that were fetched for it, and not for another column before.
    pub(super) cost: u64,
    pub(super) touched: bool,
    /// It could not be decoded together with other columns.
    pub(super) refused: bool,
}

/// The stage that a column has reached.
#[derive(Debug)]
pub(super) enum Stage<V> {
    /// Bytes, here or in flight.
    Bytes,
    /// A thread is decoding it.
    Working(Arc<Flight>),
    /// The value, and its size in bytes.
    Value(V, u64),
}

impl<V> WindowColumn<V> {
    /// It was prefetched, and is needed before it has arrived.
    pub(super) fn is_late(&self) -> bool {
        !self.touched && self.flights.iter().any(|flight| !flight.is_done())
    }

    /// Its bytes have arrived, and no thread works on them.
    pub(super) fn is_ready(&self) -> bool {
        matches!(self.stage, Stage::Bytes) && self.flights.iter().all(|flight| flight.is_done())
    }
}

impl<V> ColumnStore<V> {
    pub(super) fn new() -> Self {
        ColumnStore { windows: HashMap::new(), pieces: HashMap::new(), clock: 0, held_bytes: 0 }
    }

    /// Bytes and values that are held now.
    pub(super) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// The window, marked as used now.
    pub(super) fn window(&mut self, window: usize) -> &mut Window<V> {
        self.clock += 1;
        let held = self.windows.entry(window).or_default();
        held.used = self.clock;
        held
    }

    pub(super) fn is_asked(&self, window: usize) -> bool {
        self.windows.get(&window).is_some_and(|held| !held.slots.is_empty())
    }

    pub(super) fn has(&self, column: usize, window: usize) -> bool {
        self.windows.get(&window).is_some_and(|held| held.slots.contains_key(&column))
    }

    /// Bytes to fetch for a column; `None` if it was requested already, or cannot be fetched.
    pub(super) fn cost(&self, layout: &dyn ColumnMap, column: usize, window: usize) -> Option<u64> {
        if self.has(column, window) {
            return None;
        }
        let pieces = layout.pieces(column, window);
        let missing = pieces.iter().filter(|piece| !self.pieces.contains_key(&(piece.object, piece.range)));
        (!pieces.is_empty()).then(|| missing.map(|piece| piece.range.len).sum())
    }

    /// Adds a column that `flight` fetches; adds the ranges that are not held yet to `places`. Returns its
    /// cost.
    pub(super) fn ask(
        &mut self,
        pieces: Vec<ColumnRange>,
        column: usize,
        window: usize,
        flight: &Arc<Flight>,
        places: &mut Vec<ObjectRange>,
    ) -> u64 {
        let (mut cost, mut flights) = (0, Vec::new());
        for piece in &pieces {
            let place = (piece.object, piece.range);
            let held = self.pieces.entry(place).or_insert_with(|| {
                cost += piece.range.len;
                places.push(place);
                RangeBytes { bytes: None, flight: Arc::clone(flight), holders: 0 }
            });
            held.holders += 1;
            if held.bytes.is_none() && !flights.iter().any(|other| Arc::ptr_eq(other, &held.flight)) {
                flights.push(Arc::clone(&held.flight));
            }
        }
        let slot =
            WindowColumn { pieces, flights, stage: Stage::Bytes, cost, touched: false, refused: false };
        self.window(window).slots.insert(column, slot);
        cost
    }

    /// Stores bytes that arrived. Those that are no longer needed are dropped.
    pub(super) fn arrived(&mut self, places: &[ObjectRange], answers: Vec<Bytes>) {
        for (place, bytes) in places.iter().zip(answers) {
            if let Some(held) = self.pieces.get_mut(place).filter(|held| held.bytes.is_none()) {
                self.held_bytes += place.1.len;
                held.bytes = Some(bytes);
            }
        }
    }

    /// The flight failed: its bytes can be requested again.
    pub(super) fn failed(&mut self, flight: &Arc<Flight>) {
        let waits = |slot: &WindowColumn<V>| slot.flights.iter().any(|other| Arc::ptr_eq(other, flight));
        let mut lost = Vec::new();
        for window in self.windows.values_mut() {
            lost.extend(window.slots.extract_if(|_, slot| waits(slot)).map(|(_, slot)| slot));
        }
        lost.into_iter().for_each(|slot| self.let_go(slot));
    }

    /// The bytes of a column, in the order of its ranges; `None` if some have not arrived.
    pub(super) fn bytes(&self, slot: &WindowColumn<V>) -> Option<Vec<(ObjectRange, Bytes)>> {
        let piece = |piece: &ColumnRange| {
            let place = (piece.object, piece.range);
            Some((place, self.pieces.get(&place)?.bytes.clone()?))
        };
        slot.pieces.iter().map(piece).collect()
    }

    /// Stores a value in place of its bytes, except for those that other columns may need.
    pub(super) fn put(&mut self, column: usize, window: usize, value: V, bytes: u64) {
        let Some(slot) = self.windows.get_mut(&window).and_then(|held| held.slots.get_mut(&column)) else {
            return;
        };
        slot.stage = Stage::Value(value, bytes);
        slot.flights = Vec::new();
        let (kept, done) = std::mem::take(&mut slot.pieces).into_iter().partition(|piece| piece.shared);
        slot.pieces = kept;
        self.held_bytes += bytes;
        self.let_go_of(&done);
        self.keep_apart(column, window);
    }

    /// Drops windows until the limits hold: first released windows, then others, the least recently used first.
    /// Windows in use stay, and so does the most recently used one.
    pub(super) fn shrink(&mut self, limits: Limits) {
        while self.held_bytes > limits.kept_bytes {
            let is_full = self.held_bytes > limits.memory_bytes;
            let droppable = self
                .windows
                .iter()
                .filter(|(_, held)| held.pins == 0 && held.used < self.clock && (held.released || is_full));
            let order = |held: &Window<V>| (!held.released, held.used);
            let Some(window) = droppable.min_by_key(|(_, held)| order(held)).map(|(window, _)| *window)
            else {
                return;
            };
            for slot in self.windows.remove(&window).into_iter().flat_map(|held| held.slots.into_values()) {
                self.let_go(slot);
            }
        }
    }

    /// Bytes of a window that was requested and not opened.
    pub(super) fn ahead_bytes(&self, window: usize) -> u64 {
        let held = self.windows.get(&window).filter(|held| !held.opened);
        held.map_or(0, |held| held.slots.values().map(|slot| slot.cost).sum())
    }

    /// Ranges that outlive the decoding of their column are copied, so that they do not keep the whole answer
    /// in memory.
    fn keep_apart(&mut self, column: usize, window: usize) {
        let slot = self.windows.get(&window).and_then(|held| held.slots.get(&column));
        for piece in slot.into_iter().flat_map(|slot| &slot.pieces) {
            if let Some(RangeBytes { bytes: Some(bytes), .. }) =
                self.pieces.get_mut(&(piece.object, piece.range))
            {
                *bytes = Bytes::copy_from_slice(bytes);
            }
        }
    }

    fn let_go(&mut self, slot: WindowColumn<V>) {
        if let Stage::Value(_, bytes) = slot.stage {
            self.held_bytes = self.held_bytes.saturating_sub(bytes);
        }
        self.let_go_of(&slot.pieces);
    }

    fn let_go_of(&mut self, pieces: &[ColumnRange]) {
        for piece in pieces {
            let place = (piece.object, piece.range);
            let Some(held) = self.pieces.get_mut(&place) else { continue };
            held.holders = held.holders.saturating_sub(1);
            if held.holders == 0 {
                let arrived = self.pieces.remove(&place).is_some_and(|held| held.bytes.is_some());
                self.held_bytes = self.held_bytes.saturating_sub(if arrived { place.1.len } else { 0 });
            }
        }
    }
}
