//! Tests a store against the contract of `sapwood_store::Store`.

use crate::sample;
use bytes::Bytes;
use futures::future::join_all;
use futures::{StreamExt, stream};
use sapwood_core::{ByteRange, Deadline, Error, ErrorKind, Result};
use sapwood_store::{CreateOutcome, Store};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Writers in a race.
const WRITERS: usize = 16;

/// Requests in flight.
const IN_FLIGHT: usize = 32;

/// More objects than fit on one page of a listing.
const MANY: usize = 1100;

/// Tolerance for clocks with a resolution of seconds, and between different clocks.
const TOLERANCE: Duration = Duration::from_secs(2);

/// Checks that a store keeps its contract. It must be empty, and is empty afterwards. `rounds` is the number of races.
///
/// # Panics
/// If it does not.
pub async fn store_conformance(store: Arc<dyn Store>, rounds: usize) {
    let store = &*store;
    reports_missing_objects(store).await;
    reads_what_was_written(store).await;
    reads_ranges(store).await;
    refuses_illegal_keys(store).await;
    creates_once(store).await;
    one_of_many_creates(&[store], rounds).await;
    shows_whole_objects(store).await;
    lists_and_removes(store).await;
    has_a_consistent_clock(store).await;
    keeps_deadlines(store).await;
}

/// Races writers that create the same object, each through one of several stores for the same location.
///
/// # Panics
/// If not exactly one writer succeeds, or if the object is from another one.
pub async fn store_race(ways: &[Arc<dyn Store>], rounds: usize) {
    let ways: Vec<_> = ways.iter().map(|way| &**way).collect();
    one_of_many_creates(&ways, rounds).await;
}

/// The deadline of operations that should be fast.
fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(60))
}

/// The value; panics on an error.
#[expect(clippy::panic, reason = "a failed test")]
fn must<T>(result: Result<T>, what: &str) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("could not {what}: {error}"),
    }
}

fn kind<T>(result: Result<T>) -> Option<ErrorKind> {
    result.as_ref().err().map(Error::kind)
}

async fn put(store: &dyn Store, key: &str, content: impl Into<Bytes>) {
    must(store.put(key, content.into(), soon()).await, "put");
}

async fn get(store: &dyn Store, key: &str) -> Bytes {
    must(store.get(key, None, soon()).await, "get")
}

async fn keys(store: &dyn Store, prefix: &str) -> Vec<String> {
    must(store.list(prefix, soon()).await, "list").into_iter().map(|stored| stored.key).collect()
}

async fn delete(store: &dyn Store, keys: &[String]) {
    must(store.delete(keys, soon()).await, "delete");
}

async fn reports_missing_objects(store: &dyn Store) {
    assert_eq!(keys(store, "").await, Vec::<String>::new(), "the store is empty at first");
    let part = ByteRange { start: 0, len: 1 };
    let nothing = ByteRange { start: 0, len: 0 };
    for range in [None, Some(part), Some(nothing)] {
        assert_eq!(kind(store.get("a/b", range, soon()).await), Some(ErrorKind::NotFound), "{range:?}");
    }
    let missing = store.stat("a/b", soon()).await;
    let error = missing.as_ref().err().map(Error::to_string).unwrap_or_default();
    assert!(error.contains(&format!("{}/a/b", store.url())), "an error names the object: {error}");
    assert_eq!(kind(missing), Some(ErrorKind::NotFound));
    assert_eq!(keys(store, "a/").await, Vec::<String>::new());
    delete(store, &["a/b".to_owned()]).await;
    delete(store, &[]).await;
}

async fn reads_what_was_written(store: &dyn Store) {
    for size in [0, 1, 1000, 3 << 20] {
        put(store, "w/one", sample(size)).await;
        assert!(get(store, "w/one").await == sample(size), "{size} bytes are read back");
        let stat = must(store.stat("w/one", soon()).await, "stat");
        assert_eq!((stat.key.as_str(), stat.size), ("w/one", size as u64));
    }
    let odd = "w/a.b_c=d+e@f-g/00000000000000000001";
    put(store, odd, "x").await;
    assert_eq!(get(store, odd).await, "x");
    assert_eq!(keys(store, "w/").await, [odd, "w/one"]);
    delete(store, &["w/one".to_owned(), odd.to_owned()]).await;
    assert_eq!(
        kind(store.get(odd, None, soon()).await),
        Some(ErrorKind::NotFound),
        "a deleted object is gone"
    );
}

async fn reads_ranges(store: &dyn Store) {
    let content = sample(10_000);
    put(store, "r", content.clone()).await;
    for (start, len) in [(0, 10_000), (0, 1), (9_999, 1), (10_000, 0), (0, 0), (1234, 4321)] {
        let range = ByteRange { start, len };
        let part = must(store.get("r", Some(range), soon()).await, "get a range");
        assert!(part == content[start as usize..(start + len) as usize], "{range}");
    }
    for (start, len) in [(0, 10_001), (9_999, 2), (10_000, 1), (20_000, 5)] {
        let range = ByteRange { start, len };
        assert_eq!(kind(store.get("r", Some(range), soon()).await), Some(ErrorKind::Truncated), "{range}");
    }
    put(store, "r", "").await;
    let range = ByteRange { start: 0, len: 1 };
    assert_eq!(kind(store.get("r", Some(range), soon()).await), Some(ErrorKind::Truncated), "of nothing");
    delete(store, &["r".to_owned()]).await;
}

async fn refuses_illegal_keys(store: &dyn Store) {
    for key in ["", "/", "/a", "a/", "..", "a/../../b", ".part/a", "a b", "a%2Fb", "a?b"] {
        let kinds = [
            kind(store.get(key, None, soon()).await),
            kind(store.put(key, "x".into(), soon()).await),
            kind(store.create(key, "x".into(), soon()).await),
            kind(store.stat(key, soon()).await),
            kind(store.delete(&[key.to_owned()], soon()).await),
        ];
        assert_eq!(kinds, [Some(ErrorKind::Usage); 5], "'{key}' is illegal");
    }
    assert_eq!(kind(store.list("../", soon()).await), Some(ErrorKind::Usage));
}

async fn creates_once(store: &dyn Store) {
    let create = |content: &'static str| store.create("c/one", content.into(), soon());
    assert!(matches!(must(create("first").await, "create"), CreateOutcome::Done));
    assert!(matches!(must(create("second").await, "create"), CreateOutcome::Exists));
    assert_eq!(get(store, "c/one").await, "first");
    put(store, "c/one", "third").await;
    assert!(matches!(must(create("fourth").await, "create"), CreateOutcome::Exists));
    delete(store, &["c/one".to_owned()]).await;
    assert!(matches!(must(create("fifth").await, "create"), CreateOutcome::Done));
    delete(store, &["c/one".to_owned()]).await;
}

/// Exactly one of the writers that create the same object succeeds, or at most one if an outcome is unclear, and the
/// object is from that writer.
async fn one_of_many_creates(ways: &[&dyn Store], rounds: usize) {
    let store = ways[0];
    let mut made = Vec::new();
    for round in 0..rounds {
        let key = format!("race/{round:020}");
        let writers = (0..WRITERS).map(|writer| {
            let (store, key, content) = (ways[writer % ways.len()], &key, sample(100 + writer));
            async move { must(store.create(key, content, soon()).await, "create") }
        });
        let outcomes = join_all(writers).await;
        let content = get(store, &key).await;
        let is_done = |outcome: &CreateOutcome| matches!(outcome, CreateOutcome::Done);
        let done: Vec<_> = (0..WRITERS).zip(&outcomes).filter(|(_, outcome)| is_done(outcome)).collect();
        assert!(done.len() <= 1, "{} of {WRITERS} writers created {key}", done.len());
        let unclear = outcomes.iter().any(|outcome| matches!(outcome, CreateOutcome::Unclear(_)));
        let winner = (0..WRITERS).find(|writer| content == sample(100 + writer));
        match done.first() {
            Some((writer, _)) => assert_eq!(winner, Some(*writer), "the object is from its creator"),
            None => assert!(unclear && winner.is_some(), "some writer created {key}"),
        }
        made.push(key);
    }
    assert_eq!(keys(store, "race/").await, made, "every object is listed");
    delete(store, &made).await;
}

async fn shows_whole_objects(store: &dyn Store) {
    let versions = [sample(700_000), sample(900_000)];
    put(store, "t", versions[0].clone()).await;
    let write = async {
        for round in 0..20 {
            put(store, "t", versions[round % 2].clone()).await;
        }
    };
    let read = async {
        for _ in 0..20 {
            let content = get(store, "t").await;
            assert!(versions.contains(&content), "{} bytes are of neither version", content.len());
        }
    };
    futures::join!(write, read, async {
        for _ in 0..20 {
            let size = must(store.stat("t", soon()).await, "stat").size;
            assert!(versions.iter().any(|version| version.len() as u64 == size), "{size} bytes");
        }
    });
    delete(store, &["t".to_owned()]).await;
}

async fn lists_and_removes(store: &dyn Store) {
    let all: Vec<_> = (0..MANY).map(|i| format!("l/{:02}/{i:06}", i % 7)).collect();
    let puts = all.iter().map(|key| put(store, key, sample(key.len())));
    stream::iter(puts).buffer_unordered(IN_FLIGHT).collect::<()>().await;
    put(store, "l2", "beside").await;
    let mut sorted = all.clone();
    sorted.sort_unstable();
    let listed = must(store.list("l/", soon()).await, "list");
    assert!(listed.iter().all(|stored| stored.size == stored.key.len() as u64), "sizes are listed");
    assert_eq!(listed.into_iter().map(|stored| stored.key).collect::<Vec<_>>(), sorted);
    assert_eq!(keys(store, "").await.len(), MANY + 1);
    for prefix in ["l", "l/0", "l/03", "l/03/", "l/03/0000", "l/03/000003", "l/9", "none/"] {
        let mut wanted: Vec<_> = sorted.iter().filter(|key| key.starts_with(prefix)).cloned().collect();
        wanted.extend((prefix == "l").then(|| "l2".to_owned()));
        assert_eq!(keys(store, prefix).await, wanted, "keys that begin with '{prefix}'");
    }
    put(store, "l/00/000001", "new").await;
    assert!(keys(store, "l/00/").await.contains(&"l/00/000001".to_owned()), "a new object is listed at once");
    let removed: Vec<_> = all.into_iter().chain(["l2", "l/00/000001", "none"].map(str::to_owned)).collect();
    delete(store, &removed).await;
    assert_eq!(keys(store, "").await, Vec::<String>::new(), "the store is empty again");
}

async fn has_a_consistent_clock(store: &dyn Store) {
    let before = must(store.now(soon()).await, "read the clock");
    put(store, "time", "x").await;
    let modified = must(store.stat("time", soon()).await, "stat").modified;
    let listed = must(store.list("time", soon()).await, "list")[0].modified;
    let after = must(store.now(soon()).await, "read the clock");
    for time in [modified, listed] {
        assert!(before <= time + TOLERANCE && time <= after + TOLERANCE, "{before:?} {time:?} {after:?}");
    }
    delete(store, &["time".to_owned()]).await;
}

async fn keeps_deadlines(store: &dyn Store) {
    let passed = Deadline::at(Instant::now());
    let kinds = [
        kind(store.get("a", None, passed).await),
        kind(store.put("a", "x".into(), passed).await),
        kind(store.create("a", "x".into(), passed).await),
        kind(store.list("", passed).await),
        kind(store.stat("a", passed).await),
        kind(store.delete(&["a".to_owned()], passed).await),
        kind(store.now(passed).await),
    ];
    assert_eq!(kinds, [Some(ErrorKind::Timeout); 7]);
}
