//! Every request of every operation fails, before or after it took effect, alone or as the last one of a process: existing
//! data is unchanged, the operation is complete or has no effect, and its leftovers are collected.

use crate::world::{Contents, append, made, memory, open, put, read, run, soon, stored, two_segments};
use sapwood_core::{ErrorKind, Result};
use sapwood_store::Store;
use sapwood_stripe::{Change, Dataset, GcOptions, LeaseKind, Retention, Version};
use sapwood_testkit::{InstrumentedStore, MemoryStore, StoreFault};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Op {
    Append,
    Add,
    Replace,
    Drop,
    Restore,
    /// While another commits the same version.
    Second,
    Tag,
    Untag,
    Lease,
    Expire,
    Collect,
}

const NOW: GcOptions = GcOptions { grace: Duration::ZERO, dry_run: false, alone: true };

/// A dataset of five versions, with a tag and something to collect.
async fn begin() -> Arc<MemoryStore> {
    let store = memory();
    let dataset = two_segments(&store).await;
    let replace = put(&dataset, "A", 3, &[1], true).await.unwrap();
    let dataset = dataset.commit(&replace, made(None), soon()).await.unwrap().dataset;
    dataset.tag("kept", soon()).await.unwrap();
    append(&*store, &["A"], 4, 20).await.unwrap();
    // Later than all that was done by our clock.
    store.set_clock(SystemTime::now() + Duration::from_secs(60));
    store
}

async fn work(store: Arc<dyn Store>, other: &Arc<MemoryStore>, op: Op, job: Option<&str>) -> Result<()> {
    let dataset = Dataset::open(Arc::clone(&store), None, &Version::Latest, soon()).await?;
    let change = match op {
        Op::Append => append(&*store, &["A", "B"], 9, 20).await?,
        Op::Second => {
            let change = append(&*store, &["A", "B"], 9, 20).await?;
            let first = append(&**other, &["A", "B"], 8, 10).await?;
            open(other).await.commit(&first, made(Some("first")), soon()).await?;
            change
        }
        Op::Add => put(&dataset, "C", 9, &[1, 2], false).await?,
        Op::Replace => put(&dataset, "A", 9, &[2], true).await?,
        Op::Drop => Change::Drop { products: vec!["B".into()] },
        Op::Restore => Change::Restore { version: 2 },
        Op::Tag => return dataset.tag("new", soon()).await.map(drop),
        Op::Untag => return dataset.untag("kept", soon()).await,
        Op::Lease => {
            let mut lease = dataset.lease(LeaseKind::Reader, Duration::from_secs(60), soon()).await?;
            lease.renew(soon()).await?;
            return lease.end(soon()).await;
        }
        Op::Expire => {
            return dataset
                .expire(Retention { newest: Some(2), within: None }, false, soon())
                .await
                .map(drop);
        }
        Op::Collect => return dataset.collect(NOW, soon()).await.map(drop),
    };
    dataset.commit(&change, made(job), soon()).await.map(drop)
}

/// What all versions hold; None for those that are there no more.
async fn versions(store: &Arc<MemoryStore>) -> Vec<Option<Contents>> {
    let dataset = open(store).await;
    let mut all = Vec::new();
    for n in 1..=dataset.version() {
        let at = dataset.at(&Version::Number(n), soon()).await;
        all.push(match at {
            Ok(at) => Some(read(&at).await.unwrap().0),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Missing);
                None
            }
        });
    }
    all
}

/// What all versions that are kept refer to.
async fn referred(store: &Arc<MemoryStore>) -> BTreeSet<String> {
    let dataset = open(store).await;
    let tags = dataset.tags(soon()).await.unwrap();
    let kept = (dataset.entry().oldest..=dataset.version()).chain(tags.iter().map(|tag| tag.version));
    let mut all = BTreeSet::new();
    for n in kept {
        let at = dataset.at(&Version::Number(n), soon()).await.unwrap();
        all.extend(read(&at).await.unwrap().1);
    }
    all
}

#[test]
fn every_request_of_every_operation_may_fail() {
    let ops = [
        Op::Append,
        Op::Add,
        Op::Replace,
        Op::Drop,
        Op::Restore,
        Op::Second,
        Op::Tag,
        Op::Untag,
        Op::Lease,
        Op::Expire,
        Op::Collect,
    ];
    for op in ops {
        let (calls, new) = run(async {
            let store = begin().await;
            let faulty = Arc::new(InstrumentedStore::new(store.clone()));
            work(Arc::clone(&faulty) as Arc<dyn Store>, &store, op, Some("job")).await.unwrap();
            (faulty.begun(), versions(&store).await)
        });
        assert!(calls > 3, "{op:?}");
        for call in 0..calls {
            for fault in [StoreFault::Before, StoreFault::After] {
                for dies in [false, true] {
                    run(one_fault(op, call, fault, dies, &new));
                }
            }
        }
    }
}

async fn one_fault(op: Op, call: u64, fault: StoreFault, dies: bool, new: &[Option<Contents>]) {
    let place = format!("{op:?}, request {call}, {fault:?}, dies: {dies}");
    let store = begin().await;
    let old = versions(&store).await;
    let faulty = Arc::new(InstrumentedStore::new(store.clone()));
    if dies {
        faulty.die(call, fault)
    } else {
        faulty.fail(call, fault)
    }
    let end = work(faulty, &store, op, Some("job")).await;

    let now = versions(&store).await;
    if op != Op::Collect {
        let first = if op == Op::Second && now.len() > old.len() { 1 } else { 0 };
        let made = now.len() > old.len() + first;
        let wanted = if made { new } else { &new[..old.len() + first] };
        assert_eq!(now, wanted, "{place}");
        let commits = !matches!(op, Op::Tag | Op::Untag | Op::Lease);
        match &end {
            Ok(()) => assert!(made || !commits, "{place}"),
            Err(error) if made => assert_eq!(error.kind(), ErrorKind::CommitUnknown, "{place}: {error:?}"),
            Err(_) => {}
        }
    }
    // Who asks again, or runs the same job again, is done, and once only.
    let again = work(Arc::clone(&store) as Arc<dyn Store>, &store, op, Some("job")).await;
    if let Err(error) = again {
        // A tag that was removed; the products of a change that was made for what was there before.
        let known = match op {
            Op::Untag => ErrorKind::Missing,
            _ => ErrorKind::Usage,
        };
        assert_eq!(error.kind(), known, "{place}: {error:?}");
        assert!(matches!(op, Op::Untag | Op::Add | Op::Drop), "{place}: {error:?}");
    }
    assert_eq!(versions(&store).await, new, "{place}");

    // Nothing is left behind, and nothing else is gone.
    open(&store).await.collect(NOW, soon()).await.unwrap();
    assert_eq!(stored(&*store).await, referred(&store).await, "{place}");
    let kept = versions(&store).await;
    assert!(kept.iter().zip(new).all(|(is, was)| is.is_none() || is == was), "{place}");
}

#[test]
fn a_creation_that_was_cut_off_is_taken_up() {
    let made_by = |store: Arc<dyn Store>| Dataset::create(store, None, "Events", made(None), soon());
    let calls = run(async {
        let faulty = Arc::new(InstrumentedStore::new(memory()));
        made_by(Arc::clone(&faulty) as Arc<dyn Store>).await.unwrap();
        faulty.begun()
    });
    for call in 0..calls {
        for fault in [StoreFault::Before, StoreFault::After] {
            run(async {
                let store = memory();
                let faulty = Arc::new(InstrumentedStore::new(store.clone()));
                faulty.die(call, fault);
                let first = made_by(faulty).await;
                let second = made_by(Arc::clone(&store) as Arc<dyn Store>).await;
                let there = second.is_ok() || second.is_err_and(|error| error.kind() == ErrorKind::Usage);
                assert!(there, "request {call}, {fault:?}: {first:?}");
                assert_eq!(open(&store).await.version(), 1);
            });
        }
    }
}

#[test]
fn an_answer_that_never_comes_leaves_the_commit_unknown_and_the_job_finds_out() {
    run(async {
        let store = begin().await;
        let faulty = Arc::new(InstrumentedStore::new(store.clone()));
        let dataset = Dataset::open(Arc::clone(&faulty) as Arc<dyn Store>, None, &Version::Latest, soon())
            .await
            .unwrap();
        let change = append(&*store, &["A", "B"], 9, 20).await.unwrap();
        // The mark of the job, the version that the hint names, the snapshot, then the entry.
        faulty.die(faulty.begun() + 3, StoreFault::After);
        let error = dataset.commit(&change, made(Some("job")), soon()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CommitUnknown);
        assert!(error.hint_text().is_some_and(|hint| hint.contains("nothing was deleted")));
        let again = open(&store).await.commit(&change, made(Some("job")), soon()).await.unwrap();
        assert!(again.already && again.version == dataset.version() + 1);
        assert_eq!(again.dataset.version(), dataset.version() + 1);
    });
}
