//! Concurrent writers: each commit is made once, and the log has no gaps.

use crate::world::{append, made, memory, read, run, soon, sum};
use futures::future::join_all;
use sapwood_core::ErrorKind;
use sapwood_source::SourceOptions;
use sapwood_store::{CreateOutcome, Store, open_store};
use sapwood_stripe::{Change, Dataset, Version, probe};
use sapwood_testkit::{InstrumentedStore, MemoryStore, StoreFault};
use std::sync::Arc;

const WRITERS: u64 = 16;

/// All of them append to the version that they found, at the same time, each from a thread of its own.
async fn race(store: Arc<dyn Store>, rounds: u64) {
    let mut dataset = Dataset::create(Arc::clone(&store), None, "Events", made(None), soon()).await.unwrap();
    let mut sums: Vec<u64> = Vec::new();
    for round in 0..rounds {
        let base = dataset.version();
        let mut writers = Vec::new();
        for writer in 0..WRITERS {
            let (dataset, seed) = (dataset.clone(), round * WRITERS + writer);
            let change = match round % 2 {
                0 => append(&*store, &["A"], seed, 10).await.unwrap(),
                _ => Change::AddBase { url: format!("memory:{seed}") },
            };
            writers.push(tokio::spawn(async move {
                dataset
                    .commit(&change, made(Some(&format!("job {seed}"))), soon())
                    .await
                    .map(|done| done.version)
            }));
        }
        let versions = join_all(writers).await.into_iter().map(|end| end.unwrap().unwrap());
        let mut versions: Vec<u64> = versions.collect();
        versions.sort_unstable();
        assert_eq!(versions, (base + 1..=base + WRITERS).collect::<Vec<_>>());
        if round % 2 == 0 {
            sums.extend((0..WRITERS).map(|writer| sum("A", round * WRITERS + writer, 10)));
        }
        dataset = dataset.at(&Version::Latest, soon()).await.unwrap();
        assert_eq!(dataset.version(), base + WRITERS);
    }
    let log = dataset.log(0, soon()).await.unwrap();
    assert!(log.windows(2).all(|pair| pair[1].parent == pair[0].n && pair[1].n == pair[0].n + 1));
    let (contents, _) = read(&dataset).await.unwrap();
    let mut found: Vec<u64> = contents.iter().map(|(_, products)| products["A"]).collect();
    found.sort_unstable();
    sums.sort_unstable();
    assert_eq!(found, sums);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_writers_lose_nothing_in_memory() {
    race(memory(), 4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_writers_lose_nothing_in_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let store = open_store(directory.path().to_str().unwrap(), &SourceOptions::default()).unwrap();
    race(store, 2).await;
}

/// In several datasets, as the log and the snapshots grow. In a directory, a commit waits for the disk.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes"]
async fn a_thousand_races_lose_nothing() {
    for_one_entry(1000).await;
    for _ in 0..100 {
        race(memory(), 10).await;
    }
    for _ in 0..5 {
        let directory = tempfile::tempdir().unwrap();
        let store = open_store(directory.path().to_str().unwrap(), &SourceOptions::default()).unwrap();
        race(store, 10).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_races_for_one_entry_have_one_winner() {
    for_one_entry(50).await;
}

/// All create the same entry: exactly one is told that it did.
async fn for_one_entry(rounds: u64) {
    let directory = tempfile::tempdir().unwrap();
    let local = open_store(directory.path().to_str().unwrap(), &SourceOptions::default()).unwrap();
    for store in [memory() as Arc<dyn Store>, local] {
        for round in 0..rounds {
            let key = sapwood_stripe::keys::log(round + 1);
            let all = (0..WRITERS).map(|writer| {
                let (store, key) = (Arc::clone(&store), key.clone());
                tokio::spawn(
                    async move { store.create(&key, writer.to_string().into(), soon()).await.unwrap() },
                )
            });
            let ends = join_all(all).await;
            let won: Vec<u64> = (0..WRITERS)
                .zip(ends)
                .filter_map(|(writer, end)| matches!(end.unwrap(), CreateOutcome::Done).then_some(writer))
                .collect();
            let kept = store.get(&key, None, soon()).await.unwrap();
            assert_eq!((won.len(), kept), (1, won[0].to_string().into()));
        }
    }
}

#[tokio::test]
async fn a_store_whose_conditional_writes_are_not_atomic_is_refused() {
    let store = Arc::new(MemoryStore::new("memory:racy").without_atomic_create());
    let error = Dataset::create(store.clone(), None, "Events", made(None), soon()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("several writers"), "{error}");
    assert_eq!(store.list("", soon()).await.unwrap(), []);
    let store = memory();
    probe(&*store, soon()).await.unwrap();
    assert_eq!(store.list("", soon()).await.unwrap(), []);
}

#[test]
fn a_store_is_not_refused_because_answers_got_lost() {
    let calls = run(async {
        let faulty = InstrumentedStore::new(memory());
        probe(&faulty, soon()).await.unwrap();
        faulty.begun()
    });
    for call in 0..calls {
        for fault in [StoreFault::Before, StoreFault::After] {
            let end = run(async {
                let faulty = InstrumentedStore::new(memory());
                faulty.fail(call, fault);
                probe(&faulty, soon()).await
            });
            let refused = [ErrorKind::Unsupported, ErrorKind::NotFound];
            let kind = end.err().map(|error| error.kind());
            assert!(kind.is_none_or(|kind| !refused.contains(&kind)), "request {call}, {fault:?}: {kind:?}");
        }
    }
}
