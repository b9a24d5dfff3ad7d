//! Many processes store and one commits: each job once, however often it is retried.

use crate::world::{made, memory, open, read, run, segment, soon, sum, two_segments};
use sapwood_core::ErrorKind;
use sapwood_store::Store;
use sapwood_stripe::{Change, Dataset, GcOptions, LeaseKind, RECEIPTS_LAST, Receipt};
use std::time::Duration;

/// What a worker does: entries are stored under a lease that is left.
async fn work(dataset: &Dataset, job: &str, attempt: u32, seed: u64) -> Receipt {
    let lease = dataset.lease(LeaseKind::Writer, RECEIPTS_LAST, soon()).await.unwrap();
    let stored = segment(&**dataset.store(), &["A", "B"], seed, 20).await.unwrap();
    let job = (job.to_owned(), attempt);
    let receipt = dataset.receipt(job, vec![stored], lease.key(), Vec::new(), soon()).await.unwrap();
    Receipt::from_json(&receipt.to_json().unwrap()).unwrap()
}

#[test]
fn a_job_is_committed_once_whatever_is_handed_in_again() {
    run(async {
        let store = memory();
        let base = two_segments(&store).await;
        let (one, two) = (work(&base, "one", 1, 5).await, work(&base, "two", 1, 6).await);
        let again = work(&base, "two", 2, 7).await;
        let now = GcOptions { grace: Duration::ZERO, dry_run: false, alone: true };
        assert_eq!(base.collect(now, soon()).await.unwrap().objects, []);
        let first =
            base.receive(&[one.clone(), two.clone(), again.clone()], made(None), soon()).await.unwrap();
        assert_eq!((first.version, first.already), (4, false));
        for receipts in [vec![one.clone()], vec![two, again]] {
            let done = base.receive(&receipts, made(None), soon()).await.unwrap();
            assert_eq!((done.version, done.already), (4, true));
        }
        assert_eq!(open(&store).await.leases(soon()).await.unwrap(), []);
        // What another attempt stored is in no version.
        assert!(!base.collect(now, soon()).await.unwrap().objects.is_empty());
        let (contents, _) = read(&open(&store).await).await.unwrap();
        let sums: Vec<_> = contents.iter().map(|(_, products)| products["A"]).collect();
        assert_eq!(sums[2..], [sum("A", 5, 20), sum("A", 6, 20)]);
        // The jobs of an old version that is made the newest again may be done again.
        let restored = open(&store).await.commit(&Change::Restore { version: 3 }, made(None), soon()).await;
        assert!(restored.unwrap().dataset.snapshot().jobs.is_empty());
    });
}

#[test]
fn what_may_be_gone_or_is_another_thing_now_is_not_committed() {
    run(async {
        let store = memory();
        let base = two_segments(&store).await;
        let refused = async |receipt: &Receipt| {
            let end = base.receive(std::slice::from_ref(receipt), made(None), soon()).await;
            end.unwrap_err().kind()
        };
        let receipt = work(&base, "one", 1, 5).await;
        let foreign = Receipt { lease: "fmt".into(), ..receipt.clone() };
        assert_eq!(refused(&foreign).await, ErrorKind::Conflict);
        let mut renamed = receipt.clone();
        renamed.products[0].branches = vec![7, 8];
        assert_eq!(refused(&renamed).await, ErrorKind::Conflict);
        let mut longer = receipt.clone();
        longer.segments[0].entries += 1;
        assert_eq!(refused(&longer).await, ErrorKind::Corrupt);
        store.advance(RECEIPTS_LAST + Duration::from_secs(1));
        assert_eq!(refused(&receipt).await, ErrorKind::Conflict);
        assert_eq!(open(&store).await.version(), 3);
        assert!(store.get("fmt", None, soon()).await.is_ok());
    });
}
