//! What is damaged, missing or late ends in a typed error, in time; values are never wrong without one.

use super::expect::{THREADS, is_same, unwrapped};
use super::probe::{Access, Fault, ProbedTable};
use super::subject::Subject;
use super::values::{read, read_entries, scan};
use sapwood_core::{Call, Column, Deadline, ErrorKind, Result};
use sapwood_table::{Chunk, EntryRead, Lazy, LazyOptions, Scan, Selection, Table};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Chunks that are damaged, of each table.
const DAMAGED: usize = 60;
/// How long a read may wait for a source that hangs.
const PATIENCE: Duration = Duration::from_millis(100);
/// How late it may be to say so, on a busy machine.
const LATE: Duration = Duration::from_secs(20);

/// The kinds of errors that damage may cause; any other would hide where the fault is.
fn is_about_the_file(kind: ErrorKind) -> bool {
    use ErrorKind::{Checksum, Corrupt, Limit, Truncated, Unsupported};
    matches!(kind, Checksum | Corrupt | Limit | Truncated | Unsupported)
}

/// The chunks of the columns, at most this many of them, with the columns that need them.
pub(super) fn chunks(subject: &Subject, most: usize) -> Vec<(Chunk, Vec<usize>)> {
    let mut chunks: BTreeMap<_, (Chunk, Vec<usize>)> = BTreeMap::new();
    for (place, (column, _)) in subject.columns.iter().enumerate() {
        let plan = subject.table.plan(&Selection::whole(*column), &subject.entries());
        let plan = unwrapped(plan, &subject.name);
        for chunk in plan.chunks().iter().filter(|chunk| chunk.is_stored()) {
            let places = &mut chunks.entry(chunk.id()).or_insert_with(|| (chunk.clone(), Vec::new())).1;
            places.push(place);
            places.dedup();
        }
    }
    let step = chunks.len().div_ceil(most).max(1);
    chunks.into_values().step_by(step).collect()
}

/// Reads columns through a broken source: what is returned must be right where damage is noticed.
fn judge(subject: &Subject, places: &[usize], access: Access, noticed: bool) {
    let columns: Vec<usize> = places.iter().map(|place| subject.columns[*place].0).collect();
    let entries = subject.entries();
    let what = format!("{}: columns {columns:?} with {access:?}", subject.name);
    let third = entries.end / 3;
    let table = ProbedTable::new(subject, access);
    let parts = scan(&table, &columns, &[0..third, third..entries.end]);
    let scanned = parts.and_then(|parts| {
        (0..columns.len())
            .map(|column| Column::concat(parts.iter().map(|part| part[column].clone()).collect()))
            .collect()
    });
    let table = ProbedTable::new(subject, access);
    for read in [read(&table, &columns, entries), scanned] {
        match read {
            Err(error) => assert!(is_about_the_file(error.kind()), "{what}: {error:?}"),
            Ok(read) if noticed => {
                for (column, place) in read.iter().zip(places) {
                    assert!(is_same(column, &subject.columns[*place].1), "{what}: wrong values");
                }
            }
            Ok(_) => {}
        }
    }
    let list: Vec<u64> = (0..subject.table.entries()).step_by(3).collect();
    let table = ProbedTable::new(subject, access);
    if subject.complete().len() == subject.columns.len()
        && let Err(error) = read_entries(&table, &columns, &list)
    {
        assert!(is_about_the_file(error.kind()), "{what}: {error:?}");
    }
}

/// Each chunk is damaged in turn: at its begin, in the middle, and at its end.
pub(super) fn damaged_chunks(subject: &Subject) {
    let accesses = Access::all(&*subject.table);
    for (number, (chunk, places)) in chunks(subject, DAMAGED).iter().enumerate() {
        for (turn, place) in [0, chunk.range.len / 2, chunk.range.len - 1].into_iter().enumerate() {
            let fault = Fault::Flip(chunk.file, chunk.range.start + place);
            let access = accesses[(number + turn) % accesses.len()];
            judge(subject, places, access.with(fault), subject.checksums);
        }
    }
}

/// Files that end within each chunk.
pub(super) fn truncated_files(subject: &Subject) {
    let accesses = Access::all(&*subject.table);
    for (number, (chunk, places)) in chunks(subject, DAMAGED / 2).iter().enumerate() {
        let fault = Fault::Truncate(chunk.file, chunk.range.end() - 1);
        judge(subject, places, accesses[number % accesses.len()].with(fault), true);
        let fault = Fault::Truncate(chunk.file, chunk.range.start / 2);
        judge(subject, places, accesses[number % accesses.len()].with(fault), true);
    }
}

/// Reads some entries in each way from a source that hangs after this many calls.
fn each_way(
    subject: &Subject,
    (entries, answered): (Range<u64>, usize),
    deadline: Duration,
    interrupt: &mut dyn FnMut() -> bool,
) -> Vec<Result<()>> {
    let columns = subject.indices();
    let table = || ProbedTable::new(subject, Access::SPARING.with(Fault::Hang(answered))) as Arc<dyn Table>;
    let list: Vec<u64> = entries.clone().collect();
    let mut call = Call::new(Deadline::after(deadline), interrupt);
    let read = sapwood_table::read(&table(), &columns, entries.clone(), THREADS, &mut call);
    let mut call = Call::new(Deadline::after(deadline), interrupt);
    let scan = Scan::new(table(), &columns, vec![entries.clone()], THREADS, &mut call)
        .and_then(|mut scan| scan.next(&mut call).unwrap_or(Ok(Vec::new())));
    let mut ways = vec![read.map(drop), scan.map(drop)];
    if subject.complete().len() == columns.len() {
        let mut call = Call::new(Deadline::after(deadline), interrupt);
        let start = EntryRead::start(table(), &columns, &list, entries.clone(), THREADS, &mut call);
        ways.push(start.and_then(|read| read.finish(&mut call)).map(drop));
    }
    let mut call = Call::new(Deadline::after(deadline), interrupt);
    let options = LazyOptions { entries: Some(entries), threads: THREADS, ..LazyOptions::default() };
    let touched = Lazy::new(table(), &columns, options, &mut call).and_then(|lazy| {
        let all: Vec<usize> = (0..columns.len()).collect();
        (0..lazy.windows().len()).try_for_each(|window| lazy.touch(&all, window, &mut call))
    });
    ways.push(touched);
    ways
}

/// Reads in each way end with such an error, soon: at once, or when the source hangs that answered a call or two.
fn assert_ends(
    subject: &Subject,
    expected: ErrorKind,
    deadline: Duration,
    interrupt: &mut dyn FnMut() -> bool,
) {
    if chunks(subject, 1).is_empty() {
        return;
    }
    let begin = Instant::now();
    let all = subject.entries();
    for answered in 0..3 {
        // Where not all entries of a cluster are wanted, there may be a second call for chunks.
        let entries = if answered == 0 { all.clone() } else { all.end / 3..all.end - all.end / 5 };
        for (way, outcome) in
            each_way(subject, (entries, answered), deadline, interrupt).into_iter().enumerate()
        {
            let kind = outcome.map_err(|error| error.kind());
            let what = format!("{}, way {way}, {answered} calls answered: {kind:?}", subject.name);
            assert!(kind == Err(expected) || (answered > 0 && kind.is_ok()), "{what}");
        }
    }
    assert!(begin.elapsed() < LATE, "{}: {:?} of waiting", subject.name, begin.elapsed());
}

/// A source that never answers costs no more than the deadline says.
pub(super) fn sources_that_hang(subject: &Subject) {
    assert_ends(subject, ErrorKind::Timeout, PATIENCE, &mut || false);
}

/// An interruption ends the wait soon.
pub(super) fn interrupted_reads(subject: &Subject) {
    assert_ends(subject, ErrorKind::Cancelled, Duration::from_secs(600), &mut || true);
}
