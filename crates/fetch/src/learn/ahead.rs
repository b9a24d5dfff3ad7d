//! Prefetching: the trained columns of the windows that are needed next.

use super::FetchKind;
use super::fetching::{ReaderState, SharedReader};
use super::policy::Decision;
use super::travel::NextWindows;
use std::sync::Arc;

/// Most windows to fetch ahead where these do not fill the link.
const MOST_SMALL: usize = 64;

impl<V: Clone + Send + 'static> SharedReader<V> {
    /// A column is read in windows that were read before, one after the other. It will be touched in the next
    /// ones, so it is fetched there as if it had been.
    pub(super) fn read_ahead_again(
        self: &Arc<Self>,
        state: &mut ReaderState<V>,
        columns: &[usize],
        declared: bool,
    ) {
        let mut left = self.limits.ahead_bytes;
        let NextWindows::These(windows) =
            state.policy.next_windows(self.layout.windows(), state.depth.windows())
        else {
            return;
        };
        for window in windows {
            if !state.policy.was_touched(window) {
                return;
            }
            let missing: Vec<usize> =
                columns.iter().copied().filter(|&column| !state.store.has(column, window)).collect();
            let Some(rest) = left.checked_sub(self.costs(state, &missing, window)) else { return };
            left = rest;
            if !missing.is_empty() {
                self.fetch_for(state, &missing, window, declared, false);
            }
        }
    }

    /// Fetches the trained columns of the windows that will be needed next: of `depth` windows, and of more
    /// where these do not fill the link.
    pub(super) fn read_ahead(self: &Arc<Self>, state: &mut ReaderState<V>) {
        let in_flight_bytes = self.layout.fetcher(0).link().bytes_in_flight();
        let windows = match state.policy.next_windows(self.layout.windows(), MOST_SMALL) {
            NextWindows::These(windows) => windows,
            NextWindows::Any(jumps) => {
                let most = state.policy.worth_of_jumps(jumps, in_flight_bytes).min(self.limits.ahead_bytes);
                return self.read_all(state, most);
            }
        };
        let (most, mut left) = (self.limits.ahead_bytes, self.limits.ahead_bytes);
        for (number, window) in windows.into_iter().enumerate() {
            let is_full = most - left >= in_flight_bytes.unwrap_or_default();
            if left == 0 || (number >= state.depth.windows() && is_full) {
                return;
            }
            let trained = state.policy.trained(window);
            if trained.is_empty() {
                continue;
            }
            if let Some(columns) = self.ahead_of_need(state, window, trained) {
                let bytes = self.costs(state, &columns, window);
                if bytes > if left == most { self.limits.memory_bytes / 2 } else { left } {
                    return;
                }
                self.launch(state, Decision { kind: FetchKind::Trained, columns }, window);
            }
            left = left.saturating_sub(state.store.ahead_bytes(window));
        }
    }

    /// Fetches the trained columns of all untouched windows, if they are at most this many bytes: where any
    /// window may be next, fetching only some would help little.
    fn read_all(self: &Arc<Self>, state: &mut ReaderState<V>, most: u64) {
        let mut left = most;
        let mut decisions = Vec::new();
        for window in 0..self.layout.windows() {
            if state.store.is_asked(window) {
                continue;
            }
            let columns = state.policy.trained(window);
            let Some(rest) = left.checked_sub(self.costs(state, &columns, window)) else { return };
            left = rest;
            if !columns.is_empty() {
                decisions.push((window, Decision { kind: FetchKind::Trained, columns }));
            }
        }
        for (window, decision) in decisions {
            self.launch(state, decision, window);
        }
    }

    /// The columns to fetch in a window that was not touched yet, if any: the trained ones; once more if
    /// there are more of them since, because touching one later would block.
    fn ahead_of_need(
        &self,
        state: &mut ReaderState<V>,
        window: usize,
        trained: Vec<usize>,
    ) -> Option<Vec<usize>> {
        if !state.store.is_asked(window) {
            return Some(trained);
        }
        if state.store.window(window).opened || state.store.window(window).extended {
            return None;
        }
        let more = state.policy.more_ahead(window, |column| state.store.cost(&*self.layout, column, window));
        state.store.window(window).extended = !more.is_empty();
        (!more.is_empty()).then_some(more)
    }
}
