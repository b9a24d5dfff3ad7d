//! Truncated, changed or malicious objects give an error of the right kind, quickly.

use crate::{allocation, samples};
use bytes::Bytes;
use proptest::prelude::*;
use sapwood_core::{Error, ErrorKind};
use sapwood_stripe::{
    Envelope, EventIndex, ObjectDirectory, ObjectKind, Snapshot, StripeList, checksum, seal, unseal,
};

/// Most bytes that decoding a few kilobytes may allocate at once, whatever they contain.
const MEMORY: usize = 1 << 20;

/// Reads an object of each kind in full, in little memory.
fn read(kind: ObjectKind, object: &Bytes) -> Result<(), Error> {
    allocation::largest();
    let result = read_all(kind, object);
    let largest = allocation::largest();
    assert!(largest < MEMORY, "{largest} bytes for {kind:?}: {result:?}");
    result
}

fn read_all(kind: ObjectKind, object: &Bytes) -> Result<(), Error> {
    match kind {
        ObjectKind::Format | ObjectKind::Record => unseal(kind, object).map(drop),
        ObjectKind::Snapshot => Snapshot::decode(object).map(drop),
        ObjectKind::List => unseal(ObjectKind::List, object).and_then(|content| {
            let place = samples::list_object().1;
            let start = place.offset as usize - Envelope::LEN;
            read_list(&content[start.min(content.len())..])
        }),
        ObjectKind::Stripe => ObjectDirectory::of(object).map(drop),
        ObjectKind::Events => EventIndex::decode(object, 2500).map(drop),
    }
}

/// Calls all methods of a list that was accepted.
fn read_list(section: &[u8]) -> Result<(), Error> {
    let list = StripeList::decode(section, 3, 2500)?;
    assert_eq!(list.stripes().count(), list.len());
    for branch in 0..3 {
        let baskets = (0..list.len()).filter_map(|stripe| list.basket(branch, stripe));
        assert_eq!(baskets.map(|basket| basket.entries).sum::<u64>(), 2500);
        (0..list.len()).for_each(|stripe| {
            assert!(list.statistics(branch, stripe).is_none_or(|s| s.count >= s.nans || s.extremes.is_none()))
        });
    }
    Ok(())
}

fn objects() -> [(ObjectKind, Bytes); 5] {
    [
        (ObjectKind::Format, seal(ObjectKind::Format, b"{}")),
        (ObjectKind::Snapshot, samples::snapshot().encode().unwrap()),
        (ObjectKind::List, samples::list_object().0),
        (ObjectKind::Stripe, samples::group(1).0),
        (ObjectKind::Events, samples::events().encode().unwrap()),
    ]
}

#[track_caller]
fn assert_damage(result: Result<(), Error>, what: &str) {
    let kind = result.expect_err(what).kind();
    let damage = [ErrorKind::Corrupt, ErrorKind::Truncated, ErrorKind::Checksum, ErrorKind::Unsupported];
    assert!(damage.contains(&kind), "{what}: {kind:?}");
}

#[test]
fn a_truncated_object_is_reported() {
    for (kind, object) in objects() {
        read(kind, &object).unwrap();
        for len in 0..object.len() {
            assert_damage(read(kind, &object.slice(..len)), &format!("{kind:?} cut to {len}"));
        }
        let longer = [object.as_ref(), &[0]].concat().into();
        assert_damage(read(kind, &longer), &format!("{kind:?} with a byte more"));
    }
}

#[test]
fn a_changed_byte_is_reported_wherever_it_is() {
    for (kind, object) in objects() {
        for place in 0..object.len() {
            for change in [1, 0x80, 0xff] {
                let mut changed = object.to_vec();
                changed[place] ^= change;
                assert_damage(read(kind, &changed.into()), &format!("{kind:?} changed at {place}"));
            }
        }
    }
}

#[test]
fn an_object_of_another_kind_is_an_error() {
    for (kind, _) in objects() {
        for (other, object) in objects().into_iter().filter(|(other, _)| *other != kind) {
            assert_damage(read(kind, &object), &format!("{other:?} as {kind:?}"));
        }
    }
}

/// Rewrites the header after `change`.
fn with_header(object: &Bytes, change: impl FnOnce(&mut [u8])) -> Bytes {
    let mut changed = object.to_vec();
    change(&mut changed[..56]);
    let sum = checksum(&changed[..56]).to_le_bytes();
    changed[56..64].copy_from_slice(&sum);
    changed.into()
}

#[test]
fn a_snapshot_with_jobs_requires_writers_to_know_them() {
    let jobs = [("one".to_owned(), 1)].into();
    let (without, with) = (samples::snapshot(), Snapshot { jobs, ..samples::snapshot() });
    for (snapshot, features) in [(without, 0), (with, 1)] {
        let object = snapshot.encode().unwrap();
        assert_eq!(Envelope::parse(&object).unwrap().writer_features, features);
        assert_eq!(Snapshot::decode(&object).unwrap(), snapshot);
        let newer = with_header(&object, |header| header[19] = 0x40);
        assert_eq!(Snapshot::decode(&newer).unwrap(), Snapshot { unknown: 0x4000_0000, ..snapshot });
    }
}

#[test]
fn newer_formats_are_unsupported_but_writer_features_can_be_read() {
    for (kind, object) in objects() {
        // Kind, version, compression, reserved byte, reader features, header length, reserved word.
        for place in [8, 9, 10, 11, 12, 15, 20, 48] {
            let newer = with_header(&object, |header| header[place] ^= 0x40);
            assert_eq!(read(kind, &newer).unwrap_err().kind(), ErrorKind::Unsupported, "{kind:?}, {place}");
        }
        let writers = with_header(&object, |header| header[19] = 0x40);
        read(kind, &writers).unwrap();
        assert_eq!(Envelope::parse(&object).unwrap().unknown(), 0);
        assert_eq!(Envelope::parse(&writers).unwrap().unknown(), 0x4000_0000);
    }
}

/// An object with changed content and matching checksums, as from a malicious writer.
fn resealed(kind: ObjectKind, object: &Bytes, place: usize, change: u8) -> Bytes {
    let mut content = object[Envelope::LEN..].to_vec();
    content[place] ^= change;
    if kind == ObjectKind::Stripe {
        let stored = u32::from_le_bytes(content[8..12].try_into().unwrap()) as usize;
        let end = (16 + stored).min(content.len());
        let sum = checksum(&content[8..end]).to_le_bytes();
        content[..8].copy_from_slice(&sum);
    }
    if kind == ObjectKind::Events {
        let sum = checksum(&content[100..]).to_le_bytes();
        content[48..56].copy_from_slice(&sum);
        let sum = checksum(&content[..56]).to_le_bytes();
        content[56..64].copy_from_slice(&sum);
    }
    seal(kind, &content)
}

#[test]
fn nonsense_under_right_checksums_is_reported_or_harmless() {
    for (kind, object) in objects() {
        let mut refused = 0;
        for place in 0..object.len() - Envelope::LEN {
            for change in [1, 0x10, 0x80, 0xff] {
                if let Err(error) = read(kind, &resealed(kind, &object, place, change)) {
                    assert_damage(Err(error), &format!("{kind:?} changed at {place}"));
                    refused += 1;
                }
            }
        }
        assert!(refused > 0 || kind == ObjectKind::Format, "{kind:?}");
    }
}

/// False numbers in the header of a list.
#[test]
fn false_counts_of_a_list_allocate_no_memory() {
    // Compressed and uncompressed length, after the number of baskets, if there is one.
    for (list, behind) in [
        (samples::list(), [(36, 4), (40, 4)].as_slice()),
        (samples::list_of_branches(), &[(36, 8), (44, 4), (48, 4)]),
    ] {
        let good = list.encode().unwrap();
        read_list(&good).unwrap();
        // Features, entries, stripes, branches, objects, bytes here.
        for (at, len) in [(6, 2), (8, 8), (16, 8), (24, 4), (28, 4), (32, 4)].iter().chain(behind).copied() {
            for claim in [u64::MAX, u64::MAX / 16, 1 << 31 | 2, 1 << 20 | 8] {
                let mut bad = good.clone();
                bad[at..at + len].copy_from_slice(&claim.to_le_bytes()[..len]);
                allocation::largest();
                assert_damage(read_list(&bad), &format!("{claim} at {at}"));
                assert!(allocation::largest() < MEMORY, "{claim} at {at}");
            }
        }
        // With a caller that expects the same false numbers.
        let mut bad = good.clone();
        bad[8..24].copy_from_slice(&[0xff; 16]);
        let error = StripeList::decode(&bad, 3, u64::MAX).unwrap_err();
        assert!(allocation::largest() < MEMORY);
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
}

#[test]
fn changed_bytes_of_a_list_of_some_branches_are_reported_or_harmless() {
    let good = samples::list_of_branches().encode().unwrap();
    for place in 0..good.len() {
        for change in [1, 0x80, 0xff] {
            let mut changed = good.clone();
            changed[place] ^= change;
            if let Err(error) = read_list(&changed) {
                assert_damage(Err(error), &format!("changed at {place}"));
            }
        }
        assert_damage(read_list(&good[..place]), &format!("cut to {place}"));
    }
}

#[test]
fn a_list_of_another_product_or_segment_is_an_error() {
    let section = samples::list().encode().unwrap();
    for (branches, entries) in [(2, 2500), (4, 2500), (3, 2499), (3, 0)] {
        let error = StripeList::decode(&section, branches, entries).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.message().contains("3 branches and 2500 entries"), "{error}");
    }
}

#[test]
fn errors_have_offsets() {
    let object = samples::group(1).0;
    let mut changed = object.to_vec();
    *changed.last_mut().unwrap() ^= 1;
    assert_eq!(ObjectDirectory::of(&changed.into()).unwrap_err().offset(), Some(64));
    let error = Snapshot::decode(&object.slice(..40)).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Truncated, Some(0)));
    let error = EventIndex::decode(&samples::events().encode().unwrap(), 1).unwrap_err();
    assert_eq!(error.offset(), Some(64 + 12), "{error}");
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for (kind, _) in objects() {
            prop_assert!(read(kind, &bytes.clone().into()).is_err());
            drop(read(kind, &seal(kind, &bytes)));
        }
        prop_assert!(read_list(&bytes).is_err());
    }
}
