//! What is damaged, missing or late ends in a typed error, in time; values are never wrong without one.

use super::probe::{Access, Fault, ProbedTable};
use super::values::{read, read_entries, scan};
use super::{Subject, THREADS, is_same, unwrapped};
use sapwood_core::{Call, Column, Deadline, ErrorKind, Result};
use sapwood_table::{Chunk, EntryRead, Lazy, LazyOptions, Scan, Selection, Table};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Chunks that are damaged, of each table.
const DAMAGED: usize = 60;
/// How long a read may wait for a source that hangs.
const PATIENCE: Duration = Duration::from_millis(150);
/// How late it may be to say so, on a busy machine.
const LATE: Duration = Duration::from_secs(20);

/// The kinds of errors that damage may cause; any other would hide where the fault is.
fn is_about_the_file(kind: ErrorKind) -> bool {
    use ErrorKind::{Checksum, Corrupt, Limit, Truncated, Unsupported};
    matches!(kind, Checksum | Corrupt | Limit | Truncated | Unsupported)
}

/// The chunks of the columns, at most so many of them, with the columns that need them.
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
    let table = ProbedTable::new(&subject.table, access);
    let parts = scan(&table, &columns, &[0..third, third..entries.end]);
    let scanned = parts.and_then(|parts| {
        (0..columns.len())
            .map(|column| Column::concat(parts.iter().map(|part| part[column].clone()).collect()))
            .collect()
    });
    let table = ProbedTable::new(&subject.table, access);
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
    let table = ProbedTable::new(&subject.table, access);
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

/// A read, a scan, a list of entries, and a lazy reader; none if nothing has to be fetched.
fn each_way(subject: &Subject, deadline: Duration, interrupt: &mut dyn FnMut() -> bool) -> Vec<Result<()>> {
    if chunks(subject, 1).is_empty() {
        return Vec::new();
    }
    let columns = subject.indices();
    let complete: Vec<usize> = subject.complete().iter().map(|(index, _)| *index).collect();
    let table = || ProbedTable::new(&subject.table, Access::SPARING.with(Fault::Hang)) as Arc<dyn Table>;
    let (all, list) = (subject.entries(), subject.entries().collect::<Vec<_>>());
    let mut call = Call::new(Deadline::after(deadline), interrupt);
    let read = sapwood_table::read(&table(), &columns, all.clone(), THREADS, &mut call);
    let mut call = Call::new(Deadline::after(deadline), interrupt);
    let scan = Scan::new(table(), &columns, vec![all.clone()], THREADS, &mut call)
        .and_then(|mut scan| scan.next(interrupt).unwrap_or(Ok(Vec::new())));
    let mut ways = vec![read.map(drop), scan.map(drop)];
    if complete == columns {
        let mut call = Call::new(Deadline::after(deadline), interrupt);
        let start = EntryRead::start(table(), &complete, &list, all, THREADS, &mut call);
        ways.push(start.and_then(|read| read.finish(&mut call)).map(drop));
    }
    let mut call = Call::new(Deadline::after(deadline), interrupt);
    let lazy =
        Lazy::new(table(), &columns, LazyOptions { threads: THREADS, ..LazyOptions::default() }, &mut call);
    let touched = lazy.and_then(|lazy| {
        let windows = 0..lazy.windows().len();
        let all: Vec<usize> = (0..columns.len()).collect();
        windows.into_iter().try_for_each(|window| lazy.touch(&all, window, &mut call))
    });
    ways.push(touched);
    ways
}

/// A source that never answers costs no more than the deadline says.
pub(super) fn sources_that_hang(subject: &Subject) {
    let begin = Instant::now();
    for (way, outcome) in each_way(subject, PATIENCE, &mut || false).into_iter().enumerate() {
        let kind = outcome.err().map(|error| error.kind());
        assert_eq!(kind, Some(ErrorKind::Timeout), "{}, way {way}", subject.name);
    }
    assert!(begin.elapsed() < LATE, "{}: {:?} of waiting", subject.name, begin.elapsed());
}

/// An interruption ends the wait soon.
pub(super) fn interrupted_reads(subject: &Subject) {
    let begin = Instant::now();
    for (way, outcome) in each_way(subject, Duration::from_secs(600), &mut || true).into_iter().enumerate() {
        let kind = outcome.err().map(|error| error.kind());
        assert_eq!(kind, Some(ErrorKind::Cancelled), "{}, way {way}", subject.name);
    }
    assert!(begin.elapsed() < LATE, "{}: {:?} of waiting", subject.name, begin.elapsed());
}
