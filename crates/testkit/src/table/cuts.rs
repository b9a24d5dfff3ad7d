//! A cut read in two stages gives what a whole read and a mask give.

use super::expect::{THREADS, assert_same, call, part, taken, unwrapped};
use super::probe::{Access, ProbedTable};
use super::subject::Subject;
use super::values::{lists, steps};
use sapwood_core::{Column, Result};
use sapwood_table::{CutCosts, CutOptions, CutQuery, CutRead, CutStage, EntrySelection, Table};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Two stages wherever that is possible, however few the bytes and however many the passing entries.
const TWO_STAGES: CutCosts = CutCosts { least_bytes: 0, many_percent: 200 };

/// The columns of a step by their place in the query, and whether each holds the passing entries only.
type CutColumns = BTreeMap<usize, (Column, bool)>;

/// Reads columns in two stages, the first of them as what the cut needs. Returns the places of those that came in the
/// first stage, and the columns of each step.
pub(super) fn read_cut(
    table: &Arc<ProbedTable>,
    columns: &[usize],
    steps: &[EntrySelection],
    mask: &[bool],
) -> Result<(Vec<usize>, Vec<CutColumns>)> {
    let query = CutQuery {
        tables: vec![Arc::clone(table) as Arc<dyn Table>],
        columns: columns.iter().map(|column| (0, (*column).into())).collect(),
        cut: vec![0],
        groups: (1..columns.len()).map(|column| vec![column]).collect(),
    };
    let options = CutOptions { threads: THREADS, costs: TWO_STAGES, ..CutOptions::default() };
    let mut read = CutRead::new(&query, steps.to_vec(), options, &mut call(&mut || false))?;
    let (first, second) = (read.first(), read.second());
    let (mut cut, mut complete) = (Vec::<CutColumns>::new(), 0);
    while let Some(stage) = read.next(&mut call(&mut || false)) {
        match stage? {
            CutStage::First { entries, columns } => {
                let all = columns.into_iter().map(|column| (column, false));
                cut.push(first.iter().copied().zip(all).collect());
                if !second.is_empty() {
                    let mask: Vec<bool> = numbers(&entries).map(|entry| mask[entry as usize]).collect();
                    read.cut(Some(&mask), &mut call(&mut || false))?;
                }
            }
            CutStage::Second { columns, passing } => {
                let columns = columns.into_iter().map(|column| (column, passing));
                cut[complete].extend(second.iter().copied().zip(columns));
                complete += 1;
            }
        }
    }
    Ok((first, cut))
}

fn numbers(entries: &EntrySelection) -> Box<dyn Iterator<Item = u64> + '_> {
    match &entries.chosen {
        Some(chosen) => Box::new(chosen.iter().copied()),
        None => Box::new(entries.within.clone()),
    }
}

/// Masks of all entries: clusters that pass wholly, not at all and in part; none, all, every fifth and a single entry.
pub(super) fn masks(table: &dyn Table) -> Vec<Vec<bool>> {
    let (entries, starts) = (table.entries(), table.cluster_starts());
    let cluster = |entry: u64| starts.partition_point(|start| *start <= entry);
    let mask = |passes: &dyn Fn(u64) -> bool| (0..entries).map(passes).collect();
    vec![
        mask(&|entry| [true, entry % 7 == 3, false][cluster(entry) % 3]),
        mask(&|_| false),
        mask(&|_| true),
        mask(&|entry| entry % 5 == 1),
        mask(&|entry| entry == entries / 2),
    ]
}

/// Cuts a whole read, ranges with gaps and of no entries, and lists of entries.
pub(super) fn cuts(subject: &Subject) {
    let all: Vec<(usize, &Column)> = subject.columns.iter().map(|(index, column)| (*index, column)).collect();
    let of_ranges = |ranges: Vec<_>| ranges.into_iter().map(EntrySelection::from).collect::<Vec<_>>();
    let mut reads = vec![(&all, of_ranges(vec![subject.entries()]))];
    let kinds = steps(subject.table.entries()).into_iter().step_by(3);
    reads.extend(kinds.map(|ranges| (&all, of_ranges(ranges))));
    let complete = subject.complete();
    let lists = lists(&*subject.table).into_iter().rev().step_by(3);
    let within = subject.entries();
    let listed = lists.map(|list| EntrySelection { within: within.clone(), chosen: Some(list) });
    reads.push((&complete, listed.collect()));
    for (columns, steps) in reads.iter().filter(|(columns, _)| !columns.is_empty()) {
        let masks = masks(&*subject.table).into_iter().enumerate();
        for (access, (number, mask)) in masks.flat_map(|mask| {
            Access::all(&*subject.table).into_iter().map(move |access| (access, mask.clone()))
        }) {
            let what = format!("{}, {access:?}: mask {number} of {steps:?}", subject.name);
            cut(subject, access, columns, steps, &mask, &what);
        }
    }
}

fn cut(
    subject: &Subject,
    access: Access,
    columns: &[(usize, &Column)],
    steps: &[EntrySelection],
    mask: &[bool],
    what: &str,
) {
    let table = ProbedTable::new(subject, access);
    let indices: Vec<usize> = columns.iter().map(|(index, _)| *index).collect();
    let (_, read) = unwrapped(read_cut(&table, &indices, steps, mask), what);
    assert_eq!(read.len(), steps.len(), "{what}");
    for (read, step) in read.iter().zip(steps) {
        assert_eq!(read.len(), columns.len(), "{what}");
        for (place, (column, passing)) in read {
            let (index, whole) = columns[*place];
            let expected = match &step.chosen {
                _ if *passing => taken(whole, numbers(step).filter(|entry| mask[*entry as usize])),
                Some(chosen) => taken(whole, chosen.iter().copied()),
                None => part(whole, &step.within),
            };
            assert_same(column, &expected, &format!("{what}, {step:?} of column {index}"));
        }
    }
}
