//! Lazy readers: the same columns as an eager read, in any order, from several threads.

use crate::inputs::{MIXED, corpus, open, open_distant, readable, trees};
use sapwood::{Column, ErrorKind, FetchKind, Lazy, LazyOptions, Query, ReadOptions, Tree};
use std::ops::Range;

fn mixed(distant: bool) -> Tree {
    let file = if distant { open_distant(MIXED) } else { open(MIXED) }.unwrap();
    file.tree("tree", None, call!()).unwrap()
}

fn lazy(tree: &Tree, options: LazyOptions) -> Lazy {
    tree.lazy(&readable(tree), LazyOptions { threads: Some(2), ..options }, call!()).unwrap()
}

fn column(lazy: &Lazy, request: usize, window: usize) -> sapwood::Result<Column> {
    lazy.column(request, window, call!())
}

fn eager(tree: &Tree, request: impl Into<Query> + Clone, entries: Range<u64>) -> sapwood::Result<Column> {
    let options = ReadOptions { threads: Some(2) };
    tree.read(&[request], entries, &options, call!()).map(|mut columns| columns.remove(0))
}

#[test]
fn windows_in_any_order_hold_what_an_eager_read_does() {
    for distant in [false, true] {
        let tree = mixed(distant);
        let options = LazyOptions { entries: Some(30..490), startup_entries: 37, ..LazyOptions::default() };
        let lazy = lazy(&tree, options);
        let windows = lazy.windows().to_vec();
        assert_eq!(windows, [30..67, 67..490]);
        for (window, request) in [(1, 3), (0, 3), (0, 0), (1, 8), (1, 3), (0, 9)] {
            let expected = eager(&tree, readable(&tree)[request], windows[window].clone()).unwrap();
            assert_eq!(
                column(&lazy, request, window).unwrap(),
                expected,
                "request {request}, window {window}"
            );
        }
    }
}

#[test]
fn every_column_of_the_corpus_is_the_same_on_several_threads() {
    for (name, content) in corpus(40_000) {
        let Ok(file) = open_distant(&content) else { continue };
        for tree in trees(&file) {
            let branches = readable(&tree);
            let options = LazyOptions { startup_entries: 7, memory_bytes: 1 << 16, ..LazyOptions::default() };
            let Ok(lazy) = tree.lazy(&branches, options, call!()) else {
                continue;
            };
            std::thread::scope(|scope| {
                for thread in 0..2 {
                    let (lazy, tree, branches, name) = (&lazy, &tree, &branches, &name);
                    scope.spawn(move || {
                        let windows = lazy.windows().iter().cloned().enumerate();
                        for (window, entries) in windows {
                            for request in (thread..branches.len()).step_by(3) {
                                let (found, expected) = (
                                    column(lazy, request, window),
                                    eager(tree, branches[request], entries.clone()),
                                );
                                match (found, expected) {
                                    (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{name}"),
                                    (found, expected) => {
                                        assert_eq!(found.is_err(), expected.is_err(), "{name}")
                                    }
                                }
                            }
                            lazy.release(window);
                        }
                    });
                }
            });
        }
    }
}

#[test]
fn the_first_touch_brings_all_columns_and_the_second_window_what_was_used() {
    let tree = mixed(true);
    let before = tree.file().counters().snapshot();
    let lazy = lazy(&tree, LazyOptions { startup_entries: 50, ..LazyOptions::default() });
    for window in 0..2 {
        for request in [1, 4, 6] {
            column(&lazy, request, window).unwrap();
        }
    }
    let kinds: Vec<FetchKind> = lazy.fetches().iter().map(|fetch| fetch.kind).collect();
    assert_eq!(kinds, [FetchKind::Startup, FetchKind::Trained]);
    assert_eq!(lazy.fetches()[0].columns.len(), readable(&tree).len());
    assert_eq!(lazy.learned(), [(1, 2, 2), (4, 2, 2), (6, 2, 2)]);
    let after = tree.file().counters().snapshot();
    assert_eq!((after.round_trips - before.round_trips, after.unplanned_reads), (2, 0));
    // The windows share baskets, which are fetched once.
    let mut offsets: Vec<_> = lazy.fetches().into_iter().flat_map(|fetch| fetch.ranges).collect();
    let all = offsets.len();
    offsets.sort_unstable();
    offsets.dedup();
    assert_eq!(offsets.len(), all);
}

#[test]
fn a_local_file_is_read_no_further_than_it_is_touched() {
    let tree = mixed(false);
    let lazy = lazy(&tree, LazyOptions::default());
    column(&lazy, 0, 0).unwrap();
    lazy.touch(&[2, 3], 0, call!()).unwrap();
    let wanted = tree.file().counters().snapshot().wanted_bytes;
    column(&lazy, 2, 0).unwrap();
    column(&lazy, 0, 0).unwrap();
    assert_eq!(tree.file().counters().snapshot().wanted_bytes, wanted);
    let accounting = lazy.accounting();
    assert!(accounting.columns.keys().eq(&[0, 2, 3]));
    assert!(accounting.columns.values().all(|account| account.bytes_unused == 0));
    assert!(accounting.kinds.keys().eq(&[FetchKind::Declared, FetchKind::Touched]));
}

#[test]
fn members_of_one_branch_share_its_baskets() {
    let tree = {
        let content: &[u8] = include_bytes!("../../../../tests/data/trees/counted.root");
        let file = open_distant(content).unwrap();
        file.tree("tree", None, call!()).unwrap()
    };
    let whole = tree.find_branch("whole.").unwrap();
    let requests = ["list.x", "list.hits"].map(|member| Query::from((whole, member)));
    let options = LazyOptions { startup: false, trigger: false, ..LazyOptions::default() };
    let lazy = tree.lazy(&requests, options, call!()).unwrap();
    for (index, request) in requests.iter().enumerate() {
        let expected = eager(&tree, request.clone(), lazy.windows()[0].clone()).unwrap();
        assert_eq!(column(&lazy, index, 0).unwrap(), expected);
    }
    assert_eq!(lazy.fetches().len(), 1);
}

#[test]
fn what_is_not_there_is_said() {
    let tree = mixed(false);
    let lazy = lazy(&tree, LazyOptions::default());
    assert_eq!(column(&lazy, 99, 0).unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(column(&lazy, 0, 99).unwrap_err().kind(), ErrorKind::Usage);
    let beyond = LazyOptions { entries: Some(0..501), ..LazyOptions::default() };
    assert_eq!(tree.lazy(&[0], beyond, call!()).unwrap_err().kind(), ErrorKind::Usage);
    lazy.release(99);
}

#[test]
fn a_steady_pattern_takes_at_most_two_fetches_a_window() {
    let tree = mixed(true);
    // Windows of one cluster each.
    let options = LazyOptions { memory_bytes: 60_000, startup_entries: 500, ..LazyOptions::default() };
    let lazy = lazy(&tree, options);
    let windows = lazy.windows().len();
    assert!(windows >= 5, "{windows}");
    let before = tree.file().counters().snapshot().round_trips;
    for window in 0..windows {
        let also = if window % 2 == 1 { &[2, 4, 7, 9][..] } else { &[] };
        for request in [0, 3, 5].iter().chain(also) {
            column(&lazy, *request, window).unwrap();
        }
        lazy.release(window);
    }
    for window in 2..windows {
        let fetches = lazy.fetches().iter().filter(|fetch| fetch.window == window).count();
        assert!(fetches <= 2, "{fetches} fetches for window {window}");
    }
    let round_trips = tree.file().counters().snapshot().round_trips - before;
    assert!(round_trips <= windows as u64, "{round_trips} round trips");
    assert!(lazy.accounting().held_bytes <= 60_000);
}
