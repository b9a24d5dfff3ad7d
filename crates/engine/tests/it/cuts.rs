//! A cut delivers the same as a whole read with a mask, and costs no more.

use crate::inputs::{MIXED, never, open, open_distant, readable, trees};
use sapwood::{
    Call, Column, CounterValues, CutCosts, CutOptions, CutQuery, CutRead, CutStage, Deadline, EntrySelection,
    Error, ErrorKind, PassingEntries, ReadOptions, Tree,
};
use std::ops::Range;

/// Forces two stages wherever possible; for small files they are not worth it by default.
const ALWAYS: CutCosts = CutCosts { least_bytes: 0, many_percent: 200 };
/// One stage.
const NEVER: CutCosts = CutCosts { least_bytes: u64::MAX, many_percent: 5 };

fn options(costs: CutCosts) -> CutOptions {
    CutOptions { threads: Some(2), costs, ..CutOptions::default() }
}

fn mixed(distant: bool) -> Tree {
    let file = if distant { open_distant(MIXED) } else { open(MIXED) }.unwrap();
    trees(&file).into_iter().max_by_key(Tree::entries).unwrap()
}

fn number(tree: &Tree) -> usize {
    tree.find_branch("number").unwrap()
}

/// Whether each number passes, which is `3 * entry - 100`.
fn mask(columns: &[Column], passes: impl Fn(i64) -> bool) -> Vec<bool> {
    let numbers: &[i32] = columns[0].buffers[0].view();
    numbers.iter().map(|number| passes((i64::from(*number) + 100) / 3)).collect()
}

fn whole(tree: &Tree, columns: &[usize]) -> Vec<Column> {
    let options = ReadOptions { threads: Some(2) };
    tree.read(columns, 0..tree.entries(), &options, call!()).unwrap()
}

fn read(tree: &Tree, range: Range<u64>, passes: impl Fn(i64) -> bool, options: CutOptions) -> PassingEntries {
    let (queries, mut never) = (readable(tree), never());
    let mut call = Call::new(Deadline::default(), &mut never);
    let cut = |columns: &[Column]| Ok(mask(columns, &passes));
    tree.read_where(&queries, range, &[number(tree)], cut, options, &mut call).unwrap()
}

/// Checks that the entries are those that pass, and that the columns equal those of a whole read.
fn assert_passing(found: &PassingEntries, whole: &[Column], expected: &[u64]) {
    assert_eq!(found.entries, expected);
    let places: Vec<usize> = expected.iter().map(|entry| usize::try_from(*entry).unwrap()).collect();
    for (column, whole) in found.columns.iter().zip(whole) {
        assert_eq!(*column, whole.take(places.iter().copied()).unwrap());
    }
    assert_eq!(found.columns.len(), whole.len());
}

fn cost(tree: &Tree, work: impl FnOnce()) -> (CounterValues, CounterValues) {
    let before = tree.file().counters().snapshot();
    work();
    (before, tree.file().counters().snapshot())
}

#[test]
fn a_cut_gives_what_a_mask_gives() {
    for distant in [false, true] {
        let tree = mixed(distant);
        let whole = whole(&tree, &readable(&tree));
        let cuts: [fn(i64) -> bool; 4] = [|_| false, |_| true, |entry| entry % 7 == 3, |entry| entry < 20];
        for (cut, costs) in
            cuts.iter().flat_map(|cut| [ALWAYS, NEVER, CutCosts::default()].map(|costs| (cut, costs)))
        {
            for range in [0..tree.entries(), 13..417, 50..50] {
                let passing = range.clone().filter(|entry| cut(i64::try_from(*entry).unwrap()));
                let found = read(&tree, range, cut, options(costs));
                assert_passing(&found, &whole, &passing.collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn a_scan_gives_the_same_step_by_step() {
    for (distant, costs) in [(false, ALWAYS), (true, ALWAYS), (true, NEVER)] {
        let tree = mixed(distant);
        let (queries, whole) = (readable(&tree), whole(&tree, &readable(&tree)));
        let steps = vec![0..70, 70..70, 70..300, 300..500];
        let (mut never, mut cut) = (never(), 0);
        let mut call = Call::new(Deadline::default(), &mut never);
        let passes = |columns: &[Column]| {
            cut += 1;
            Ok(mask(columns, |entry| entry % 90 < 4))
        };
        let mut scan = tree
            .scan_where(&queries, steps.clone(), &[number(&tree)], passes, options(costs), &mut call)
            .unwrap();
        for step in steps {
            let found = scan.next(&mut call).unwrap().unwrap();
            assert_passing(&found, &whole, &step.filter(|entry| entry % 90 < 4).collect::<Vec<_>>());
        }
        assert!(scan.next(&mut call).is_none());
        drop(scan);
        assert_eq!(cut, 4);
    }
}

#[test]
fn only_baskets_with_passing_entries_are_read() {
    for distant in [false, true] {
        let tree = mixed(distant);
        let (cut, other) = (number(&tree), tree.find_branch("fixed").unwrap());
        let bytes = |branch: usize, passes: &dyn Fn(u64) -> bool| -> u64 {
            let baskets = tree.ttree().unwrap().branches()[branch].baskets.iter();
            let passing = baskets.filter(|basket| (basket.first_entry..basket.end()).any(passes));
            passing.map(|basket| basket.len).sum()
        };
        let wanted = bytes(cut, &|_| true) + bytes(other, &|entry| entry == 250);
        let (before, after) = cost(&tree, || {
            let mut never = never();
            let mut call = Call::new(Deadline::default(), &mut never);
            let passes = |columns: &[Column]| Ok(mask(columns, |entry| entry == 250));
            let all = 0..tree.entries();
            let found = tree.read_where(&[other], all, &[cut], passes, options(ALWAYS), &mut call).unwrap();
            assert_eq!(found.entries, [250]);
        });
        assert_eq!(after.wanted_bytes - before.wanted_bytes, wanted);
        assert_eq!(
            after.skipped_bytes - before.skipped_bytes,
            bytes(other, &|_| true) - bytes(other, &|entry| entry == 250)
        );
        if distant {
            assert_eq!(after.round_trips - before.round_trips, 2);
        }
    }
}

#[test]
fn one_stage_costs_one_round_trip() {
    let tree = mixed(true);
    let (before, after) = cost(&tree, || drop(read(&tree, 0..500, |_| true, CutOptions::default())));
    assert_eq!(after.round_trips - before.round_trips, 1);
    assert_eq!(after.skipped_bytes, before.skipped_bytes);
}

#[test]
fn excluded_entries_are_neither_read_nor_cut() {
    for distant in [false, true] {
        let tree = mixed(distant);
        let whole = whole(&tree, &readable(&tree));
        let passes = |entry: i64| {
            assert!((200..300).contains(&entry));
            entry % 2 == 0
        };
        let (before, after) = cost(&tree, || {
            let options = CutOptions { excluded: vec![0..200, 300..500], ..options(ALWAYS) };
            let found = read(&tree, 0..500, passes, options);
            assert_passing(&found, &whole, &(200..300).step_by(2).collect::<Vec<_>>());
        });
        assert_eq!(after.excluded_entries - before.excluded_entries, 400);
        assert_eq!(after.excluded_clusters - before.excluded_clusters, 4);
    }
}

fn cut_read(tree: &Tree, steps: Vec<EntrySelection>) -> CutRead {
    let columns: Vec<usize> = readable(tree);
    let cut = columns.iter().position(|column| *column == number(tree)).unwrap();
    let query = CutQuery {
        tables: vec![tree.table()],
        groups: (0..columns.len()).map(|column| vec![column]).collect(),
        columns: columns.into_iter().map(|column| (0, column.into())).collect(),
        cut: vec![cut],
    };
    let mut never = never();
    CutRead::new(&query, steps, options(ALWAYS), &mut Call::new(Deadline::default(), &mut never)).unwrap()
}

#[test]
fn over_distance_a_step_is_cut_before_the_last_one_is_complete() {
    for (distant, expected) in [(false, "12121212"), (true, "11212122")] {
        let tree = mixed(distant);
        let mut read = cut_read(&tree, (0..4).map(|step| (step * 100..step * 100 + 100).into()).collect());
        let mut stages = String::new();
        while let Some(stage) = read.next(call!()) {
            match stage.unwrap() {
                CutStage::First { entries, .. } => {
                    stages.push('1');
                    read.cut(Some(&vec![false; entries.len()]), call!()).unwrap();
                }
                CutStage::Second { columns, passing } => {
                    stages.push('2');
                    assert!(passing && columns.iter().all(|column| column.length == 0));
                }
            }
        }
        assert_eq!(stages, expected);
    }
}

#[test]
fn chosen_entries_are_cut_in_their_order() {
    let tree = mixed(true);
    let chosen = EntrySelection { within: 0..500, chosen: Some(vec![400, 3, 400, 77]) };
    let mut read = cut_read(&tree, vec![chosen.clone()]);
    let Some(Ok(CutStage::First { entries, columns })) = read.next(call!()) else { panic!() };
    assert_eq!((entries, columns[0].buffers[0].view::<i32>()), (chosen, &[1100, -91, 1100, 131][..]));
    read.cut(Some(&[true, false, true, true]), call!()).unwrap();
    let Some(Ok(CutStage::Second { columns, passing })) = read.next(call!()) else { panic!() };
    assert!(passing && columns.iter().all(|column| column.length == 3));
    assert!(read.next(call!()).is_none());
}

#[test]
fn a_mask_that_is_missing_or_does_not_fit_is_refused() {
    let tree = mixed(false);
    let mut read = cut_read(&tree, vec![(0..500).into()]);
    assert_eq!(read.cut(Some(&[]), call!()).unwrap_err().kind(), ErrorKind::Usage);
    let mut read = cut_read(&tree, vec![(0..500).into()]);
    read.next(call!()).unwrap().unwrap();
    assert_eq!(read.next(call!()).unwrap().unwrap_err().kind(), ErrorKind::Usage);
    assert!(read.next(call!()).is_none());
    let mut read = cut_read(&tree, vec![(0..500).into()]);
    read.next(call!()).unwrap().unwrap();
    assert_eq!(read.cut(Some(&[true]), call!()).unwrap_err().kind(), ErrorKind::Usage);
    assert!(read.next(call!()).is_none());
}

#[test]
fn a_cut_that_fails_ends_the_scan() {
    let tree = mixed(true);
    let (mut never, columns) = (never(), readable(&tree));
    let mut call = Call::new(Deadline::default(), &mut never);
    for wrong in [|_: &[Column]| Err(Error::usage("no")), |_: &[Column]| Ok(vec![true])] {
        let steps = vec![0..100, 100..200];
        let mut scan =
            tree.scan_where(&columns, steps, &columns[..1], wrong, options(ALWAYS), &mut call).unwrap();
        assert_eq!(scan.next(&mut call).unwrap().unwrap_err().kind(), ErrorKind::Usage);
        assert!(scan.next(&mut call).is_none());
    }
}

#[test]
fn a_cut_can_be_interrupted() {
    let tree = mixed(true);
    let mut read = cut_read(&tree, vec![(0..500).into()]);
    let error = read.next(&mut Call::new(Deadline::default(), &mut || true)).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(read.next(call!()).is_none());
}
