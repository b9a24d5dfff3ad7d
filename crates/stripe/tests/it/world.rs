//! Small datasets with comparable contents.

use bytes::Bytes;
use sapwood_core::{Deadline, Result};
use sapwood_store::Store;
use sapwood_stripe::{
    Change, Dataset, Id, ListBuilder, ListIndex, Location, NewProduct, NewSegment, ObjectBuilder, ObjectKind,
    ObjectName, ObjectRef, Provenance, StripeList, Version, checksum, keys, read_lists, seal,
};
use sapwood_testkit::MemoryStore;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Entries of a batch.
const BATCH: u64 = 10;

/// Entries of each segment, and the checksum of what each product has in it.
pub(crate) type Contents = Vec<(u64, BTreeMap<String, u64>)>;

/// Later than anything is on a machine that does much else.
pub(crate) fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(600))
}

pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

pub(crate) fn memory() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new("memory:ttbar"))
}

pub(crate) fn made(job: Option<&str>) -> Provenance {
    Provenance { tool: "test 1".into(), job: job.map(|job| (job.to_owned(), 1)), ..Provenance::default() }
}

pub(crate) async fn create(store: &Arc<MemoryStore>) -> Dataset {
    Dataset::create(Arc::clone(store) as Arc<dyn Store>, None, "Events", made(None), soon()).await.unwrap()
}

pub(crate) async fn open(store: &Arc<MemoryStore>) -> Dataset {
    open_at(store, &Version::Latest).await.unwrap()
}

pub(crate) async fn open_at(store: &Arc<MemoryStore>, version: &Version) -> Result<Dataset> {
    Dataset::open(Arc::clone(store) as Arc<dyn Store>, None, version, soon()).await
}

pub(crate) fn product(name: &str) -> NewProduct {
    NewProduct { name: name.to_owned(), branches: vec![1, 2], schema: Some(Bytes::from_static(b"a schema")) }
}

/// What the product has: different for each `seed`.
fn record(name: &str, seed: u64, batch: u64, branch: u32) -> Bytes {
    Bytes::from(format!("{name} {seed} {batch} {branch} ").repeat(20 + usize::try_from(seed % 7).unwrap()))
}

/// The checksum of what [`write`] stores.
pub(crate) fn sum(name: &str, seed: u64, entries: u64) -> u64 {
    let batches = entries.div_ceil(BATCH);
    let records = (0..batches).flat_map(|batch| (0..2).map(move |branch| record(name, seed, batch, branch)));
    checksum(&records.fold(Vec::new(), |mut all, record| {
        all.extend_from_slice(&record);
        all
    }))
}

/// Stores stripes of products, all those of a batch in one object, and their lists in another.
pub(crate) async fn write(
    store: &dyn Store,
    names: &[&str],
    seed: u64,
    entries: u64,
) -> Result<BTreeMap<String, ObjectRef>> {
    let mut lists: Vec<StripeList> = names.iter().map(|_| StripeList::new(2)).collect();
    for batch in 0..entries.div_ceil(BATCH) {
        let (id, first) = (Id::random(), batch * BATCH);
        let mut object = ObjectBuilder::default();
        for name in names {
            let records = (0..2).map(|branch| record(name, seed, batch, branch)).collect();
            object.add(name, first, BATCH.min(entries - first), records)?;
        }
        let (object, placed) = object.finish()?;
        store.put(&keys::data(id), object, soon()).await?;
        for (list, placed) in lists.iter_mut().zip(&placed) {
            list.push(ObjectName { base: 0, id }, placed, &[])?;
        }
    }
    let id = Id::random();
    let mut builder = ListBuilder::new(id);
    let places = names.iter().zip(&lists).map(|(name, list)| Ok(((*name).to_owned(), builder.add(list)?)));
    let places = places.collect::<Result<_>>()?;
    store.put(&keys::list(id), builder.finish(), soon()).await?;
    Ok(places)
}

pub(crate) async fn segment(
    store: &dyn Store,
    names: &[&str],
    seed: u64,
    entries: u64,
) -> Result<NewSegment> {
    let lists = write(store, names, seed, entries).await?;
    let (events, more) = (seal(ObjectKind::Events, b"events"), Bytes::from_static(b"a file"));
    let (events_id, more_id) = (Id::random(), Id::random());
    store.put(&keys::data(events_id), events.clone(), soon()).await?;
    store.put(&keys::data(more_id), more.clone(), soon()).await?;
    let (events, auxiliary) = (ObjectRef::whole(events_id, &events), ObjectRef::whole(more_id, &more));
    Ok(NewSegment { entries, batch: BATCH, lists, events: Some(events), auxiliary: Some(auxiliary) })
}

/// Appending a segment with these products, which are stored.
pub(crate) async fn append(store: &dyn Store, names: &[&str], seed: u64, entries: u64) -> Result<Change> {
    let products = names.iter().map(|name| product(name)).collect();
    Ok(Change::Append { products, segments: vec![segment(store, names, seed, entries).await?] })
}

/// A product for some segments of a dataset, which is stored.
pub(crate) async fn put(
    dataset: &Dataset,
    name: &str,
    seed: u64,
    segments: &[u32],
    replace: bool,
) -> Result<Change> {
    let mut lists = BTreeMap::new();
    for segment in dataset.snapshot().segments.iter().filter(|segment| segments.contains(&segment.id)) {
        let mut written = write(&**dataset.store(), &[name], seed, segment.entries).await?;
        lists.insert(segment.id, written.remove(name).unwrap());
    }
    Ok(Change::Put { product: product(name), lists, replace })
}

/// A stripe list of a dataset.
pub(crate) async fn list(dataset: &Dataset, index: ListIndex) -> Result<StripeList> {
    let snapshot = dataset.snapshot();
    let list = &snapshot.segments[index.1].lists[&snapshot.products[index.0].id];
    let mut lists = read_lists(&*dataset.base(list.base)?, snapshot, vec![index], soon()).await?;
    lists.remove(0).1
}

/// Everything that a version holds, and the keys of the objects below `d/`, `list/` and `snap/` that hold it.
pub(crate) async fn read(dataset: &Dataset) -> Result<(Contents, BTreeSet<String>)> {
    let snapshot = dataset.snapshot();
    let mut used = BTreeSet::from([keys::snapshot(snapshot.id)]);
    let mut contents = Vec::new();
    for (index, segment) in snapshot.segments.iter().enumerate() {
        used.extend(segment.events.iter().chain(&segment.auxiliary).map(|part| keys::data(part.id)));
        used.extend(segment.lists.values().map(|list| keys::list(list.id)));
        let mut products = BTreeMap::new();
        for (number, product) in snapshot.products.iter().enumerate() {
            if !segment.lists.contains_key(&product.id) {
                continue;
            }
            let list = list(dataset, (number, index)).await?;
            let mut all = Vec::new();
            for stripe in list.stripes() {
                let Location::Object { object, offset } = stripe.place else { panic!("it is not inline") };
                let range = sapwood_core::ByteRange::new(offset, stripe.len.into())?;
                let key = keys::data(object.id);
                all.extend(dataset.base(object.base)?.get(&key, Some(range), soon()).await?);
                used.insert(key);
            }
            products.insert(product.name.clone(), checksum(&all));
        }
        contents.push((segment.entries, products));
    }
    Ok((contents, used))
}

/// The keys below `d/`, `list/` and `snap/`.
pub(crate) async fn stored(store: &dyn Store) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for prefix in [keys::DATA, keys::LISTS, keys::SNAPSHOTS] {
        all.extend(store.list(prefix, soon()).await.unwrap().into_iter().map(|object| object.key));
    }
    all
}

/// A dataset of two segments with the products `A` and `B`: version 3.
pub(crate) async fn two_segments(store: &Arc<MemoryStore>) -> Dataset {
    let dataset = create(store).await;
    let first = append(&**store, &["A", "B"], 1, 25).await.unwrap();
    let dataset = dataset.commit(&first, made(None), soon()).await.unwrap().dataset;
    let second = append(&**store, &["A", "B"], 2, 10).await.unwrap();
    dataset.commit(&second, made(None), soon()).await.unwrap().dataset
}
