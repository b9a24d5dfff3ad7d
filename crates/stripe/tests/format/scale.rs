//! The size of the metadata of a large dataset: 10 million events of 200 products.
//!
//! `cargo test --release -p sapwood-stripe --test format -- --ignored --nocapture scale` prints the figures;
//! `bench/stripe_scale.py` opens a dataset of that size, with `a_segment_without_stripes`.

use sapwood_core::Deadline;
use sapwood_source::SourceOptions;
use sapwood_store::open_store;
use sapwood_stripe::{
    BasketRecord, Change, Dataset, EventIndex, Id, Ids, LayoutOptions, ListBuilder, NewSegment, ObjectName,
    ObjectRef, Product, ProductBaskets, Provenance, Schema, Segment, Snapshot, StripeList, Version, keys,
    plan,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

const ENTRIES: u64 = 10_000_000;

/// What a dataset is like: bytes per event and branches of each product.
struct Like {
    name: &'static str,
    products: Vec<(f64, usize)>,
}

/// Products whose sizes fall off evenly on a logarithmic scale, as they do in data; together so many bytes per event.
fn like(name: &'static str, bytes_per_event: f64, branches: usize) -> Like {
    let products = sizes(200, bytes_per_event).into_iter().map(|bytes| (bytes, branches)).collect();
    Like { name, products }
}

fn sizes(products: usize, bytes_per_event: f64) -> Vec<f64> {
    let weights: Vec<f64> = (0..products).map(|number| (-(number as f64) / 25.0).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| bytes_per_event * weight / sum).collect()
}

/// Memory that this process holds, in bytes.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// Adds stripes of some branches to the list of a product: lengths differ by 3 %, checksums cannot be packed.
fn fill(list: &mut StripeList, bytes: f64, branches: &Range<usize>, stripe: u64, ids: &Ids, first: u64) {
    let mut start = 0;
    while start < ENTRIES {
        let here = stripe.min(ENTRIES - start);
        let basket = |_| {
            let len = here as f64 * bytes * (1.0 + 0.03 * (fastrand::f64() - 0.5)) + 80.0;
            BasketRecord { len: len as u32, checksum: fastrand::u64(..) }
        };
        let baskets = branches.clone().map(basket).collect();
        let object = ObjectName { base: 0, id: ids.next() };
        let placed = ProductBaskets { offset: 200 + first, entries: here, baskets };
        let size = 600 + placed.byte_count();
        list.push_some(branches.clone(), object, size, &placed, &[]).unwrap();
        start += here;
    }
}

#[test]
#[ignore = "takes seconds, and only prints"]
fn scale() {
    for like in [like("NanoAOD", 4e3, 8), like("MiniAOD", 45e3, 4)] {
        let of_branches = |(bytes, branches): &(f64, usize)| vec![bytes / *branches as f64; *branches];
        let sizes: Vec<_> = like.products.iter().map(of_branches).collect();
        let layout = plan(&sizes, &LayoutOptions::default());
        let (ids, mut builder, mut lists) = (Ids::new(), ListBuilder::new(Id::random()), BTreeMap::new());
        let (mut objects, mut baskets, mut longest) = (0, 0, (0, 0));
        let mut filled: Vec<_> = sizes.iter().map(|branches| StripeList::new(branches.len())).collect();
        for planned in &layout.objects {
            objects += ENTRIES.div_ceil(planned.entries);
            for (place, (product, branches)) in planned.products.iter().enumerate() {
                let (bytes, first) = (sizes[*product][0], place as u64 * 10_000);
                fill(&mut filled[*product], bytes, branches, planned.entries, &ids, first);
                baskets += ENTRIES.div_ceil(planned.entries) * branches.len() as u64;
            }
        }
        for (product, list) in filled.iter().enumerate() {
            let place = builder.add(list).unwrap();
            longest = longest.max((place.len, product));
            lists.insert(product as u32, place);
        }
        let object = builder.finish();
        let events = EventIndex::new(
            (0..ENTRIES as u32).map(|entry| 380_000 + entry / 1_000_000).collect(),
            (0..ENTRIES as u32).map(|entry| entry % 1_000_000 / 2_000).collect(),
            (0..ENTRIES).map(|entry| entry / 2_000 * 4_000_000 + fastrand::u64(..4_000_000)).collect(),
        );
        let (events, index) = (events.unwrap().encode().unwrap(), Id::random());
        let product = |(id, (_, branches)): (usize, &(f64, usize))| Product {
            id: id as u32,
            name: format!("recoProduct{id}_aModuleOfReconstruction__RECO."),
            schema: 1,
            branches: (0..*branches).map(|branch| (id * branches + branch) as u32).collect(),
            version: 1,
        };
        let snapshot = Snapshot {
            id: Id::random(),
            parent: None,
            tree: "Events".into(),
            schemas: vec![Schema { id: 1, file: Default::default() }],
            products: like.products.iter().enumerate().map(product).collect(),
            segments: vec![Segment {
                id: 1,
                entries: ENTRIES,
                batch: layout.batch,
                lists,
                events: Some(ObjectRef::whole(index, &events)),
                auxiliary: None,
            }],
            bases: Vec::new(),
            used: Default::default(),
            jobs: Default::default(),
            made: Provenance::default(),
            unknown: 0,
        };
        let root = snapshot.encode().unwrap();
        println!(
            "{}: batch {}, {objects} objects, {baskets} baskets; snapshot {} B, lists {} B ({:.2} B per event, {:.1} B per \
             basket), events {} B ({:.2} B per event)",
            like.name,
            layout.batch,
            root.len(),
            object.len(),
            object.len() as f64 / ENTRIES as f64,
            object.len() as f64 / baskets as f64,
            events.len(),
            events.len() as f64 / ENTRIES as f64,
        );
        time_reading(&like, &snapshot, &root, &object, longest.1);
        let start = Instant::now();
        let index = EventIndex::decode(&events, ENTRIES).unwrap();
        let decoded = start.elapsed();
        let lookup = index.lookup();
        println!("  events: read in {decoded:.2?}, put in order in {:.2?}", start.elapsed() - decoded);
        assert!(lookup.find(index.get(5_000_000).unwrap()).contains(&5_000_000));
    }
}

/// Adds a segment to the dataset at `SAPWOOD_SCALE`, of `SAPWOOD_SCALE_BYTES` per event: its lists say where stripes would
/// be, and there are none.
#[test]
#[ignore = "a part of bench/stripe_scale.py"]
fn a_segment_without_stripes() {
    let place = std::env::var("SAPWOOD_SCALE").unwrap();
    let bytes: f64 = std::env::var("SAPWOOD_SCALE_BYTES").unwrap().parse().unwrap();
    let store = open_store(&place, &SourceOptions::default()).unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let deadline = Deadline::default();
        let dataset = Dataset::open(Arc::clone(&store), None, &Version::Latest, deadline).await.unwrap();
        let products = &dataset.snapshot().products;
        let sizes: Vec<Vec<f64>> = (products.iter().zip(sizes(products.len(), bytes)))
            .map(|(product, bytes)| vec![bytes / product.branches.len() as f64; product.branches.len()])
            .collect();
        let layout = plan(&sizes, &LayoutOptions::default());
        let (ids, id) = (Ids::new(), Id::random());
        let mut lists: Vec<_> = sizes.iter().map(|branches| StripeList::new(branches.len())).collect();
        for planned in &layout.objects {
            for (place, (product, branches)) in planned.products.iter().enumerate() {
                let (bytes, first) = (sizes[*product][0], place as u64 * 10_000);
                fill(&mut lists[*product], bytes, branches, planned.entries, &ids, first);
            }
        }
        let mut builder = ListBuilder::new(id);
        let names = products.iter().map(|product| product.name.clone());
        let lists = names.zip(lists.iter().map(|list| builder.add(list).unwrap())).collect();
        store.put(&keys::list(id), builder.finish(), deadline).await.unwrap();
        let segment =
            NewSegment { entries: ENTRIES, batch: layout.batch, lists, events: None, auxiliary: None };
        let change = Change::Append { products: Vec::new(), segments: vec![segment] };
        dataset.commit(&change, Provenance::default(), deadline).await.unwrap();
    });
}

/// What a snapshot takes for each segment.
#[test]
#[ignore = "only prints"]
fn snapshots_of_many_segments() {
    for segments in [1, 100, 1000, 10_000] {
        let place = |number: u32| ObjectRef {
            base: 0,
            id: Id::random(),
            offset: u64::from(number) * 50_000,
            len: 50_000 + u64::from(number),
            checksum: fastrand::u64(..),
        };
        let list = Id::random();
        let segment = |id| Segment {
            id,
            entries: 1_000_000 + u64::from(id),
            batch: 10_080,
            lists: (0..200).map(|product| (product, ObjectRef { id: list, ..place(product) })).collect(),
            events: Some(place(0)),
            auxiliary: Some(place(0)),
        };
        let product = |id| Product {
            id,
            name: format!("recoProduct{id}_aModuleOfReconstruction__RECO."),
            schema: 1,
            branches: (id * 8..id * 8 + 8).collect(),
            version: 1,
        };
        let snapshot = Snapshot {
            id: Id::random(),
            parent: None,
            tree: "Events".into(),
            schemas: vec![Schema { id: 1, file: Default::default() }],
            products: (0..200).map(product).collect(),
            segments: (0..segments).map(segment).collect(),
            bases: Vec::new(),
            used: Default::default(),
            jobs: Default::default(),
            made: Provenance::default(),
            unknown: 0,
        };
        let (begin, before) = (Instant::now(), resident());
        let object = snapshot.encode().unwrap();
        let (written, begin) = (begin.elapsed(), Instant::now());
        let read = Snapshot::decode(&object).unwrap();
        assert_eq!(read.segments.len(), segments as usize);
        println!(
            "{segments} segments of 200 products: {} B, written in {written:.2?}, read in {:.2?}, {} B of memory",
            object.len(),
            begin.elapsed(),
            resident().saturating_sub(before)
        );
    }
}

fn time_reading(
    like: &Like,
    snapshot: &Snapshot,
    root: &bytes::Bytes,
    object: &bytes::Bytes,
    longest: usize,
) {
    let start = Instant::now();
    assert_eq!(Snapshot::decode(root).unwrap().products.len(), 200);
    println!("  snapshot: read in {:.2?}", start.elapsed());
    let read = |product: usize| {
        let place = &snapshot.segments[0].lists[&(product as u32)];
        let section = &object[place.offset as usize..(place.offset + place.len) as usize];
        place.verify(section).unwrap();
        StripeList::decode(section, like.products[product].1, snapshot.segments[0].entries).unwrap()
    };
    for (what, products) in [("longest", vec![longest]), ("last", vec![199]), ("all", (0..200).collect())] {
        let before = resident();
        let start = Instant::now();
        let lists: Vec<_> = products.iter().map(|product| read(*product)).collect();
        let took = start.elapsed();
        let bytes: u64 =
            products.iter().map(|product| snapshot.segments[0].lists[&(*product as u32)].len).sum();
        let held = resident().saturating_sub(before);
        println!(
            "  lists, {what}: {bytes} B, {} stripes, read in {took:.2?}, {held} B of memory",
            lists.iter().map(StripeList::len).sum::<usize>()
        );
    }
}
