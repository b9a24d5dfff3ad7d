//! The objects of a dataset: raw bytes, and bytes as content with valid checksums.
#![no_main]

use bytes::Bytes;
use sapwood_stripe::{EventIndex, LumiMask, ObjectDirectory, ObjectKind, Snapshot, StripeList, seal};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((&[branches, entries], data)) = data.split_first_chunk() else { return };
    let (branches, entries) = (usize::from(branches), 1 << (entries % 40));
    if let Ok(list) = StripeList::decode(data, branches, entries) {
        for branch in 0..branches {
            let baskets = (0..list.len()).filter_map(|stripe| list.basket(branch, stripe));
            assert_eq!(baskets.map(|basket| basket.entries).sum::<u64>(), entries);
        }
        let again = list.encode().ok().and_then(|bytes| StripeList::decode(&bytes, branches, entries).ok());
        assert!(again.is_some());
    }
    let whole = Bytes::copy_from_slice(data);
    for object in [whole, seal(ObjectKind::Snapshot, data), seal(ObjectKind::Stripe, data), seal(ObjectKind::Events, data)] {
        let _ = Snapshot::decode(&object);
        let _ = ObjectDirectory::of(&object);
        if let Ok(index) = EventIndex::decode(&object, entries) {
            assert_eq!(index.len() as u64, entries);
        }
    }
    let _ = std::str::from_utf8(data).map(LumiMask::from_json);
});
