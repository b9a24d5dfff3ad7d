//! The number of requests of each operation.

use crate::world::{append, made, memory, put, run, soon, two_segments};
use sapwood_store::Store;
use sapwood_stripe::{Dataset, Version, keys};
use sapwood_testkit::{InstrumentedStore, StoreCall, StoreOperation as Op};
use std::sync::Arc;

async fn counted() -> (Arc<InstrumentedStore>, Dataset) {
    let memory = memory();
    two_segments(&memory).await;
    let store = Arc::new(InstrumentedStore::new(memory));
    let dataset =
        Dataset::open(Arc::clone(&store) as Arc<dyn Store>, None, &Version::Latest, soon()).await.unwrap();
    (store, dataset)
}

#[test]
fn the_newest_version_is_opened_with_three_requests() {
    run(async {
        let (store, _) = counted().await;
        let calls = store.take();
        let keys: Vec<&str> = calls.iter().map(|call| call.key.as_str()).collect();
        assert_eq!((keys.len(), keys[0], keys[1]), (3, keys::HINT, keys::log(4).as_str()));
        assert!(keys[2].starts_with(keys::SNAPSHOTS));
        assert!(calls.iter().all(|call| call.operation == Op::Get && call.bytes < 4096));
    });
}

#[test]
fn a_commit_writes_what_it_refers_to_and_two_objects_and_the_hint() {
    run(async {
        let (store, dataset) = counted().await;
        let add = put(&dataset, "C", 5, &[1], false).await.unwrap();
        store.take();
        let dataset = dataset.commit(&add, made(None), soon()).await.unwrap().dataset;
        let writes = |calls: &[StoreCall]| -> Vec<String> {
            let writing = calls.iter().filter(|call| matches!(call.operation, Op::Put | Op::Create));
            writing.map(|call| call.key.split('/').next().unwrap().to_owned()).collect()
        };
        let calls = store.take();
        assert_eq!(writes(&calls), ["snap", "log", "hint"]);
        // Besides, the version that only the hint named is read once.
        assert_eq!(calls.len(), 4);

        // Adding writes its own objects only: none that was there is written again, or read.
        let add = put(&dataset, "D", 6, &[1, 2], false).await.unwrap();
        assert!(store.take().iter().all(|call| call.operation == Op::Put));
        dataset.commit(&add, made(Some("job")), soon()).await.unwrap();
        let calls = store.take();
        assert_eq!(writes(&calls), ["job", "snap", "log", "hint"]);
        assert_eq!(calls.len(), 4);
    });
}

#[test]
fn who_is_far_behind_finds_the_newest_version_with_few_requests() {
    run(async {
        let (store, mut dataset) = counted().await;
        let old = dataset.clone();
        for n in 0..40 {
            let change = append(&**dataset.store(), &["A", "B"], n, 10).await.unwrap();
            dataset = dataset.commit(&change, made(None), soon()).await.unwrap().dataset;
        }
        store.take();
        assert_eq!(old.at(&Version::Latest, soon()).await.unwrap().version(), 43);
        assert!(store.count(Op::Get, keys::LOG) <= 12, "{}", store.count(Op::Get, keys::LOG));
        // Without the hint, and with one that is wrong.
        for hint in [None, Some("nonsense")] {
            store.delete(&[keys::HINT.to_owned()], soon()).await.unwrap();
            if let Some(hint) = hint {
                store.put(keys::HINT, hint.into(), soon()).await.unwrap();
            }
            let found =
                Dataset::open(Arc::clone(&store) as Arc<dyn Store>, None, &Version::Latest, soon()).await;
            assert_eq!(found.unwrap().version(), 43);
        }
    });
}
