//! Learning readers return the right bytes, with no more fetches than stated.

use crate::source::{Behaviour, TestSource, WEB, content, fetcher, range, runtime};
use bytes::Bytes;
use proptest::prelude::*;
use sapwood_core::{Call, Deadline, Error, ErrorKind, Result};
use sapwood_fetch::Fetcher;
use sapwood_fetch::learn::{ColumnMap, ColumnRange, FetchKind, FetchedColumn, Limits, Reader, Rules};
use sapwood_source::CostModel;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

const COLUMNS: usize = 8;
const WINDOWS: usize = 12;
const PIECE: u64 = 16;

/// Each column has one piece per window; each fourth has another, which two windows share.
#[derive(Debug)]
struct Table {
    fetcher: Fetcher,
}

impl ColumnMap for Table {
    fn columns(&self) -> usize {
        COLUMNS
    }

    fn windows(&self) -> usize {
        WINDOWS
    }

    fn pieces(&self, column: usize, window: usize) -> Vec<ColumnRange> {
        let place = |row: usize| range((row * COLUMNS + column) as u64 * PIECE, PIECE);
        let mut pieces = vec![ColumnRange { object: 0, range: place(window), shared: false }];
        if column.is_multiple_of(4) {
            pieces.push(ColumnRange { object: 0, range: place(WINDOWS + window / 2), shared: true });
        }
        pieces
    }

    fn fetcher(&self, _: usize) -> Fetcher {
        self.fetcher.clone()
    }
}

const SIZE: usize = 2 * WINDOWS * COLUMNS * PIECE as usize;
const RULES: Rules = Rules {
    startup: true,
    learn: true,
    trigger: true,
    suspected_bytes: u64::MAX,
    remembered_bytes: u64::MAX,
};
const AMPLE: Limits = Limits { kept_bytes: 1 << 30, memory_bytes: 1 << 30, ahead_bytes: 1 << 20 };

struct Case {
    source: Arc<TestSource>,
    table: Arc<Table>,
    reader: Reader<Bytes>,
    // Dropped last: the reader's tasks live on it.
    _runtime: Runtime,
}

impl Case {
    fn new(
        behaviour: Behaviour,
        cost_model: CostModel,
        rules: Rules,
        limits: Limits,
        seed: &[(usize, f64)],
    ) -> Case {
        let (runtime, source) = (runtime(), TestSource::new(SIZE, cost_model, behaviour));
        let table = Arc::new(Table { fetcher: fetcher(&source) });
        let layout: Arc<dyn ColumnMap> = table.clone();
        let reader = Reader::new(layout, runtime.handle().clone(), rules, limits, seed, Instant::now());
        Case { source, table, reader, _runtime: runtime }
    }

    fn prompt(rules: Rules, seed: &[(usize, f64)]) -> Case {
        Case::new(Behaviour::Prompt, WEB, rules, AMPLE, seed)
    }

    fn try_touch(
        &self,
        columns: &[usize],
        window: usize,
        declared: bool,
        patience: Duration,
    ) -> Result<Vec<Bytes>> {
        let work = |fetched: &[FetchedColumn], _: &mut Call<'_>| {
            let joined = |fetched: &FetchedColumn| -> (Bytes, u64) {
                let joined: Vec<u8> = fetched.pieces.iter().flat_map(|(_, bytes)| bytes.to_vec()).collect();
                let len = joined.len() as u64;
                (joined.into(), len)
            };
            Ok(fetched.iter().map(joined).collect())
        };
        let mut never = || false;
        let mut call = Call::new(Deadline::after(patience), &mut never);
        self.reader.touch(columns, window, declared, &work, &mut call)
    }

    /// Touches columns, and compares what comes with the content of the source.
    fn touch(&self, columns: &[usize], window: usize) {
        let values = self.try_touch(columns, window, false, Duration::from_secs(20)).unwrap();
        let content = content(SIZE);
        for (&column, value) in columns.iter().zip(values) {
            let pieces = self.table.pieces(column, window);
            let expected: Vec<u8> = pieces
                .iter()
                .flat_map(|piece| &content[piece.range.start as usize..piece.range.end() as usize])
                .copied()
                .collect();
            assert_eq!(value, expected, "column {column} of window {window}");
        }
    }

    /// The kinds of fetches that were made for a window.
    fn kinds(&self, window: usize) -> Vec<FetchKind> {
        self.reader.fetches().iter().filter(|fetch| fetch.window == window).map(|fetch| fetch.kind).collect()
    }
}

#[test]
fn startup_then_trained_ahead_then_trigger() {
    let case = Case::prompt(RULES, &[]);
    for window in 0..8 {
        for column in [0, 1, 2] {
            case.touch(&[column], window);
        }
        // Now and then, some more.
        if window % 4 == 2 {
            for column in [5, 6, 7] {
                case.touch(&[column], window);
            }
        }
    }
    assert_eq!(case.kinds(0), [FetchKind::Startup]);
    assert_eq!(case.kinds(1), [FetchKind::Trained]);
    // The first columns that were never touched: all that is left comes along.
    assert_eq!(case.kinds(2), [FetchKind::Trained, FetchKind::Trigger]);
    assert_eq!(case.kinds(6), [FetchKind::Trained, FetchKind::Trigger]);
    let fetches = case.reader.fetches();
    let triggers: Vec<_> = fetches.iter().filter(|fetch| fetch.kind == FetchKind::Trigger).collect();
    assert_eq!(triggers[0].columns.len(), COLUMNS - 3);
    assert_eq!(triggers[1].columns.iter().collect::<BTreeSet<_>>(), BTreeSet::from([&5, &6, &7]));
    let accounting = case.reader.accounting();
    assert_eq!(accounting.windows_seen, 8);
    assert_eq!((accounting.columns[&0].hits, accounting.columns[&0].misses), (6, 2));
    assert_eq!((accounting.columns[&5].hits, accounting.columns[&5].misses), (0, 2));
    assert_eq!((accounting.columns[&6].hits, accounting.columns[&6].misses), (2, 0));
    // Of column 3, windows 0 and 2 were fetched for nothing.
    assert_eq!((accounting.columns[&3].bytes_fetched, accounting.columns[&3].bytes_unused), (32, 32));
    assert_eq!(
        case.reader.learned().iter().map(|l| (l.0, l.1)).collect::<Vec<_>>(),
        [(0, 8), (1, 8), (2, 8), (5, 2), (6, 2), (7, 2)]
    );
}

#[test]
fn prefetched_windows_are_extended_when_more_columns_are_trained() {
    let case = Case::prompt(RULES, &[]);
    for window in 0..WINDOWS {
        case.touch(&[0], window);
        if window >= 4 {
            case.touch(&[1], window);
            case.touch(&[2], window);
        }
    }
    let waits = |window| case.kinds(window).iter().filter(|kind| **kind == FetchKind::Trigger).count();
    // Once half of what counts of the past has them, columns are trained: from then on nobody waits for them.
    assert_eq!((4..WINDOWS).map(waits).sum::<usize>(), 4, "{:?}", case.reader.fetches());
    assert!((0..WINDOWS).all(|window| case.kinds(window).len() <= 2), "{:?}", case.reader.fetches());
}

#[test]
fn nothing_is_fetched_speculatively_when_all_rules_are_off() {
    let rules = Rules { startup: false, learn: false, trigger: false, ..RULES };
    let case = Case::prompt(rules, &[]);
    for column in [3, 1, 3] {
        case.touch(&[column], 4);
    }
    assert_eq!(case.kinds(4), [FetchKind::Touched, FetchKind::Touched]);
    assert_eq!(case.source.request_count(), 2);
}

#[test]
fn a_saved_set_is_fetched_ahead_from_the_beginning() {
    let rules = Rules { learn: false, ..RULES };
    let case = Case::prompt(rules, &[(1, 1.0), (2, 0.6), (5, 0.1)]);
    for window in 0..WINDOWS {
        case.touch(&[1], window);
        case.touch(&[2], window);
    }
    for window in 0..WINDOWS {
        assert_eq!(case.kinds(window), [FetchKind::Trained], "window {window}");
    }
    assert!(case.reader.accounting().columns.keys().eq(&[1, 2]));
}

#[test]
fn a_declared_set_takes_one_fetch_and_nothing_else() {
    let case = Case::prompt(RULES, &[]);
    case.try_touch(&[1, 6, 3], 2, true, Duration::from_secs(20)).unwrap();
    case.touch(&[6], 2);
    let fetches = case.reader.fetches();
    assert_eq!(fetches.len(), 1);
    assert_eq!((fetches[0].kind, &fetches[0].columns), (FetchKind::Declared, &vec![1, 6, 3]));
    assert!(fetches[0].answered.is_some());
}

#[test]
fn ranges_shared_by_two_windows_are_fetched_once() {
    let rules = Rules { startup: false, learn: false, trigger: false, ..RULES };
    let case = Case::prompt(rules, &[]);
    case.touch(&[0], 2);
    case.touch(&[0], 3);
    let asked: Vec<_> = case.reader.fetches().iter().flat_map(|fetch| fetch.ranges.clone()).collect();
    assert_eq!(asked.len(), 3);
    assert_eq!(asked.iter().collect::<HashSet<_>>().len(), 3);
}

#[test]
fn going_back_is_read_ahead_too() {
    let case = Case::prompt(RULES, &[]);
    for window in (2..WINDOWS).rev() {
        case.touch(&[1], window);
    }
    // Nobody touched them yet.
    assert_eq!((case.kinds(1), case.kinds(0)), (vec![FetchKind::Trained], vec![FetchKind::Trained]));
}

#[test]
fn two_waits_for_jumps_prefetch_all_windows() {
    let case = Case::prompt(RULES, &[]);
    // Of 12 windows, 2 are opened with a wait; then all are there.
    for window in [7, 2, 10, 5, 0, 8, 4, 11, 1, 9, 3, 6] {
        case.touch(&[1], window);
        case.touch(&[2], window);
    }
    let accounting = case.reader.accounting();
    assert_eq!(accounting.columns[&1].misses + accounting.columns[&2].misses, 2, "{accounting:?}");
    assert!((0..WINDOWS).all(|window| case.kinds(window).len() == 1), "{:?}", case.reader.fetches());
}

#[test]
fn a_jump_in_a_large_file_waits() {
    // After the second jump, 9 windows of one piece each are left.
    let limits = Limits { ahead_bytes: 8 * PIECE, ..AMPLE };
    let case = Case::new(Behaviour::Prompt, WEB, RULES, limits, &[]);
    for window in [7, 2, 10] {
        case.touch(&[1], window);
    }
    assert_eq!(case.reader.fetches().len(), 3, "{:?}", case.reader.fetches());
}

#[test]
fn only_announced_windows_are_fetched_ahead() {
    let case = Case::prompt(RULES, &[(1, 1.0)]);
    let path = vec![6, 3, 4, 9];
    let name = case.reader.expect(path.iter().map(|window| (*window, 1.0)).collect());
    for &window in &path {
        case.touch(&[1], window);
    }
    case.reader.forget(name);
    assert!((0..WINDOWS).all(|window| case.kinds(window).len() == usize::from(path.contains(&window))));
    assert_eq!(case.reader.accounting().columns[&1].misses, 1);
    // From now on, the direction tells.
    case.touch(&[1], 10);
    assert_eq!(case.kinds(11), [FetchKind::Trained]);
}

#[test]
fn columns_read_one_after_the_other_through_all_windows_are_read_ahead() {
    // What was delivered once is not fetched again, but for what a small memory dropped before its turn: how much of it
    // that is depends on when the answers come.
    for (memory_bytes, most_pieces) in [(1 << 30, WINDOWS + 2), (16 * PIECE, 2 * WINDOWS)] {
        let limits = Limits { kept_bytes: memory_bytes, memory_bytes, ahead_bytes: memory_bytes / 4 };
        let case = Case::new(Behaviour::Prompt, WEB, RULES, limits, &[]);
        for column in [1, 2, 3] {
            for window in 0..WINDOWS {
                case.touch(&[column], window);
                case.reader.release(window);
            }
        }
        let columns = case.reader.accounting().columns;
        assert!(columns[&3].hits >= 6, "{columns:?}");
        let most_bytes = most_pieces as u64 * PIECE;
        assert!((1..4).all(|column| columns[&column].bytes_fetched <= most_bytes), "{columns:?}");
    }
}

#[test]
fn windows_that_are_no_longer_needed_are_dropped_before_the_memory_is_full() {
    let limits = Limits { kept_bytes: 8 * PIECE, ..AMPLE };
    let case =
        Case::new(Behaviour::Prompt, WEB, Rules { learn: false, startup: false, ..RULES }, limits, &[]);
    for window in 0..WINDOWS {
        case.touch(&[1, 2, 3], window);
    }
    let needed = case.reader.accounting().held_bytes;
    assert!(needed > limits.kept_bytes, "{needed}");
    (0..WINDOWS).for_each(|window| case.reader.release(window));
    let kept = case.reader.accounting().held_bytes;
    assert!(0 < kept && kept <= limits.kept_bytes, "{kept}");
}

#[test]
fn nothing_is_prefetched_from_a_local_source() {
    let case = Case::new(Behaviour::Prompt, CostModel { immediate: true, ..WEB }, RULES, AMPLE, &[(3, 1.0)]);
    for window in 0..3 {
        case.try_touch(&[1], window, false, Duration::from_secs(20)).unwrap();
    }
    // The bytes are read where they are worked on.
    assert_eq!(case.source.request_count(), 0);
    let accounting = case.reader.accounting();
    assert!(accounting.kinds.keys().eq(&[FetchKind::Touched]));
    assert!(accounting.columns.keys().eq(&[1]));
}

#[test]
fn a_column_that_cannot_be_fetched_fails_alone() {
    let last = (COLUMNS - 1) as u64 * PIECE;
    let case = Case::new(Behaviour::FailsFrom(last), WEB, RULES, AMPLE, &[]);
    case.touch(&[1], 0);
    case.touch(&[2], 0);
    let error = case.try_touch(&[COLUMNS - 1], 0, false, Duration::from_secs(20)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Server);
}

#[test]
fn a_trained_column_that_cannot_be_decoded_fails_alone() {
    let case = Case::prompt(RULES, &[(1, 1.0), (2, 1.0), (3, 1.0)]);
    let work = |fetched: &[FetchedColumn], _: &mut Call<'_>| {
        if fetched.iter().any(|fetched| fetched.column == 2) {
            return Err(Error::corrupt("column 2 is damaged"));
        }
        Ok(fetched.iter().map(|_| (Bytes::new(), 0)).collect())
    };
    let touch = |column| {
        let mut never = || false;
        let mut call = Call::new(Deadline::after(Duration::from_secs(20)), &mut never);
        case.reader.touch(&[column], 0, false, &work, &mut call).map(drop)
    };
    touch(1).unwrap();
    assert_eq!(touch(2).unwrap_err().kind(), ErrorKind::Corrupt);
    touch(3).unwrap();
    assert_eq!(case.kinds(0), [FetchKind::Trained]);
}

#[test]
fn a_wait_past_the_deadline_cancels_the_fetch() {
    let case = Case::new(Behaviour::Silent, WEB, RULES, AMPLE, &[]);
    let error = case.try_touch(&[1], 0, false, Duration::from_millis(500)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let end = Instant::now() + Duration::from_secs(10);
    while case.source.in_flight() > 0 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(case.source.in_flight(), 0);
    // It is not taken for asked for: the next touch asks again.
    case.try_touch(&[1], 0, false, Duration::from_millis(500)).unwrap_err();
    assert_eq!(case.reader.fetches().len(), 2);
}

#[test]
fn many_threads_share_one_fetch() {
    let slow = Behaviour::Slow(Duration::from_millis(20));
    let case = Case::new(slow, WEB, RULES, AMPLE, &[]);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let case = &case;
            scope.spawn(move || {
                for window in 0..WINDOWS {
                    for column in 0..4 {
                        case.touch(&[(column + thread) % 4], window);
                    }
                }
            });
        }
    });
    let fetches = case.reader.fetches();
    let asked: Vec<_> = fetches.iter().flat_map(|fetch| fetch.ranges.clone()).collect();
    assert_eq!(asked.len(), asked.iter().collect::<HashSet<_>>().len());
    assert!(fetches.len() <= 2 * WINDOWS, "{} fetches", fetches.len());
    assert_eq!(case.reader.accounting().columns[&0].windows_touched, WINDOWS as u64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is touched in whatever order: the right bytes; at most three fetches a window, and at most two in
    /// one where nothing is touched that was not touched before it was opened; one more where more was fetched ahead.
    #[test]
    fn random_touches_are_right_and_keep_the_bound(
        windows in Just((0..WINDOWS).collect::<Vec<_>>()).prop_shuffle(),
        columns in prop::collection::vec(prop::collection::vec(0..COLUMNS, 1..5), 1..=WINDOWS),
        (startup, learn) in any::<(bool, bool)>(),
    ) {
        let case = Case::prompt(Rules { startup, learn, ..RULES }, &[]);
        let mut before: HashSet<usize> = HashSet::new();
        let mut most = BTreeMap::new();
        for (&window, columns) in windows.iter().zip(&columns) {
            most.insert(window, if columns.iter().all(|column| before.contains(column)) { 2 } else { 3 });
            before.extend(columns);
            for column in columns {
                case.touch(&[*column], window);
            }
        }
        for (window, most) in most {
            let kinds = case.kinds(window);
            let extended = kinds.iter().filter(|kind| **kind == FetchKind::Trained).count() > 1;
            prop_assert!(kinds.len() <= most + usize::from(extended), "window {}: {:?}", window, kinds);
        }
    }

    /// Who says where he goes gets the right bytes, no window that he did not name, and, where he looks at few entries
    /// of each, one more fetch for each time that a guess has to double.
    #[test]
    fn named_paths_are_right_and_keep_the_bound(
        path in Just((0..WINDOWS).collect::<Vec<_>>()).prop_shuffle(),
        columns in prop::collection::vec(prop::collection::vec(0..COLUMNS, 1..5), 1..=WINDOWS),
        halvings in 0..7_i32,
    ) {
        let rules = Rules { suspected_bytes: 2 * COLUMNS as u64 * PIECE, ..RULES };
        let case = Case::prompt(rules, &[]);
        let path = &path[..columns.len()];
        let name = case.reader.expect(path.iter().map(|window| (*window, 0.5_f64.powi(halvings))).collect());
        for (&window, columns) in path.iter().zip(&columns) {
            for column in columns {
                case.touch(&[*column], window);
            }
        }
        case.reader.forget(name);
        for window in 0..WINDOWS {
            let most = if path.contains(&window) { 4 + halvings as usize } else { 0 };
            let kinds = case.kinds(window);
            prop_assert!(kinds.len() <= most, "window {}: {:?}", window, kinds);
        }
    }

    /// The same with windows that are left and returned to.
    #[test]
    fn returning_to_windows_asks_for_nothing_twice(
        visits in prop::collection::vec((0..WINDOWS, prop::collection::vec(0..COLUMNS, 1..5)), 1..40),
    ) {
        let case = Case::prompt(RULES, &[]);
        for (window, columns) in &visits {
            for column in columns {
                case.touch(&[*column], *window);
            }
        }
        prop_assert!((0..WINDOWS).all(|window| case.kinds(window).len() <= 4));
        let asked: Vec<_> = case.reader.fetches().into_iter().flat_map(|fetch| fetch.ranges).collect();
        prop_assert_eq!(asked.len(), asked.iter().collect::<HashSet<_>>().len());
        for account in case.reader.accounting().columns.values() {
            prop_assert_eq!(account.windows_touched, account.hits + account.misses);
            prop_assert!(account.bytes_unused <= account.bytes_fetched);
        }
    }

    /// With next to no memory, and several threads that release windows under each other's feet.
    #[test]
    fn threads_with_little_memory_read_the_right_bytes(
        visits in prop::collection::vec(
            prop::collection::vec((0..WINDOWS, prop::collection::vec(0..COLUMNS, 1..4), any::<bool>()), 1..20),
            2..4,
        ),
        memory_bytes in 0..2000_u64,
    ) {
        let limits = Limits { kept_bytes: memory_bytes / 2, memory_bytes, ahead_bytes: memory_bytes };
        let case = Case::new(Behaviour::Prompt, WEB, RULES, limits, &[]);
        std::thread::scope(|scope| {
            for visits in &visits {
                let case = &case;
                scope.spawn(move || {
                    for (window, columns, release) in visits {
                        case.touch(columns, *window);
                        if *release {
                            case.reader.release(*window);
                        }
                    }
                });
            }
        });
        // What is used last stays, however large it is, and so does what is fetched ahead of it.
        let window = (COLUMNS as u64 + 4) * 4 * PIECE;
        prop_assert!(case.reader.accounting().held_bytes <= memory_bytes + window);
    }
}
