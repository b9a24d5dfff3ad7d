//! What is fetched: each chunk once, and no other than those that are needed.

use super::cuts::{masks, read_cut};
use super::expect::{THREADS, call, unwrapped};
use super::faults::chunks;
use super::probe::{Access, ProbedTable};
use super::subject::Subject;
use super::values::{read, read_entries, scan, steps};
use sapwood_core::{ByteRange, Result};
use sapwood_table::pool::wait;
use sapwood_table::{Chunk, ChunkContent, ChunkId, FileIndex, Lazy, LazyOptions, Selection, Table};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// The bytes of all chunks of the columns, each counted once.
fn stored_bytes(subject: &Subject) -> u64 {
    let chunks = chunks(subject, usize::MAX).into_iter();
    chunks.map(|(chunk, _)| chunk.range.len).sum()
}

/// However a distant table is read.
pub(super) fn chunks_are_fetched_once(subject: &Subject) {
    let (columns, all) = (subject.indices(), subject.entries());
    let complete: Vec<usize> = subject.complete().iter().map(|(index, _)| *index).collect();
    let stored = stored_bytes(subject);
    for access in [Access::SPARING, Access::GENEROUS, Access::NARROW] {
        let once = |kind: &str, work: &dyn Fn(&Arc<ProbedTable>) -> Result<()>| {
            let what = format!("{}, {access:?}: {kind}", subject.name);
            let table = ProbedTable::new(subject, access);
            unwrapped(work(&table), &what);
            let counted = table.counters.snapshot();
            assert!(
                counted.wanted_bytes <= stored,
                "{what}: {} bytes of {stored}: {:?}",
                counted.wanted_bytes,
                table.asked()
            );
            assert_eq!(counted.unplanned_reads, 0, "{what}");
        };
        once("a read", &|table| read(table, &columns, all.clone()).map(drop));
        for steps in steps(all.end).iter().filter(|steps| steps.is_sorted_by_key(|step| step.start)) {
            once(&format!("a scan of {steps:?}"), &|table| scan(table, &columns, steps).map(drop));
        }
        for step in [1, 5] {
            let list: Vec<u64> = all.clone().step_by(step).collect();
            once("a list of entries", &|table| read_entries(table, &complete, &list).map(drop));
        }
        once("a lazy reader", &|table| {
            let table = Arc::clone(table) as Arc<dyn Table>;
            let options = LazyOptions { startup_entries: 5, threads: THREADS, ..LazyOptions::default() };
            let lazy = Lazy::new(table, &columns, options, &mut call(&mut || false))?;
            (0..lazy.windows().len()).try_for_each(|window| {
                let queries = (0..columns.len())
                    .try_for_each(|query| lazy.column(query, window, &mut call(&mut || false)).map(drop));
                lazy.release(window);
                queries
            })
        });
    }
}

/// Columns with the same offsets key that are read at once from a source that never waits.
pub(super) fn index_chunks_of_several_columns_are_fetched_once(subject: &Subject) {
    if !subject.table.fetcher(0).source().cost_model().immediate {
        return;
    }
    let all = subject.entries();
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for column in subject.indices() {
        let plan = unwrapped(subject.table.plan(&Selection::whole(column), &all), &subject.name);
        groups.entry(plan.offsets_key().unwrap_or(usize::MAX)).or_default().push(column);
    }
    groups.remove(&usize::MAX);
    for columns in groups.into_values() {
        let what = format!("{}: the columns {columns:?}", subject.name);
        let table = ProbedTable::new(subject, Access::NEAR);
        unwrapped(read(&table, &columns, all.clone()), &what);
        let asked = table.asked();
        for chunk in unwrapped(subject.table.chunks(&Selection::whole(columns[0]), &all), &what) {
            let holds = |(file, range): &&(FileIndex, ByteRange)| {
                *file == chunk.file && range.start <= chunk.range.start && chunk.range.end() <= range.end()
            };
            let times = asked.iter().filter(holds).count();
            assert!(times <= 1 || !chunk.index, "{what}: {chunk:?} was fetched {times} times");
        }
    }
}

/// A scan in ranges that follow each other, and end inside chunks, decompresses each chunk once for all of them.
pub(super) fn chunks_are_decompressed_once(subject: &Subject) {
    for access in Access::all(&*subject.table) {
        let follow = |steps: &Vec<Range<u64>>| steps.is_sorted_by(|one, next| one.end == next.start);
        for steps in steps(subject.table.entries()).iter().filter(|steps| follow(steps)) {
            for column in subject.indices() {
                let what = format!("{}, {access:?}: column {column} in {steps:?}", subject.name);
                let table = ProbedTable::new(subject, access);
                unwrapped(scan(&table, &[column], steps), &what);
                let all = 0..subject.table.entries();
                for chunk in unwrapped(table.chunks(&Selection::whole(column), &all), &what) {
                    assert!(table.decompressions(&chunk) <= 1, "{what}: {chunk:?}");
                }
            }
        }
    }
}

/// A loop over a file that has to come from a disk announces the chunks of the window after each that it reads together,
/// and no others; nor does it read others.
pub(super) fn the_next_window_is_announced(subject: &Subject) {
    if !subject.table.fetcher(0).source().cost_model().immediate {
        return;
    }
    let table = ProbedTable::new(subject, Access::COLD);
    let all: Vec<usize> = (0..subject.columns.len()).collect();
    let options = LazyOptions { startup: false, memory_bytes: 8000, ..LazyOptions::default() };
    let what = format!("{}: a loop", subject.name);
    let interrupted = &mut || false;
    let lazy = Lazy::new(Arc::clone(&table) as _, &subject.indices(), options, &mut call(interrupted));
    let lazy = unwrapped(lazy, &what);
    let visited: Vec<usize> = (0..lazy.windows().len()).step_by(2).collect();
    let [first, second, ..] = visited[..] else { return };
    lazy.touch(&all, first, &mut call(&mut || false)).unwrap_or_default();
    assert!(table.announced().is_empty(), "{what}: nothing is known of what follows");
    lazy.release(first);
    lazy.expect(visited.iter().map(|window| (*window, 1.0)).collect());
    let Some(third) = visited.get(2) else { return };
    unwrapped(lazy.touch(&all, second, &mut call(&mut || false)), &what);
    let needed_in = |window: usize| {
        let (columns, entries) = (subject.indices().into_iter(), &lazy.windows()[window]);
        columns.flat_map(|column| needed(&*subject.table, column, entries.clone())).collect::<BTreeSet<_>>()
    };
    let announced: BTreeSet<_> = table.announced().into_iter().collect();
    let of_file = needed_in(*third).into_iter().filter(|(file, _)| *file == 0).collect();
    assert_eq!(announced, of_file, "{what}: window {third} is not announced");
    let visited: BTreeSet<_> = [first, second, *third].into_iter().flat_map(needed_in).collect();
    assert_only(&visited, &table, &what);
}

/// A few entries take the chunks that hold them, and those that say where they are.
pub(super) fn only_needed_chunks_are_fetched(subject: &Subject) {
    let Some(last) = subject.table.entries().checked_sub(1) else { return };
    let starts =
        subject.table.cluster_starts().windows(2).map(|pair| [pair[0], (pair[1].max(1) - 1).min(last)]);
    let mut lists: Vec<Vec<u64>> = starts.take(8).map(|ends| ends.to_vec()).collect();
    lists.extend([vec![0], vec![last], vec![last / 2], vec![0, last / 2, last]]);
    for (column, _) in subject.complete() {
        for list in &lists {
            let what = format!("{}: the entries {list:?} of column {column}", subject.name);
            let needed: BTreeSet<_> =
                list.iter().flat_map(|entry| needed(&*subject.table, column, *entry..*entry + 1)).collect();
            let table = ProbedTable::new(subject, Access::SPARING);
            unwrapped(read_entries(&table, &[column], list), &what);
            assert_only(&needed, &table, &what);
        }
    }
}

/// A cut takes the chunks of the first stage, and of the others those that hold passing entries.
pub(super) fn only_passing_chunks_are_fetched(subject: &Subject) {
    let complete: Vec<usize> = subject.complete().iter().map(|(index, _)| *index).collect();
    if complete.is_empty() {
        return;
    }
    for (number, mask) in masks(&*subject.table).iter().enumerate() {
        let what = format!("{}: mask {number}", subject.name);
        let table = ProbedTable::new(subject, Access::SPARING);
        let whole = [subject.entries().into()];
        let (first, _) = unwrapped(read_cut(&table, &complete, &whole, mask), &what);
        let mut allowed = BTreeSet::new();
        for (place, column) in complete.iter().enumerate() {
            if first.contains(&place) {
                allowed.extend(needed(&*subject.table, *column, subject.entries()));
                continue;
            }
            let passing = subject.entries().zip(mask).filter(|(_, passes)| **passes);
            allowed.extend(passing.flat_map(|(entry, _)| needed(&*subject.table, *column, entry..entry + 1)));
        }
        assert_only(&allowed, &table, &what);
    }
}

/// What was asked of a table lies in these chunks: neighbors are asked for together.
fn assert_only(needed: &BTreeSet<(FileIndex, ByteRange)>, table: &ProbedTable, what: &str) {
    for (file, range) in table.asked() {
        let bytes: u64 = needed.iter().filter(|one| one.0 == file).map(|one| overlap(&one.1, &range)).sum();
        assert_eq!(bytes, range.len, "{what}: {range} of the file {file} is not needed");
    }
}

fn overlap(one: &ByteRange, other: &ByteRange) -> u64 {
    one.end().min(other.end()).saturating_sub(one.start.max(other.start))
}

/// The chunks that the plan for some entries says that it needs.
fn needed(table: &dyn Table, column: usize, entries: Range<u64>) -> Vec<(FileIndex, ByteRange)> {
    let what = format!("column {column}, entries {entries:?}");
    let plan = unwrapped(table.plan(&Selection::whole(column), &entries), &what);
    let mut index: HashMap<ChunkId, _> = HashMap::new();
    for chunk in plan.chunks().iter().filter(|chunk| chunk.index && chunk.is_stored()) {
        let fetcher = table.fetcher(chunk.file);
        let fetch = async { fetcher.fetch(&[chunk.range], call(&mut || false).deadline()).await };
        let bytes = unwrapped(wait(fetch, &mut call(&mut || false)), &what);
        index.extend(bytes.into_iter().map(|bytes| (chunk.id(), ChunkContent::Stored(bytes))));
    }
    let narrowed = unwrapped(plan.narrow(&|id| index.get(&id).cloned(), None), &what);
    let chunks: Vec<Chunk> = narrowed.unwrap_or_else(|| plan.chunks().to_vec());
    chunks.iter().filter(|chunk| chunk.is_stored()).map(|chunk| (chunk.file, chunk.range)).collect()
}
