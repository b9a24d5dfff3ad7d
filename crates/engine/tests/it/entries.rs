//! Reading an entry list gives these entries of the whole column, and fetches only their baskets.

use crate::inputs::{MIXED, column, corpus, open, open_distant, readable, trees};
use sapwood::{Column, Deadline, ErrorKind, ReadOptions, Tree};

/// Large enough for every kind of branch, small enough to be fast.
const SMALL: u64 = 150_000;

fn options() -> ReadOptions {
    ReadOptions { threads: Some(2) }
}

/// Entry lists: none, all, first and last, with gaps, backwards, several times.
fn lists(entries: u64) -> Vec<Vec<u64>> {
    let mut seed = 7u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % entries
    };
    vec![
        Vec::new(),
        (0..entries).collect(),
        vec![0, entries - 1],
        (0..entries).step_by(7).collect(),
        (0..entries).rev().collect(),
        (0..40).map(|_| random()).collect(),
    ]
}

/// The same items; parts of a form that only the data reveal may be missing when there are fewer items.
fn assert_same(read: Column, whole: &Column, entries: &[u64], what: &str) {
    let indices: Vec<usize> = entries.iter().map(|entry| usize::try_from(*entry).unwrap()).collect();
    let form = whole.take([]).unwrap();
    assert_eq!(Column::concat(vec![form, read]).unwrap(), whole.take(indices).unwrap(), "{what}");
}

#[test]
fn chosen_entries_are_those_of_the_whole_column() {
    for (name, content) in corpus(SMALL).into_iter().chain([("mixed.root".to_owned(), MIXED.to_vec())]) {
        let (Ok(near), Ok(far)) = (open(&content), open_distant(&content)) else { continue };
        for (near, far) in trees(&near).into_iter().zip(trees(&far)) {
            let all = 0..near.entries();
            let mut wholes: Vec<(usize, Column)> = Vec::new();
            for branch in readable(&near) {
                // Branches that only their data show to be unreadable are checked by the test of the corpus.
                let Ok(whole) = column(&near, branch, all.clone()) else { continue };
                if whole.length as u64 == near.entries() && !all.is_empty() {
                    wholes.push((branch, whole));
                }
            }
            let branches: Vec<usize> = wholes.iter().map(|(branch, _)| *branch).collect();
            for entries in if branches.is_empty() { Vec::new() } else { lists(near.entries()) } {
                for tree in [&near, &far] {
                    let read = tree.read_entries(&branches, &entries, all.clone(), &options(), call!());
                    for (column, (branch, whole)) in read.unwrap().into_iter().zip(&wholes) {
                        let path = &tree.ttree().unwrap().branches()[*branch].path;
                        assert_same(column, whole, &entries, &format!("{name} {path} {}", entries.len()));
                    }
                }
            }
        }
    }
}

fn mixed(distant: bool) -> Tree {
    let file = if distant { open_distant(MIXED) } else { open(MIXED) }.unwrap();
    trees(&file).into_iter().max_by_key(Tree::entries).unwrap()
}

/// A branch of several baskets.
fn in_baskets(tree: &Tree) -> usize {
    readable(tree)
        .into_iter()
        .max_by_key(|branch| tree.ttree().unwrap().branches()[*branch].baskets.len())
        .unwrap()
}

#[test]
fn only_baskets_with_chosen_entries_are_read() {
    for tree in [mixed(false), mixed(true)] {
        let branch = in_baskets(&tree);
        let baskets = &tree.ttree().unwrap().branches()[branch].baskets;
        assert!(baskets.len() > 2);
        let bytes = |number: usize| baskets[number].len;
        let (first, last) = (baskets[0].first_entry, baskets[baskets.len() - 1].first_entry);
        let before = tree.file().counters().snapshot();
        tree.read_entries(&[branch], &[last, first, last], 0..tree.entries(), &options(), call!()).unwrap();
        let after = tree.file().counters().snapshot();
        let wanted = bytes(0) + bytes(baskets.len() - 1);
        assert_eq!(after.baskets - before.baskets, 2);
        assert_eq!(after.wanted_bytes - before.wanted_bytes, wanted);
        let all: u64 = (0..baskets.len()).map(bytes).sum();
        assert_eq!(after.skipped_bytes - before.skipped_bytes, all - wanted);
    }
}

#[test]
fn a_started_read_is_fetched_in_the_background() {
    let tree = mixed(true);
    let branch = in_baskets(&tree);
    let started = tree.start_entries(&[branch], &[0], 0..tree.entries(), &options(), call!()).unwrap();
    let fetched = || tree.file().counters().snapshot().wanted_bytes;
    let wanted = tree.ttree().unwrap().branches()[branch].baskets[0].len;
    let (before, deadline) = (fetched(), Deadline::after(std::time::Duration::from_secs(20)));
    while fetched() < wanted.min(before + 1) && !deadline.has_passed() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(fetched() >= wanted);
    assert_eq!(started.finish(call!()).unwrap()[0].length, 1);
}

#[test]
fn entries_beyond_the_range_or_the_branch_are_refused() {
    let tree = mixed(false);
    let branch = in_baskets(&tree);
    for within in [0..3, 0..tree.entries() + 1] {
        let error = tree.read_entries(&[branch], &[3], within, &options(), call!()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
}
