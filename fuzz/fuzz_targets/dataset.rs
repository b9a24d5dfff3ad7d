//! The objects of a dataset: as they are, and as content under right checksums.
#![no_main]

use bytes::Bytes;
use sapwood_stripe::{Directory, EventIndex, ObjectKind, LumiMask, Snapshot, StripeList, seal};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((&[branches, entries], data)) = data.split_first_chunk() else { return };
    let (branches, entries) = (usize::from(branches), 1 << (entries % 40));
    if let Ok(list) = StripeList::decode(data, branches, entries) {
        assert_eq!(list.stripes().map(|stripe| stripe.entries).sum::<u64>(), entries);
        (0..branches).for_each(|branch| assert_eq!(list.branch(branch).count(), list.len()));
        let again = list.encode().ok().and_then(|bytes| StripeList::decode(&bytes, branches, entries).ok());
        assert!(again.is_some());
    }
    let whole = Bytes::copy_from_slice(data);
    for object in [whole, seal(ObjectKind::Snapshot, data), seal(ObjectKind::Stripe, data), seal(ObjectKind::Events, data)] {
        let _ = Snapshot::decode(&object);
        let _ = Directory::of(&object);
        if let Ok(index) = EventIndex::decode(&object, entries) {
            assert_eq!(index.len() as u64, entries);
        }
    }
    let _ = std::str::from_utf8(data).map(LumiMask::from_json);
});
