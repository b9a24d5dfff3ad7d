//! Entries are found by event number, reading only the blocks that may have them.

use crate::world::{create, made, memory, run, soon};
use sapwood_core::ErrorKind;
use sapwood_store::Store;
use sapwood_stripe::{Change, Dataset, EventId, EventIndex, Id, LumiMask, NewSegment, ObjectRef, keys};

async fn append(dataset: &Dataset, events: Option<&EventIndex>, entries: u64) -> Dataset {
    let mut place = None;
    if let Some(events) = events {
        let (id, object) = (Id::random(), events.encode().unwrap());
        place = Some(ObjectRef::whole(id, &object));
        dataset.store().put(&keys::data(id), object, soon()).await.unwrap();
    }
    let segment =
        NewSegment { entries, batch: 10, lists: Default::default(), events: place, auxiliary: None };
    let change = Change::Append { products: Vec::new(), segments: vec![segment] };
    dataset.commit(&change, made(None), soon()).await.unwrap().dataset
}

/// Runs of 100,000 entries each, from a number on, in luminosity blocks of 1,000.
fn index(first_run: u32, entries: u32) -> EventIndex {
    let runs = (0..entries).map(|entry| first_run + entry / 100_000).collect();
    let lumis = (0..entries).map(|entry| entry % 100_000 / 1000).collect();
    EventIndex::new(runs, lumis, (0..u64::from(entries)).rev().collect()).unwrap()
}

#[test]
fn entries_are_found_by_luminosity_blocks_and_events() {
    run(async {
        let dataset = create(&memory()).await;
        let dataset = append(&dataset, Some(&index(1, 250_000)), 250_000).await;
        let dataset = append(&dataset, Some(&index(3, 1000)), 1000).await;
        let mask =
            LumiMask::from_json(r#"{"3": [[0, 0], [49, 60]], "2": [[99, 99]], "9": [[1, 1]]}"#).unwrap();
        let chosen = dataset.select(&mask, soon()).await.unwrap();
        assert_eq!(chosen, [199_000..201_000, 249_000..251_000]);
        let event = |run, lumi, event| EventId { run, lumi, event };
        let wanted =
            [event(3, 0, 999), event(1, 0, 249_999), event(1, 1, 249_999), event(2, 5, 249_999 - 105_001)];
        let found = dataset.find(&wanted, soon()).await.unwrap();
        assert_eq!(found, [vec![250_000], vec![0], vec![], vec![105_001]]);
        // An event of each number is in both segments, but not of the same run.
        assert_eq!(dataset.find(&[], soon()).await.unwrap(), [[0u64; 0]; 0]);
    });
}

#[test]
fn a_segment_that_does_not_name_its_events_is_reported() {
    run(async {
        let dataset = append(&create(&memory()).await, None, 10).await;
        let error = dataset.select(&LumiMask::default(), soon()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Missing);
        assert!(error.message().contains("segment 1"), "{error}");
    });
}

#[test]
fn a_damaged_index_is_reported_with_its_object() {
    run(async {
        let store = memory();
        let dataset = append(&create(&store).await, Some(&index(1, 1000)), 1000).await;
        let key = keys::data(dataset.snapshot().segments[0].events.as_ref().unwrap().id);
        let object = store.get(&key, None, soon()).await.unwrap();
        for place in [100, object.len() - 1] {
            let mut damaged = object.to_vec();
            damaged[place] ^= 1;
            store.put(&key, damaged.into(), soon()).await.unwrap();
            let mask = LumiMask::from_json(r#"{"1": [[0, 0]]}"#).unwrap();
            let error = dataset.select(&mask, soon()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Checksum);
            assert!(error.url_str().unwrap().contains(&key), "{error}");
        }
    });
}
