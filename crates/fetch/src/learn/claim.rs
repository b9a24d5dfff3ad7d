//! Claims of a thread: columns that it decodes, and windows that must stay in memory.

use super::fetching::SharedReader;
use super::flight::Flight;
use super::store::Stage;
use bytes::Bytes;
use sapwood_core::{ByteRange, Call, Result};
use std::sync::Arc;

/// A column whose bytes have arrived.
#[derive(Debug)]
pub struct FetchedColumn {
    /// The column.
    pub column: usize,
    /// Its ranges: object, range, bytes. Empty where the source is immediate: those are read where they are
    /// needed.
    pub pieces: Vec<((usize, ByteRange), Bytes)>,
}

/// Decodes fetched columns to values, and returns how many bytes each takes: all of them or an error.
pub(super) type Work<'a, V> = &'a (dyn Fn(&[FetchedColumn], &mut Call<'_>) -> Result<Vec<(V, u64)>> + 'a);

/// Columns that this thread decodes; dropping it leaves them to others.
pub(super) struct ColumnClaim<'r, V: Clone + Send + 'static> {
    pub(super) shared: &'r Arc<SharedReader<V>>,
    pub(super) window: usize,
    /// Threads that wait for the values wait for this.
    pub(super) gate: Arc<Flight>,
    pub(super) fetched: Vec<FetchedColumn>,
}

impl<V: Clone + Send + 'static> ColumnClaim<'_, V> {
    /// Decodes the values, and keeps them.
    pub(super) fn work(&self, work: Work<'_, V>, call: &mut Call<'_>) -> Result<()> {
        let values = work(&self.fetched, call)?;
        let mut state = self.shared.lock();
        for (fetched, (value, bytes)) in self.fetched.iter().zip(values) {
            state.store.put(fetched.column, self.window, value, bytes);
        }
        state.store.shrink(self.shared.limits);
        Ok(())
    }

    /// From now on, columns other than `touched` are decoded only when they are touched themselves.
    pub(super) fn refuse(&self, touched: &[usize]) {
        let mut state = self.shared.lock();
        let held = state.store.window(self.window);
        for fetched in self.fetched.iter().filter(|fetched| !touched.contains(&fetched.column)) {
            if let Some(slot) = held.slots.get_mut(&fetched.column) {
                slot.refused = true;
            }
        }
    }
}

impl<V: Clone + Send + 'static> Drop for ColumnClaim<'_, V> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let held = state.store.window(self.window);
        for fetched in &self.fetched {
            if let Some(slot) = held.slots.get_mut(&fetched.column)
                && matches!(&slot.stage, Stage::Working(gate) if Arc::ptr_eq(gate, &self.gate))
            {
                slot.stage = Stage::Bytes;
            }
        }
        self.gate.end(None);
    }
}

/// Keeps a window in memory while a call works on it.
pub(super) struct Pin<'r, V: Clone + Send + 'static> {
    shared: &'r Arc<SharedReader<V>>,
    window: usize,
}

impl<'r, V: Clone + Send + 'static> Pin<'r, V> {
    pub(super) fn new(shared: &'r Arc<SharedReader<V>>, window: usize) -> Self {
        shared.lock().store.window(window).pins += 1;
        Pin { shared, window }
    }
}

impl<V: Clone + Send + 'static> Drop for Pin<'_, V> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let held = state.store.window(self.window);
        held.pins = held.pins.saturating_sub(1);
        state.store.shrink(self.shared.limits);
    }
}
