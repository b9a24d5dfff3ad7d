//! Objects of every version of the format, in `tests/data`, stay readable.

use crate::samples;
use bytes::Bytes;
use sapwood_stripe::{EventIndex, ObjectDirectory, Snapshot, StripeList};
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/stripe-v1")
}

fn golden(name: &str) -> Bytes {
    std::fs::read(folder().join(name)).unwrap().into()
}

#[test]
fn a_list_of_some_branches_is_read() {
    let list = StripeList::decode(&golden("list-of-branches"), 3, 2500).unwrap();
    assert_eq!(list, samples::list_of_branches());
}

#[test]
fn version_1_is_read() {
    let place = samples::snapshot().segments[0].lists[&1].clone();
    let list = golden("list");
    let section = &list[place.offset as usize..(place.offset + place.len) as usize];
    assert_eq!(StripeList::decode(section, 3, 2500).unwrap(), samples::list());
    let snapshot = Snapshot::decode(&golden("snapshot")).unwrap();
    snapshot.segments[0].lists[&1].verify(section).unwrap();
    assert_eq!(EventIndex::decode(&golden("events"), 2500).unwrap(), samples::events());
    for stripe in 0..2 {
        let object = golden(&format!("stripe-{stripe}"));
        assert_eq!(
            ObjectDirectory::of(&object).unwrap(),
            ObjectDirectory::of(&samples::group(stripe).0).unwrap()
        );
        let basket = samples::list().basket(1, stripe).unwrap();
        let place = samples::group(stripe).1[0].offset as usize;
        assert_eq!(object[place..place + basket.len as usize], samples::record("Muon", 1, stripe));
    }
}

/// Run once, when the feature was finished; never again.
#[test]
#[ignore = "writes what other tests read"]
fn write_a_list_of_some_branches() {
    let list = samples::list_of_branches().encode().unwrap();
    std::fs::write(folder().join("list-of-branches"), list).unwrap();
}

/// Run once, when a version of the format is finished; never again.
#[test]
#[ignore = "writes what other tests read"]
fn write_version_1() {
    let write = |name: &str, object: Bytes| std::fs::write(folder().join(name), object).unwrap();
    std::fs::create_dir_all(folder()).unwrap();
    write("list", samples::list_object().0);
    write("snapshot", samples::snapshot().encode().unwrap());
    write("events", samples::events().encode().unwrap());
    (0..2).for_each(|stripe| write(&format!("stripe-{stripe}"), samples::group(stripe).0));
}
