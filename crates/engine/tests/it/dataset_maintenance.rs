//! Consolidation of datasets, and the leases that keep the objects of writers.

use crate::inputs::{MIXED, open, readable};
use sapwood::dataset::{
    AddOptions, ConsolidationReport, WriteOptions, WriteReport, add, append, consolidate,
};
use sapwood::repack::Input;
use sapwood::{Column, Deadline, ErrorKind, OpenOptions, ReadOptions, Result};
use sapwood_store::Store;
use sapwood_stripe::{Change, Dataset, GcOptions, LayoutOptions, Provenance, Segment, Version, keys};
use sapwood_testkit::{InstrumentedStore, MemoryStore, StoreFault};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

const ALONE: GcOptions = GcOptions { grace: Duration::ZERO, dry_run: false, alone: true };

fn now<T>(future: impl Future<Output = Result<T>>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future).unwrap()
}

fn latest(store: &Arc<MemoryStore>) -> Dataset {
    let store = Arc::clone(store) as Arc<dyn Store>;
    now(Dataset::open(store, None, &Version::Latest, Deadline::default()))
}

fn input() -> Input {
    Input::Open(open(MIXED).unwrap())
}

/// A dataset to which a file was appended this many times.
fn in_pieces(pieces: usize) -> Arc<MemoryStore> {
    in_batches(pieces, None)
}

fn in_batches(pieces: usize, batch: Option<u64>) -> Arc<MemoryStore> {
    in_layout(pieces, &LayoutOptions { batch, ..LayoutOptions::default() })
}

fn in_layout(pieces: usize, layout: &LayoutOptions) -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new("memory:care"));
    let handle = Arc::clone(&store) as Arc<dyn Store>;
    let mut dataset = now(Dataset::create(handle, None, "tree", Provenance::default(), Deadline::default()));
    let options = WriteOptions { layout: layout.clone(), ..WriteOptions::default() };
    for _ in 0..pieces {
        dataset = append(&dataset, &[input()], &options, call!()).unwrap().dataset;
    }
    store
}

/// Another store with the same objects.
fn copy(store: &MemoryStore) -> Arc<MemoryStore> {
    let copy = Arc::new(MemoryStore::new("memory:care"));
    for object in now(store.list("", Deadline::default())) {
        let content = now(store.get(&object.key, None, Deadline::default()));
        now(copy.put(&object.key, content, Deadline::default()));
    }
    copy
}

/// The values of all columns that can be read.
fn values(dataset: &Dataset) -> BTreeMap<String, Column> {
    let file = sapwood::dataset::file_of_dataset(dataset, &OpenOptions::default(), call!()).unwrap();
    let tree = file.tree("tree", None, call!()).unwrap();
    let columns = readable(&tree).into_iter().map(|branch| {
        let read = tree.read(&[branch], 0..tree.entries(), &ReadOptions::default(), call!());
        (tree.ttree().unwrap().branches()[branch].path.clone(), read.unwrap().remove(0))
    });
    columns.collect()
}

fn larger(dataset: &Dataset) -> Result<ConsolidationReport> {
    consolidate(dataset, None, &WriteOptions::default(), false, call!())
}

#[test]
fn pieces_become_one_segment_with_the_same_values() {
    let store = in_batches(6, Some(7));
    let before = latest(&store);
    let wanted = values(&before);
    let would = consolidate(&before, None, &WriteOptions::default(), true, call!()).unwrap();
    assert_eq!((would.segments, would.version, latest(&store).version()), ((6, 1), 7, 7));
    let done = larger(&before).unwrap();
    assert_eq!((done.segments, done.version, done.notes), ((6, 1), 8, vec![]));
    assert!(2 * done.objects.1 <= done.objects.0, "{:?}", done.objects);
    let after = latest(&store);
    assert_eq!(after.snapshot().segments.len(), 1);
    assert_eq!(values(&after), wanted);
    assert_eq!(values(&before), wanted, "earlier versions are read as before");
    assert!(now(after.verify(Default::default(), Deadline::default())).wrong.is_empty());
    // Nothing is left to do.
    let again = larger(&after).unwrap();
    assert_eq!((again.segments, again.version), ((0, 0), 8));
    // Later appends extend it.
    append(&after, &[input()], &WriteOptions::default(), call!()).unwrap();
    assert_eq!(larger(&latest(&store)).unwrap().segments, (2, 1));
    assert_eq!(latest(&store).snapshot().segments.len(), 1);
}

#[test]
fn chosen_products_lie_in_fewer_objects_and_all_else_where_it_was() {
    let layout = LayoutOptions { target: 64, batch: Some(14), group: false, ..LayoutOptions::default() };
    let store = in_layout(2, &layout);
    let before = latest(&store);
    let (wanted, old) = (values(&before), before.snapshot());
    let chosen: Vec<_> = old.products.iter().take(3).map(|one| one.name.clone()).collect();
    let ids: Vec<u32> = old.products.iter().take(3).map(|one| one.id).collect();
    let restripe = |dataset: &Dataset, dry_run| {
        consolidate(dataset, Some(&chosen), &WriteOptions::default(), dry_run, call!()).unwrap()
    };
    let objects = || now(store.list(keys::DATA, Deadline::default())).len() as u64;
    let (would, stored) = (restripe(&before, true), objects());
    let done = restripe(&before, false);
    assert_eq!((done.segments, would.segments, done.version), ((2, 2), (2, 2), before.version() + 1));
    assert!(2 * done.objects.1 <= done.objects.0 && done.objects.0 == would.objects.0, "{:?}", done.objects);
    // Each segment has a new list, which does not count as data.
    assert_eq!(objects() - stored, done.objects.1 - 2);
    let after = latest(&store);
    assert_eq!(values(&after), wanted);
    assert_eq!(values(&before), wanted, "earlier versions are read as before");
    assert_eq!(after.snapshot().products, old.products);
    for (new, old) in after.snapshot().segments.iter().zip(&old.segments) {
        for (id, list) in &old.lists {
            assert_eq!(new.lists[id] != *list, ids.contains(id), "product {id}");
        }
        let lists = old.lists.clone();
        assert_eq!(Segment { lists, ..new.clone() }, *old);
    }
    assert!(now(after.verify(Default::default(), Deadline::default())).wrong.is_empty());
    assert_eq!(restripe(&after, false).version, after.version(), "there is no more to be done");
    let unknown = ["Nothing".to_owned()];
    let error = consolidate(&after, Some(&unknown), &WriteOptions::default(), false, call!()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Missing);
}

#[test]
fn a_consolidation_that_ends_at_any_request_changes_no_value() {
    let begin = in_pieces(3);
    let wanted = values(&latest(&begin));
    let through = |faulty: &Arc<InstrumentedStore>| {
        let store = Arc::clone(faulty) as Arc<dyn Store>;
        let deadline = Deadline::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let opened = runtime.block_on(Dataset::open(store, None, &Version::Latest, deadline));
        opened.and_then(|dataset| larger(&dataset))
    };
    let whole = Arc::new(InstrumentedStore::new(copy(&begin)));
    through(&whole).unwrap();
    assert!(whole.begun() > 10);
    for call in 0..whole.begun() {
        for fault in [StoreFault::Before, StoreFault::After] {
            let store = copy(&begin);
            let faulty = Arc::new(InstrumentedStore::new(store.clone()));
            faulty.die(call, fault);
            let ended = through(&faulty);
            let after = latest(&store);
            let segments = after.snapshot().segments.len();
            assert!(segments == 3 || segments == 1, "request {call}, {fault:?}");
            assert!(ended.is_err() || segments == 1, "request {call}, {fault:?}");
            assert_eq!(values(&after), wanted, "request {call}, {fault:?}");
            // Its objects are protected by its lease until that expires.
            store.advance(Duration::from_secs(24 * 3600));
            now(after.collect(ALONE, Deadline::default()));
            larger(&latest(&store)).unwrap();
            assert_eq!(latest(&store).snapshot().segments.len(), 1);
            assert_eq!(values(&latest(&store)), wanted, "request {call}, {fault:?}");
        }
    }
}

#[test]
fn who_changed_the_same_entries_first_is_not_written_over() {
    let store = in_pieces(3);
    let before = latest(&store);
    let first = before.snapshot().products[0].name.clone();
    let change = Change::Drop { products: vec![first.clone()] };
    now(before.commit(&change, Provenance::default(), Deadline::default()));
    append(&latest(&store), &[], &WriteOptions::default(), call!()).unwrap_err();
    larger(&before).unwrap();
    let names: Vec<_> = latest(&store).snapshot().products.iter().map(|one| one.name.clone()).collect();
    assert!(!names.contains(&first), "{names:?}");
    assert_eq!(latest(&store).snapshot().segments.len(), 1);
}

/// Writes while, after each stored object, another process collects all objects that no version needs.
fn while_others_collect(
    store: &Arc<MemoryStore>,
    write: impl FnOnce(&Dataset, &mut dyn FnMut() -> bool) -> u64,
) {
    let dataset = latest(store);
    let stored = |store: &MemoryStore| now(store.list(keys::DATA, Deadline::default())).len();
    let (mut seen, mut collections) = (stored(store), 0);
    let version = write(&dataset, &mut || {
        let others = Arc::clone(store);
        // It is called on a thread of the runtime, so the blocking call needs another one.
        std::thread::scope(|scope| {
            let collected = scope.spawn(|| {
                if stored(&others) > seen {
                    collections += 1;
                    now(latest(&others).collect(ALONE, Deadline::default()));
                    seen = stored(&others);
                }
            });
            collected.join().unwrap();
        });
        false
    });
    assert!(collections > 0 && version > dataset.version());
    let after = latest(store);
    assert_eq!(after.version(), version);
    let verified = now(after.verify(Default::default(), Deadline::default()));
    assert!(verified.wrong.is_empty(), "{:?}", verified.wrong);
    assert_eq!(now(after.leases(Deadline::default())), [], "a lease ends with the work");
}

#[test]
fn what_is_written_is_not_collected_before_it_is_committed() {
    let options = WriteOptions::default();
    let version = |written: Result<WriteReport>| written.unwrap().dataset.version();
    while_others_collect(&in_pieces(1), |dataset, interrupt| {
        version(append(
            dataset,
            &[input()],
            &options,
            &mut sapwood::Call::new(Deadline::default(), interrupt),
        ))
    });
    let by_position = AddOptions { products: None, by_position: true };
    while_others_collect(&in_pieces(1), |dataset, interrupt| {
        version(add(
            dataset,
            &input(),
            "tree",
            &by_position,
            &options,
            &mut sapwood::Call::new(Deadline::default(), interrupt),
        ))
    });
    while_others_collect(&in_pieces(3), |dataset, interrupt| {
        consolidate(dataset, None, &options, false, &mut sapwood::Call::new(Deadline::default(), interrupt))
            .unwrap()
            .version
    });
}
