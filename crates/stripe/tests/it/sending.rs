//! Datasets can be used from any thread.

use crate::world::{made, memory, run, soon, two_segments};
use sapwood_store::Store;
use sapwood_stripe::{
    Change, ChecksumOptions, Dataset, GcOptions, LeaseKind, Retention, Version, read_lists,
};
use std::sync::Arc;
use std::time::Duration;

fn send<T: Send>(future: T) -> T {
    future
}

#[test]
fn every_operation_can_be_sent_to_another_thread() {
    run(async {
        let store = memory();
        let dataset = two_segments(&store).await;
        let to = || Arc::clone(&store) as Arc<dyn Store>;
        let (version, made, week) = (Version::Latest, || made(None), GcOptions::default());
        send(Dataset::open(to(), None, &version, soon())).await.unwrap();
        send(Dataset::open_or_create(to(), None, "Events", made(), soon())).await.unwrap();
        send(dataset.at(&version, soon())).await.unwrap();
        send(dataset.log(0, soon())).await.unwrap();
        send(read_lists(&*store, dataset.snapshot(), vec![(0, 0)], soon())).await.unwrap();
        send(dataset.tag("a", soon())).await.unwrap();
        send(dataset.tags(soon())).await.unwrap();
        send(dataset.untag("a", soon())).await.unwrap();
        send(dataset.describe(true, soon())).await.unwrap();
        send(dataset.verify(ChecksumOptions::default(), soon())).await.unwrap();
        send(dataset.collect(week, soon())).await.unwrap();
        send(dataset.expire(Retention { newest: Some(9), within: None }, false, soon())).await.unwrap();
        send(dataset.copy_to(memory(), None, soon())).await.unwrap();
        send(dataset.leases(soon())).await.unwrap();
        let mut lease =
            send(dataset.lease(LeaseKind::Writer, Duration::from_secs(60), soon())).await.unwrap();
        send(lease.renew(soon())).await.unwrap();
        let change = Change::Restore { version: 2 };
        send(dataset.commit_under(&lease, &change, made(), soon())).await.unwrap();
        send(lease.end(soon())).await.unwrap();
        let newest = send(dataset.commit(&change, made(), soon())).await;
        assert!(newest.is_err(), "it is another version now");
    });
}
