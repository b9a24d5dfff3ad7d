//! Decides what to fetch when a column is touched, from earlier touches. Pure: no bytes, no time.

use super::FetchKind;
use super::column_set::ColumnSet;
use super::travel::{NextWindows, Travel};
use std::collections::{HashMap, HashSet, VecDeque};

/// Weight of a window relative to the one after it.
const FADING: f64 = 0.85;
/// Windows older than this have no weight.
const REMEMBERED: usize = 32;
/// A column that is touched in at least this share of the windows is trained ...
const ENTERS: f64 = 0.5;
/// ... and stays trained until its share falls below this: after nine windows without a touch, if it was
/// always touched.
const LEAVES: f64 = 0.25;
/// Round trips that the transfer of a speculative fetch may take.
const WORTH_OF_GUESS: u64 = 16;
/// Bytes that may always be fetched speculatively.
const LEAST_GUESS: u64 = 1 << 20;

/// Which kinds of fetches are enabled, and how large they may be.
#[derive(Debug, Clone)]
pub struct Rules {
    /// While nothing is known, all columns of a window are fetched together.
    pub startup: bool,
    /// Columns that are touched in most windows become trained.
    pub learn: bool,
    /// A column that was not fetched is fetched together with all columns that triggered a fetch before.
    pub trigger: bool,
    /// Most bytes of never touched columns in one fetch; fewer on a slow link.
    pub suspected_bytes: u64,
    /// Most bytes of columns touched before, in one fetch.
    pub remembered_bytes: u64,
}

/// The touched columns, and the state of their window.
#[derive(Debug)]
pub(super) struct Touch<'a> {
    pub(super) window: usize,
    /// The touched columns that were not requested yet.
    pub(super) missing: &'a [usize],
    /// The caller declared them as a set.
    pub(super) declared: bool,
    /// Nothing of the window was requested yet.
    pub(super) opening: bool,
    /// The window was dropped after it had been touched.
    pub(super) reopened: bool,
    /// Fetches for touches of missing columns since the window is held.
    pub(super) misses: usize,
    /// Bytes that arrive from the source in one round trip, if known.
    pub(super) in_flight_bytes: Option<u64>,
}

/// What to fetch.
#[derive(Debug, PartialEq)]
pub(super) struct Decision {
    pub(super) kind: FetchKind,
    /// The touched columns first.
    pub(super) columns: Vec<usize>,
}

/// What was learned so far.
///
/// # Bound
/// Where the budgets suffice, and all columns touched in a window were touched before it was opened, the
/// window takes at most two fetches: one for the trained columns, and one for the first touch of any other
/// column, which fetches all columns that were ever touched. In all cases, it takes at most three: the second
/// such fetch gets everything that is left. One more is possible if more was prefetched for the window
/// because more columns became trained.
#[derive(Debug)]
pub(super) struct Policy {
    rules: Rules,
    columns: usize,
    /// Shares from an earlier reader; they count like the windows before the first.
    seed: Option<HashMap<usize, f64>>,
    /// The most recently opened windows, newest first.
    recent: VecDeque<usize>,
    /// By window: the columns that were touched in it.
    touched: HashMap<usize, ColumnSet>,
    /// The most recently opened window was left before.
    returned: bool,
    trained: HashSet<usize>,
    /// Columns that were ever touched, and when last.
    last_touch: HashMap<usize, u64>,
    touches: u64,
    pub(super) travel: Travel,
}

impl Policy {
    /// `seed` are columns and the shares of windows in which they were touched.
    pub(super) fn new(columns: usize, rules: Rules, seed: &[(usize, f64)]) -> Policy {
        let seed: HashMap<usize, f64> =
            seed.iter().copied().filter(|&(column, share)| column < columns && share > 0.0).collect();
        let last_touch = seed.keys().map(|&column| (column, 0)).collect();
        let trained = seed.iter().filter(|&(_, &share)| share >= ENTERS).map(|(&column, _)| column).collect();
        Policy {
            rules,
            columns,
            seed: Some(seed).filter(|seed| !seed.is_empty()),
            recent: VecDeque::new(),
            returned: false,
            touched: HashMap::new(),
            trained,
            last_touch,
            touches: 0,
            travel: Travel::default(),
        }
    }

    /// Records that a window is about to be touched; true for the first time.
    pub(super) fn open(&mut self, window: usize) -> bool {
        let first = !self.touched.contains_key(&window);
        if self.recent.front() == Some(&window) {
            return first;
        }
        self.returned = !first;
        if first {
            self.touched.insert(window, ColumnSet::default());
            self.travel.opens(window, &self.recent);
        }
        if self.rules.learn {
            self.train();
        }
        self.recent.retain(|other| *other != window);
        self.recent.push_front(window);
        self.recent.truncate(REMEMBERED);
        first
    }

    /// Records the touch of a column in an open window; true for the first.
    pub(super) fn touch(&mut self, column: usize, window: usize) -> bool {
        self.touches += 1;
        self.last_touch.insert(column, self.touches);
        self.touched.entry(window).or_default().insert(column)
    }

    /// True if anything was touched in a window.
    pub(super) fn was_touched(&self, window: usize) -> bool {
        self.touched.get(&window).is_some_and(|columns| !columns.is_empty())
    }

    /// The columns to prefetch for a window, in order of their numbers, without those that it delivered
    /// before.
    pub(super) fn trained(&self, window: usize) -> Vec<usize> {
        let delivered = self.touched.get(&window);
        let is_new = |column: &usize| delivered.is_none_or(|delivered| !delivered.contains(*column));
        let mut trained: Vec<usize> = self.trained.iter().copied().filter(is_new).collect();
        trained.sort_unstable();
        trained
    }

    pub(super) fn is_trained(&self, column: usize) -> bool {
        self.trained.contains(&column)
    }

    /// True if columns are read in windows that were left before, one after the other: `column` was touched
    /// in the previous window, so it will be touched in the next.
    pub(super) fn goes_over(&self, column: usize) -> bool {
        let mut windows = self.recent.iter();
        let (Some(here), Some(before)) = (windows.next(), windows.next()) else { return false };
        let was_touched = self.touched.get(before).is_some_and(|columns| columns.contains(column));
        self.returned && here.abs_diff(*before) == 1 && was_touched
    }

    /// What to fetch for a touch. `cost` returns how many bytes are to be fetched for a column in its window;
    /// `None` if it was requested already, or cannot be.
    pub(super) fn decide(&self, touch: &Touch<'_>, cost: impl Fn(usize) -> Option<u64>) -> Decision {
        let mut selection = Selection::new(touch.missing, &cost);
        let startup = touch.opening && self.rules.startup && self.last_touch.is_empty() && !touch.declared;
        if startup {
            selection.add_smallest(0..self.columns, self.suspected_bytes(touch));
            return selection.decided(FetchKind::Startup);
        }
        let is_known = touch.missing.iter().all(|column| self.is_trained(*column));
        if touch.opening {
            selection.add(self.trained(touch.window), u64::MAX);
        }
        if touch.declared {
            return selection.decided(FetchKind::Declared);
        }
        if touch.opening && is_known {
            return selection.decided(FetchKind::Trained);
        }
        if !self.rules.trigger {
            let alone = selection.columns.len() == touch.missing.len();
            return selection.decided(if alone { FetchKind::Touched } else { FetchKind::Trained });
        }
        let alone = selection.columns.len();
        selection.add(self.trained(touch.window), u64::MAX);
        let again = touch.misses > 0;
        let delivered = self.touched.get(&touch.window).filter(|_| !again);
        let is_new = |column: &usize| delivered.is_none_or(|delivered| !delivered.contains(*column));
        selection.add(self.by_last_touch().into_iter().filter(is_new), self.rules.remembered_bytes);
        let nothing_remembered = selection.columns.len() == alone;
        let first_ever = || {
            let never = |column| !self.last_touch.contains_key(column);
            let trained = |column| self.trained.contains(column);
            touch.missing.iter().any(never)
                && !self.last_touch.is_empty()
                && self.last_touch.keys().all(trained)
        };
        if touch.misses > usize::from(touch.reopened) || (nothing_remembered && first_ever()) {
            selection.add_smallest(0..self.columns, self.suspected_bytes(touch));
        }
        selection.decided(FetchKind::Trigger)
    }

    /// What to fetch for a window that was partly prefetched, now that more columns are trained: these, and
    /// all that a touch of them would fetch. Nothing if no trained column is missing.
    pub(super) fn more_ahead(&self, window: usize, cost: impl Fn(usize) -> Option<u64>) -> Vec<usize> {
        let mut selection = Selection::new(&[], &cost);
        selection.add(self.trained(window), u64::MAX);
        if !selection.columns.is_empty() && self.rules.trigger {
            selection.add(self.by_last_touch(), self.rules.remembered_bytes);
        }
        selection.columns
    }

    /// What may be fetched speculatively: a wrong guess must not cost much more than the waits that a right
    /// one saves. Where few entries are looked at, a guess serves few of them: it starts small, and doubles
    /// with each wait.
    fn suspected_bytes(&self, touch: &Touch<'_>) -> u64 {
        let worth = touch.in_flight_bytes.map(|bytes| bytes.saturating_mul(WORTH_OF_GUESS).max(LEAST_GUESS));
        let most = worth.unwrap_or(u64::MAX).min(self.rules.suspected_bytes);
        let doublings = i32::try_from(touch.misses).unwrap_or(i32::MAX);
        let share = self.travel.share(touch.window) * 2_f64.powi(doublings);
        if share < 1.0 { (most as f64 * share) as u64 } else { most }
    }

    /// The windows needed next: at most `most` of `windows`.
    pub(super) fn next_windows(&self, windows: usize, most: usize) -> NextWindows {
        self.travel.next(&self.recent, windows, most, self.seed.is_some())
    }

    /// What the trained columns of all windows may cost once a reader has jumped this often, if
    /// `in_flight_bytes` arrive in a round trip: as many bytes as its waits so far would have transferred. In
    /// the worst case, half of the total is unused.
    pub(super) fn worth_of_jumps(&self, jumps: u64, in_flight_bytes: Option<u64>) -> u64 {
        let worth = in_flight_bytes.unwrap_or_default().saturating_mul(jumps.saturating_sub(1));
        worth.max(LEAST_GUESS).min(self.rules.remembered_bytes)
    }

    /// For each touched column, the windows in which it was touched; and the number of windows seen.
    pub(super) fn learned(&self) -> (HashMap<usize, u64>, u64) {
        let mut counts = HashMap::new();
        for column in self.touched.values().flat_map(ColumnSet::iter) {
            *counts.entry(column).or_default() += 1;
        }
        (counts, self.touched.values().filter(|columns| !columns.is_empty()).count() as u64)
    }

    /// Decides which columns are trained, from the windows opened so far.
    fn train(&mut self) {
        let mut shares: HashMap<usize, f64> = HashMap::new();
        let (mut weight, mut total) = (1.0 - FADING, 0.0);
        for window in &self.recent {
            for column in self.touched.get(window).into_iter().flat_map(ColumnSet::iter) {
                *shares.entry(column).or_default() += weight;
            }
            total += weight;
            weight *= FADING;
        }
        match &self.seed {
            Some(seed) => {
                for (column, share) in seed {
                    *shares.entry(*column).or_default() += share.min(1.0) * (1.0 - total);
                }
            }
            None => shares.values_mut().for_each(|share| *share /= total),
        }
        let stays =
            |column: &usize, share: f64| share >= if self.trained.contains(column) { LEAVES } else { ENTERS };
        self.trained = shares
            .iter()
            .filter(|&(column, &share)| stays(column, share))
            .map(|(&column, _)| column)
            .collect();
    }

    /// All columns that were ever touched, the most recent first.
    fn by_last_touch(&self) -> Vec<usize> {
        let mut columns: Vec<(u64, usize)> =
            self.last_touch.iter().map(|(&column, &last)| (u64::MAX - last, column)).collect();
        columns.sort_unstable();
        columns.into_iter().map(|(_, column)| column).collect()
    }
}

/// Columns to fetch together.
struct Selection<'c, C> {
    columns: Vec<usize>,
    held: HashSet<usize>,
    cost: &'c C,
}

impl<'c, C: Fn(usize) -> Option<u64>> Selection<'c, C> {
    fn new(columns: &[usize], cost: &'c C) -> Self {
        let mut selection = Selection { columns: Vec::new(), held: HashSet::new(), cost };
        for &column in columns {
            if selection.held.insert(column) {
                selection.columns.push(column);
            }
        }
        selection
    }

    /// Adds columns in order while they fit in `budget` bytes.
    fn add(&mut self, columns: impl IntoIterator<Item = usize>, budget: u64) {
        let mut left = budget;
        for column in columns {
            if self.held.contains(&column) {
                continue;
            }
            let Some(bytes) = (self.cost)(column) else { continue };
            let Some(rest) = left.checked_sub(bytes) else { return };
            left = rest;
            self.held.insert(column);
            self.columns.push(column);
        }
    }

    /// The same, with the smallest first.
    fn add_smallest(&mut self, columns: impl Iterator<Item = usize>, budget: u64) {
        let mut costs: Vec<(u64, usize)> =
            columns.filter_map(|column| Some(((self.cost)(column)?, column))).collect();
        costs.sort_unstable();
        self.add(costs.into_iter().map(|(_, column)| column), budget);
    }

    fn decided(self, kind: FetchKind) -> Decision {
        Decision { kind, columns: self.columns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules =
        Rules { startup: true, learn: true, trigger: true, suspected_bytes: 50, remembered_bytes: 1000 };

    fn policy(seed: &[(usize, f64)]) -> Policy {
        Policy::new(10, RULES, seed)
    }

    fn touch(window: usize, missing: &[usize]) -> Touch<'_> {
        Touch {
            window,
            missing,
            declared: false,
            opening: true,
            reopened: false,
            misses: 0,
            in_flight_bytes: None,
        }
    }

    /// Opens windows, and touches the same columns in each.
    fn go(policy: &mut Policy, windows: std::ops::Range<usize>, columns: &[usize]) {
        for window in windows {
            policy.open(window);
            columns.iter().for_each(|&column| _ = policy.touch(column, window));
        }
    }

    #[test]
    fn startup_takes_the_smallest_columns_that_fit_and_what_was_touched() {
        let mut policy = policy(&[]);
        policy.open(0);
        // Column n costs 10 n bytes.
        let decision = policy.decide(&touch(0, &[9]), |column| Some(10 * column as u64));
        assert_eq!(decision, Decision { kind: FetchKind::Startup, columns: vec![9, 0, 1, 2] });
    }

    #[test]
    fn slow_links_fetch_less_speculatively() {
        let policy = Policy::new(10, Rules { suspected_bytes: 16 << 20, ..RULES }, &[]);
        for (in_flight_bytes, columns) in [(None, 8), (Some(1 << 20), 8), (Some(256 << 10), 2), (Some(0), 0)]
        {
            let touch = Touch { in_flight_bytes, ..touch(0, &[9]) };
            let decision = policy.decide(&touch, |_| Some(2 << 20));
            assert_eq!(decision.columns.len(), columns + 1, "{in_flight_bytes:?}");
        }
    }

    #[test]
    fn speculation_for_few_entries_is_small_and_doubles() {
        let mut policy = Policy::new(10, Rules { suspected_bytes: 800, ..RULES }, &[]);
        policy.travel.expect(vec![(3, 0.125)]);
        policy.open(3);
        for (misses, columns) in [(0, 2), (1, 3), (2, 5), (3, 9), (99, 9)] {
            let decision = policy.decide(&Touch { misses, ..touch(3, &[9]) }, |_| Some(100));
            assert_eq!(decision.columns.len(), columns, "{misses}");
        }
    }

    #[test]
    fn columns_are_trained_when_touched_often_and_dropped_when_unused() {
        let mut policy = policy(&[]);
        go(&mut policy, 0..10, &[1]);
        go(&mut policy, 10..14, &[1, 2]);
        assert!(!policy.is_trained(2));
        go(&mut policy, 14..17, &[1, 2]);
        assert!(policy.is_trained(1) && policy.is_trained(2));
        go(&mut policy, 17..24, &[2]);
        assert!(policy.is_trained(1));
        go(&mut policy, 24..29, &[2]);
        assert_eq!(policy.trained(99), [2]);
        assert!(policy.trained(28).is_empty());
        assert_eq!(policy.learned(), (HashMap::from([(1, 17), (2, 19)]), 29));
    }

    #[test]
    fn seeds_count_until_they_are_relearned() {
        let mut policy = policy(&[(3, 1.0), (4, 0.1), (99, 1.0), (5, 0.0)]);
        assert_eq!(policy.trained(0), [3]);
        assert_eq!(policy.next_windows(5, 9), NextWindows::These(vec![]));
        policy.open(2);
        assert_eq!(policy.next_windows(5, 9), NextWindows::These(vec![3, 4]));
        let decision = policy.decide(&touch(2, &[6]), |_| Some(1));
        assert_eq!(decision, Decision { kind: FetchKind::Trigger, columns: vec![6, 3, 4] });
        go(&mut policy, 3..14, &[6]);
        assert_eq!(policy.trained(99), [6]);
    }

    #[test]
    fn a_saved_set_is_unchanged_without_learning() {
        let mut policy = Policy::new(10, Rules { learn: false, ..RULES }, &[(3, 1.0)]);
        go(&mut policy, 0..20, &[1]);
        assert_eq!(policy.trained(99), [3]);
    }

    #[test]
    fn waits_for_jumps_pay_for_prefetching() {
        let mut policy = Policy::new(10, Rules { remembered_bytes: 9 << 20, ..RULES }, &[]);
        go(&mut policy, 3..5, &[1]);
        assert_eq!(policy.next_windows(9, 99), NextWindows::These(vec![5, 6, 7, 8]));
        go(&mut policy, 7..8, &[1]);
        assert_eq!(policy.next_windows(9, 99), NextWindows::Any(1));
        let worth = |jumps, in_flight: Option<u64>| policy.worth_of_jumps(jumps, in_flight) >> 20;
        assert_eq!([worth(1, None), worth(9, None), worth(1, Some(4 << 20))], [1, 1, 1]);
        assert_eq!([worth(2, Some(4 << 20)), worth(3, Some(4 << 20)), worth(4, Some(4 << 20))], [4, 8, 9]);
    }

    #[test]
    fn a_trigger_fetches_recently_touched_columns_within_its_budget() {
        let mut policy = Policy::new(10, Rules { remembered_bytes: 20, ..RULES }, &[]);
        go(&mut policy, 0..9, &[1]);
        for column in [4, 5, 6] {
            go(&mut policy, 8..9, &[column]);
        }
        policy.open(9);
        let missing = Touch { opening: false, ..touch(9, &[4]) };
        let decision = policy.decide(&missing, |column| (column != 1).then_some(10));
        assert_eq!(decision, Decision { kind: FetchKind::Trigger, columns: vec![4, 6, 5] });
        // The second time, everything that is left.
        let decision = policy.decide(&Touch { misses: 1, ..missing }, |column| (column > 6).then_some(10));
        assert_eq!(decision.columns, [4, 7, 8, 9]);
    }

    #[test]
    fn reopening_a_window_first_fetches_other_columns_than_before() {
        let mut policy = policy(&[]);
        go(&mut policy, 0..5, &[1, 2]);
        go(&mut policy, 5..6, &[4]);
        policy.open(0);
        let again = Touch { reopened: true, ..touch(0, &[3]) };
        assert_eq!(policy.decide(&again, |_| Some(1)).columns, [3, 4]);
        let second = Touch { opening: false, misses: 1, ..again };
        assert_eq!(policy.decide(&second, |_| Some(1)).columns, [3, 4, 2, 1]);
    }
}
