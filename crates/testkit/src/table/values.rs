//! However a table is read, the values are the same.

use super::expect::{THREADS, assert_same, call, part, taken, unwrapped};
use super::probe::{Access, ProbedTable, SLOW};
use super::subject::Subject;
use sapwood_core::{Column, Form, Result};
use sapwood_table::{EntryRead, Lazy, LazyOptions, Query, Scan, Table, member};
use std::ops::Range;
use std::sync::Arc;

/// Every range is read of tables with at most this many entries.
const EVERY_RANGE: u64 = 14;
/// The number of ranges that are read of larger tables, and of all tables.
const RANGES: usize = 24;

pub(super) fn read<Q: Into<Query> + Clone>(
    table: &Arc<ProbedTable>,
    queries: &[Q],
    entries: Range<u64>,
) -> Result<Vec<Column>> {
    let table = Arc::clone(table) as Arc<dyn Table>;
    sapwood_table::read(&table, queries, entries, THREADS, &mut call(&mut || false))
}

pub(super) fn read_entries(
    table: &Arc<ProbedTable>,
    columns: &[usize],
    entries: &[u64],
) -> Result<Vec<Column>> {
    let within = 0..table.entries();
    let table = Arc::clone(table) as Arc<dyn Table>;
    let read = EntryRead::start(table, columns, entries, within, THREADS, &mut call(&mut || false))?;
    read.finish(&mut call(&mut || false))
}

/// The columns of each range.
pub(super) fn scan(
    table: &Arc<ProbedTable>,
    columns: &[usize],
    ranges: &[Range<u64>],
) -> Result<Vec<Vec<Column>>> {
    let table = Arc::clone(table) as Arc<dyn Table>;
    let mut scan = Scan::new(table, columns, ranges.to_vec(), THREADS, &mut call(&mut || false))?;
    std::iter::from_fn(|| scan.next(&mut call(&mut || false))).collect()
}

pub(super) fn whole_columns(subject: &Subject) {
    let all = subject.entries();
    for access in Access::all(&*subject.table) {
        let together = ProbedTable::new(subject, access);
        let what = format!("{}, {access:?}: all columns", subject.name);
        let columns = unwrapped(read(&together, &subject.indices(), all.clone()), &what);
        for (column, (index, whole)) in columns.iter().zip(&subject.columns) {
            let what = format!("{}, {access:?}: column {index}", subject.name);
            assert_same(column, whole, &format!("{what} with the others"));
            let alone = ProbedTable::new(subject, access);
            let column = unwrapped(read(&alone, &[*index], all.clone()), &what).remove(0);
            assert_same(&column, whole, &format!("{what} alone"));
            assert_eq!(alone.counters.snapshot().unplanned_reads, 0, "{what}");
        }
    }
}

pub(super) fn entry_ranges(subject: &Subject) {
    let entries = subject.table.entries();
    let mut ranges = Vec::new();
    if entries <= EVERY_RANGE {
        ranges.extend((0..=entries).flat_map(|start| (start..=entries).map(move |end| start..end)));
    }
    let mut random = fastrand::Rng::with_seed(entries);
    ranges.extend((0..RANGES).map(|_| {
        let start = random.u64(0..=entries);
        start..random.u64(start..=entries)
    }));
    for pair in subject.table.cluster_starts().windows(2).take(RANGES) {
        // A whole cluster, and what is on both sides of its begin.
        ranges.extend([pair[0]..pair[1], pair[0].saturating_sub(1)..(pair[0] + 1).min(entries)]);
    }
    for access in Access::all(&*subject.table) {
        let table = ProbedTable::new(subject, access);
        for range in &ranges {
            let what = format!("{}, {access:?}: entries {range:?}", subject.name);
            let columns = unwrapped(read(&table, &subject.indices(), range.clone()), &what);
            for (column, (index, whole)) in columns.iter().zip(&subject.columns) {
                assert_same(column, &part(whole, range), &format!("{what} of column {index}"));
            }
        }
    }
}

/// Reads each member of the objects in the columns, alone, with another, and with the whole column.
pub(super) fn members(subject: &Subject) {
    let entries = subject.table.entries();
    let range = entries / 3..entries - entries / 4;
    for (column, whole) in &subject.columns {
        let names = member_names(&whole.form);
        let single = names.iter().map(|name| vec![Query::from((*column, name.as_str()))]);
        let mut reads: Vec<Vec<Query>> = single.collect();
        reads.extend(names.first().zip(names.last()).map(|(first, last)| {
            vec![
                (*column, last.as_str()).into(),
                (*column, first.as_str()).into(),
                (*column, last.as_str()).into(),
            ]
        }));
        reads.extend(names.last().map(|name| vec![(*column, name.as_str()).into(), (*column).into()]));
        for (queries, access) in reads
            .iter()
            .flat_map(|queries| Access::all(&*subject.table).into_iter().map(move |access| (queries, access)))
        {
            let table = ProbedTable::new(subject, access);
            let what = format!("{}, {access:?}: {queries:?}", subject.name);
            for (read, query) in unwrapped(read(&table, queries, range.clone()), &what).iter().zip(queries) {
                let path: Vec<String> =
                    query.member.split('.').filter(|name| !name.is_empty()).map(str::to_owned).collect();
                let expected = unwrapped(member(&part(whole, &range), &path), &what);
                assert_same(read, &expected, &what);
            }
        }
    }
}

/// The members of the objects in a form.
fn member_names(form: &Form) -> Vec<String> {
    match form {
        Form::List(content) | Form::Option(content) | Form::Fixed { content, .. } => member_names(content),
        Form::Record { fields, .. } => fields.iter().map(|field| field.name.clone()).take(6).collect(),
        _ => Vec::new(),
    }
}

/// Lists of entries: none, all, single ones, at the borders of clusters, with gaps, backwards, several times.
pub(super) fn lists(table: &dyn Table) -> Vec<Vec<u64>> {
    let entries = table.entries();
    let Some(last) = entries.checked_sub(1) else { return vec![Vec::new()] };
    let mut random = fastrand::Rng::with_seed(entries);
    let starts = table.cluster_starts().iter().copied().filter(|start| *start < entries);
    vec![
        Vec::new(),
        (0..entries).collect(),
        (0..entries).rev().collect(),
        vec![0],
        vec![last],
        vec![last, 0, last, last, 0],
        (0..entries).step_by(7).collect(),
        starts.flat_map(|start| [start, start.saturating_sub(1)]).collect(),
        (0..40).map(|_| random.u64(0..entries)).collect(),
    ]
}

pub(super) fn entry_lists(subject: &Subject) {
    let complete = subject.complete();
    let columns: Vec<usize> = complete.iter().map(|(index, _)| *index).collect();
    for access in Access::all(&*subject.table) {
        let table = ProbedTable::new(subject, access);
        for list in lists(&*subject.table) {
            let what = format!("{}, {access:?}: entries {list:?}", subject.name);
            let read = unwrapped(read_entries(&table, &columns, &list), &what);
            for (column, (index, whole)) in read.iter().zip(&complete) {
                let expected = taken(whole, list.iter().copied());
                assert_same(column, &expected, &format!("{what} of column {index}"));
            }
        }
    }
}

/// Steps that cut clusters anywhere, some of no entries; of one entry; backwards; with gaps.
pub(super) fn steps(entries: u64) -> Vec<Vec<Range<u64>>> {
    let every = |step: u64| -> Vec<Range<u64>> {
        let starts = (0..entries).step_by(step.max(1) as usize);
        starts.map(|start| start..(start + step.max(1)).min(entries)).collect()
    };
    let (tenth, third) = (entries / 10, entries / 3);
    let uneven = vec![0..tenth, tenth..third, third..third, third..entries - tenth, entries - tenth..entries];
    let gaps = every(entries / 9 + 1).into_iter().step_by(2).collect();
    let backwards = every(entries / 5 + 1).into_iter().rev().collect();
    vec![uneven, every(entries / 20 + 1), every(entries / 4 + 1), gaps, backwards, Vec::new()]
}

pub(super) fn scans(subject: &Subject) {
    for access in Access::all(&*subject.table) {
        for steps in steps(subject.table.entries()) {
            let table = ProbedTable::new(subject, access);
            let what = format!("{}, {access:?}: a scan of {steps:?}", subject.name);
            let read = unwrapped(scan(&table, &subject.indices(), &steps), &what);
            assert_eq!(read.len(), steps.len(), "{what}");
            for (columns, range) in read.iter().zip(&steps) {
                for (column, (index, whole)) in columns.iter().zip(&subject.columns) {
                    assert_same(column, &part(whole, range), &format!("{what}, {range:?} of column {index}"));
                }
            }
        }
    }
}

/// Windows that are touched one after the other, and again in another order; all columns, and only what is touched.
pub(super) fn lazy_readers(subject: &Subject) {
    let learning =
        LazyOptions { startup_entries: 5, memory_bytes: 4000, threads: THREADS, ..LazyOptions::default() };
    let plain = LazyOptions { startup: false, learn: false, trigger: false, ..learning.clone() };
    for access in Access::all(&*subject.table) {
        for options in [&learning, &plain] {
            let table = ProbedTable::new(subject, access) as Arc<dyn Table>;
            let what = format!("{}, {access:?}: lazily", subject.name);
            let lazy = Lazy::new(table, &subject.indices(), options.clone(), &mut call(&mut || false));
            let lazy = unwrapped(lazy, &what);
            let windows = lazy.windows().to_vec();
            let order = (0..windows.len()).chain((0..windows.len()).rev());
            for (turn, window) in order.enumerate() {
                for (query, (index, whole)) in subject.columns.iter().enumerate() {
                    if (turn + query) % 3 == 2 {
                        continue;
                    }
                    let column = unwrapped(lazy.column(query, window, &mut call(&mut || false)), &what);
                    let what = format!("{what}, window {:?} of column {index}", windows[window]);
                    assert_same(&column, &part(whole, &windows[window]), &what);
                }
                lazy.release(window);
            }
        }
    }
}

/// A lazy reader whose windows are read by several threads, each while the one before is being read.
pub(super) fn lazy_windows_side_by_side(subject: &Subject) {
    let options =
        LazyOptions { startup_entries: 5, memory_bytes: 16_000, threads: THREADS, ..LazyOptions::default() };
    let near = |access: &Access| !access.is_distant();
    for access in Access::all(&*subject.table).into_iter().filter(near).map(Access::slow) {
        let table = ProbedTable::new(subject, access) as Arc<dyn Table>;
        let what = format!("{}, {access:?}: windows side by side", subject.name);
        let lazy = Lazy::new(table, &subject.indices(), options.clone(), &mut call(&mut || false));
        let lazy = &unwrapped(lazy, &what);
        let windows = lazy.windows();
        let compare = |window: usize| {
            for (query, (index, whole)) in subject.columns.iter().enumerate() {
                let column = unwrapped(lazy.column(query, window, &mut call(&mut || false)), &what);
                let what = format!("{what}, window {:?} of column {index}", windows[window]);
                assert_same(&column, &part(whole, &windows[window]), &what);
            }
            lazy.release(window);
        };
        std::thread::scope(|scope| {
            for window in 0..windows.len() {
                scope.spawn(move || compare(window));
                std::thread::sleep(SLOW);
            }
        });
    }
}
