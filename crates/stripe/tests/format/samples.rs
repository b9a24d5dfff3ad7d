//! One sample object of each kind, as in the golden files.

use bytes::Bytes;
use sapwood_core::{Extremes, Statistics};
use sapwood_stripe::{
    EventIndex, Id, ListBuilder, ObjectBuilder, ObjectName, ObjectRef, Product, ProductBaskets, Provenance,
    Schema, Segment, Snapshot, StripeList,
};
use std::collections::BTreeMap;
use std::ops::Range;

pub(crate) fn id(name: &str) -> Id {
    format!("0000{name:0>16}").parse().unwrap()
}

/// What stands for the record of a basket: nothing here looks into it.
pub(crate) fn record(product: &str, branch: usize, stripe: usize) -> Bytes {
    Bytes::from(format!("{product}, branch {branch}, stripe {stripe}; ").repeat(branch + stripe + 1))
}

fn records(product: &str, branches: usize, stripe: usize) -> Vec<Bytes> {
    // The first branch only holds the others.
    let own = (1..branches).map(|branch| record(product, branch, stripe));
    std::iter::once(Bytes::new()).chain(own).collect()
}

/// A group: two products, of 3 and 2 branches, for 1,000 entries from `stripe` × 1,000 on.
pub(crate) fn group(stripe: usize) -> (Bytes, Vec<ProductBaskets>) {
    let mut builder = ObjectBuilder::default();
    builder.add("Muon", 1000 * stripe as u64, 1000, records("Muon", 3, stripe)).unwrap();
    builder.add("Jet", 1000 * stripe as u64, 1000, records("Jet", 2, stripe)).unwrap();
    builder.finish().unwrap()
}

/// The list of a product of 3 branches, with 2,500 entries in three stripes; the last in the list itself.
pub(crate) fn list() -> StripeList {
    let mut list = StripeList::new(3);
    for stripe in 0..2 {
        let object = ObjectName { base: stripe as u32, id: id(&format!("a{stripe}")) };
        list.push(object, &group(stripe).1[0], &statistics(stripe)).unwrap();
    }
    list.push_inline(500, &records("Muon", 3, 2), &[]).unwrap();
    list
}

/// The same, with the first branch of the first 2,000 entries in an object of its own.
pub(crate) fn list_of_branches() -> StripeList {
    let (mut list, statistics) = (StripeList::new(3), statistics(1));
    let object = |name| ObjectName { base: 0, id: id(name) };
    let placed = |branches: Range<usize>, entries| {
        let mut builder = ObjectBuilder::default();
        builder.add("Muon", 0, entries, records("Muon", 3, 0)[branches].to_vec()).unwrap();
        builder.finish().unwrap().1.remove(0)
    };
    list.push_some(0..1, object("e0"), 700, &placed(0..1, 2000), &statistics[..1]).unwrap();
    for part in ["e1", "e2"] {
        list.push_some(1..3, object(part), 800, &placed(1..3, 1000), &statistics[1..]).unwrap();
    }
    list.push_inline(500, &records("Muon", 3, 2), &[]).unwrap();
    list
}

fn statistics(stripe: usize) -> [Option<Statistics>; 3] {
    let float = Statistics { count: 2000, nans: 1, extremes: Some(Extremes::Float(-0.5, 1e300)) };
    let signed = Statistics { count: 5, nans: 0, extremes: Some(Extremes::Signed(-(stripe as i64), 7)) };
    [None, Some(float), (stripe == 1).then_some(signed)]
}

/// A list object, and which part of it the list is.
pub(crate) fn list_object() -> (Bytes, ObjectRef) {
    let mut builder = ListBuilder::new(id("b"));
    builder.add(&StripeList::new(1)).unwrap();
    let place = builder.add(&list()).unwrap();
    (builder.finish(), place)
}

pub(crate) fn events() -> EventIndex {
    let runs = (0..2500).map(|entry| 273_158 + entry / 1000).collect();
    let lumis = (0..2500).map(|entry| 1 + entry % 1000 / 100).collect();
    EventIndex::new(runs, lumis, (0..2500).map(|entry| (entry * 7919) % 65_537 + (1 << 33)).collect())
        .unwrap()
}

pub(crate) fn snapshot() -> Snapshot {
    let place = list_object().1;
    let product =
        |id, name: &str, branches| Product { id, name: name.into(), schema: 1, branches, version: 1 };
    Snapshot {
        id: id("c"),
        parent: None,
        tree: "Events".into(),
        schemas: vec![Schema { id: 1, file: Bytes::from("root, in the place of a file ".repeat(20)) }],
        products: vec![product(1, "Muon", vec![0, 1, 2]), product(2, "Jet", vec![3, 4])],
        segments: vec![Segment {
            id: 1,
            entries: 2500,
            batch: 1000,
            lists: BTreeMap::from([(1, place.clone())]),
            events: Some(ObjectRef::whole(id("d"), &events().encode().unwrap())),
            auxiliary: None,
        }],
        bases: vec!["s3://elsewhere/ttbar".into()],
        used: Default::default(),
        jobs: Default::default(),
        made: Provenance { operation: "create".into(), tool: "sapwood 0.1".into(), ..Provenance::default() },
        unknown: 0,
    }
}
