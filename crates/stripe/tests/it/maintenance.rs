//! Expiry, collection with grace and leases, verification, copies, other bases.

use crate::world::{
    append, create, list, made, memory, open, open_at, put, read, run, soon, stored, two_segments,
};
use bytes::Bytes;
use sapwood_core::ErrorKind;
use sapwood_store::Store;
use sapwood_stripe::{
    Change, ChecksumOptions, ChecksumReport, Dataset, GcOptions, LeaseKind, Location, ObjectName, Retention,
    Version, checksum, keys,
};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const DAY: Duration = Duration::from_secs(24 * 3600);
const WEEK: GcOptions = GcOptions { grace: Duration::from_secs(7 * 24 * 3600), dry_run: false, alone: false };

/// Sets the clock of the store to the local time, by which versions are dated.
fn now(store: &sapwood_testkit::MemoryStore) {
    store.set_clock(SystemTime::now());
}

#[test]
fn an_expired_version_can_be_read_for_the_grace_period() {
    run(async {
        let store = memory();
        now(&store);
        let dataset = two_segments(&store).await;
        let replace = put(&dataset, "A", 3, &[1, 2], true).await.unwrap();
        let dataset = dataset.commit(&replace, made(None), soon()).await.unwrap().dataset;
        let (contents, _) = read(&dataset).await.unwrap();
        let all = stored(&*store).await;
        store.advance(8 * DAY);
        let oldest = dataset.expire(Retention { newest: Some(1), within: None }, true, soon()).await.unwrap();
        assert_eq!((oldest, open(&store).await.version()), (4, 4));
        assert_eq!(
            dataset.expire(Retention { newest: Some(1), within: None }, false, soon()).await.unwrap(),
            4
        );
        // The versions expired just now, although their objects are old.
        assert_eq!(dataset.collect(WEEK, soon()).await.unwrap().objects, []);
        assert!(open_at(&store, &Version::Number(3)).await.is_ok());
        store.advance(8 * DAY);
        let planned = dataset.collect(GcOptions { dry_run: true, ..WEEK }, soon()).await.unwrap();
        assert_eq!(stored(&*store).await, all);
        let done = dataset.collect(WEEK, soon()).await.unwrap();
        assert_eq!(done, planned);
        assert!(done.bytes > 0 && done.objects.len() == all.len() - stored(&*store).await.len());
        let newest = open(&store).await;
        assert_eq!(read(&newest).await.unwrap(), (contents, stored(&*store).await));
        let gone = open_at(&store, &Version::Number(3)).await.unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::Missing);
        assert_eq!(newest.log(0, soon()).await.unwrap().len(), 5, "the log keeps all its entries");
        let tag = newest.at(&Version::Number(4), soon()).await.unwrap().tag("four", soon()).await;
        assert!(tag.is_ok());
    });
}

#[test]
fn tags_and_leases_keep_versions() {
    run(async {
        let store = memory();
        now(&store);
        let dataset = two_segments(&store).await;
        let tagged = open_at(&store, &Version::Number(2)).await.unwrap();
        tagged.tag("paper", soon()).await.unwrap();
        let drop = Change::Drop { products: vec!["A".into()] };
        let newest = dataset.commit(&drop, made(None), soon()).await.unwrap().dataset;
        let lease = dataset.lease(LeaseKind::Reader, 30 * DAY, soon()).await.unwrap();
        newest.expire(Retention { newest: Some(1), within: None }, false, soon()).await.unwrap();
        store.advance(8 * DAY);
        newest.collect(WEEK, soon()).await.unwrap();
        assert!(read(&dataset).await.is_ok() && read(&tagged).await.is_ok());
        assert!(open_at(&store, &Version::Number(1)).await.is_err());
        lease.end(soon()).await.unwrap();
        newest.untag("paper", soon()).await.unwrap();
        // A removed tag still protects its version for the grace period.
        newest.collect(WEEK, soon()).await.unwrap();
        assert!(read(&tagged).await.is_ok());
        assert!(open_at(&store, &Version::Number(3)).await.is_err());
        store.advance(8 * DAY);
        newest.collect(WEEK, soon()).await.unwrap();
        assert!(open_at(&store, &Version::Number(2)).await.is_err());
        let again = newest.tag("paper", soon()).await.unwrap_err();
        assert!(again.kind() == ErrorKind::Usage && again.message().contains("removed"), "{again}");
    });
}

#[test]
fn an_expired_version_gets_neither_tag_nor_lease() {
    run(async {
        let store = memory();
        now(&store);
        let dataset = two_segments(&store).await;
        let old = open_at(&store, &Version::Number(2)).await.unwrap();
        dataset.expire(Retention { newest: Some(1), within: None }, false, soon()).await.unwrap();
        assert_eq!(old.tag("late", soon()).await.unwrap_err().kind(), ErrorKind::Missing);
        let restore = dataset.commit(&Change::Restore { version: 2 }, made(None), soon()).await;
        assert_eq!(restore.unwrap_err().kind(), ErrorKind::Missing);
        let lease = old.lease(LeaseKind::Reader, DAY, soon()).await;
        assert_eq!(lease.unwrap_err().kind(), ErrorKind::Missing);
        assert!(
            dataset.tags(soon()).await.unwrap().is_empty()
                && dataset.leases(soon()).await.unwrap().is_empty()
        );
    });
}

#[test]
fn leases_protect_slow_writers() {
    run(async {
        let store = memory();
        now(&store);
        let dataset = two_segments(&store).await;
        let mut lease = dataset.lease(LeaseKind::Writer, 10 * DAY, soon()).await.unwrap();
        store.advance(Duration::from_secs(1));
        let slow = append(&*store, &["A", "B"], 7, 30).await.unwrap();
        for _ in 0..3 {
            store.advance(8 * DAY);
            assert_eq!(dataset.collect(WEEK, soon()).await.unwrap().objects, []);
            lease.renew(soon()).await.unwrap();
        }
        let done = dataset.commit_under(&lease, &slow, made(None), soon()).await.unwrap().dataset;
        lease.end(soon()).await.unwrap();
        assert_eq!(read(&done).await.unwrap().0.len(), 3);

        // If the lease lapses, its objects are collected, and the commit is refused.
        let lapsing = dataset.lease(LeaseKind::Writer, Duration::from_millis(1), soon()).await.unwrap();
        let late = append(&*store, &["A", "B"], 8, 30).await.unwrap();
        tokio::time::sleep(Duration::from_millis(2)).await;
        store.advance(8 * DAY);
        assert!(!dataset.collect(WEEK, soon()).await.unwrap().objects.is_empty());
        let error = dataset.commit_under(&lapsing, &late, made(None), soon()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(read(&open(&store).await).await.is_ok());
    });
}

#[test]
fn versions_are_kept_by_time() {
    run(async {
        let store = memory();
        now(&store);
        let dataset = two_segments(&store).await;
        let keep = Retention { newest: None, within: Some(DAY) };
        assert_eq!(dataset.expire(keep, false, soon()).await.unwrap(), 1);
        store.advance(2 * DAY);
        assert_eq!(dataset.expire(Retention { newest: Some(2), ..keep }, true, soon()).await.unwrap(), 2);
        assert_eq!(dataset.expire(keep, false, soon()).await.unwrap(), 3);
        assert_eq!(open(&store).await.entry().oldest, 3);
        let nothing = dataset.expire(Retention::default(), false, soon()).await.unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::Usage);
        let short = GcOptions { grace: Duration::from_secs(60), ..WEEK };
        assert_eq!(dataset.collect(short, soon()).await.unwrap_err().kind(), ErrorKind::Usage);
    });
}

#[test]
fn unknown_writer_features_allow_reading_only() {
    run(async {
        let store = memory();
        let dataset = two_segments(&store).await;
        let key = keys::snapshot(dataset.snapshot().id);
        let mut newer = store.get(&key, None, soon()).await.unwrap().to_vec();
        newer[19] = 0x40;
        let sum = checksum(&newer[..56]).to_le_bytes();
        newer[56..64].copy_from_slice(&sum);
        store.put(&key, newer.into(), soon()).await.unwrap();
        let newer = open(&store).await;
        assert_eq!(read(&newer).await.unwrap(), read(&dataset).await.unwrap());
        store.advance(30 * DAY);
        let drop = Change::Drop { products: vec!["A".into()] };
        let restore = Change::Restore { version: 2 };
        for change in [&drop, &restore] {
            let refused = newer.commit(change, made(None), soon()).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Unsupported);
        }
        let keep = Retention { newest: Some(1), within: None };
        assert_eq!(newer.expire(keep, false, soon()).await.unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(newer.collect(WEEK, soon()).await.unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(open(&store).await.version(), 3);
    });
}

#[test]
fn nothing_is_collected_if_a_list_cannot_be_read() {
    run(async {
        let store = memory();
        let dataset = two_segments(&store).await;
        let list = store.list(keys::LISTS, soon()).await.unwrap().remove(0);
        let mut object = store.get(&list.key, None, soon()).await.unwrap().to_vec();
        *object.last_mut().unwrap() ^= 1;
        store.put(&list.key, object.into(), soon()).await.unwrap();
        append(&*store, &["A"], 9, 10).await.unwrap();
        let all = stored(&*store).await;
        store.advance(30 * DAY);
        let error = dataset.collect(WEEK, soon()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Checksum);
        assert!(error.to_string().contains(&list.key), "{error}");
        assert_eq!(stored(&*store).await, all);
    });
}

async fn verify(dataset: &Dataset) -> ChecksumReport {
    dataset.verify(ChecksumOptions::default(), soon()).await.unwrap()
}

#[test]
fn verification_names_object_product_and_entries() {
    run(async {
        let store = memory();
        let dataset = two_segments(&store).await;
        let good = verify(&dataset).await;
        assert!(good.wrong.is_empty() && good.objects == 4 + 4, "{good:?}");
        let segment = &dataset.snapshot().segments[0];
        let list = list(&dataset, (1, 0)).await.unwrap();
        let basket = list.basket(1, 2).unwrap();
        let Location::Object { object: ObjectName { id, .. }, offset } = basket.place else { panic!() };
        let key = keys::data(id);
        let whole = store.get(&key, None, soon()).await.unwrap();
        let mut flipped = whole.to_vec();
        flipped[usize::try_from(offset).unwrap() + 3] ^= 4;
        for damaged in [Some(Bytes::from(flipped)), Some(whole.slice(..whole.len() - 1)), None] {
            store.delete(std::slice::from_ref(&key), soon()).await.unwrap();
            if let Some(damaged) = damaged {
                store.put(&key, damaged, soon()).await.unwrap();
            }
            let report = verify(&dataset).await;
            let wrong = report.wrong.iter().find(|wrong| wrong.product.as_deref() == Some("B")).unwrap();
            assert!(wrong.object.ends_with(&key) && wrong.entries == (20, 5), "{wrong:?}");
        }
        store.put(&key, whole, soon()).await.unwrap();
        assert!(verify(&dataset).await.wrong.is_empty());
        let half = ChecksumOptions { fraction: 0.5, seed: 1 };
        let sample = dataset.verify(half, soon()).await.unwrap();
        assert!(sample.skipped > 0 && sample.skipped + sample.objects == good.objects);
        // An auxiliary file, an index and a list.
        let parts = [
            (keys::data(segment.auxiliary.as_ref().unwrap().id), 1),
            (keys::data(segment.events.as_ref().unwrap().id), 1),
            (keys::list(segment.lists[&1].id), 2),
        ];
        for (key, count) in parts {
            let whole = store.get(&key, None, soon()).await.unwrap();
            store.delete(std::slice::from_ref(&key), soon()).await.unwrap();
            let report = verify(&dataset).await;
            assert_eq!(report.wrong.len(), count, "{report:?}");
            assert!(report.wrong.iter().all(|wrong| wrong.object.ends_with(&key)), "{report:?}");
            store.put(&key, whole, soon()).await.unwrap();
        }
    });
}

#[test]
fn a_copy_has_all_kept_versions_and_can_be_updated() {
    run(async {
        let (store, other) = (memory(), memory());
        let dataset = two_segments(&store).await;
        open_at(&store, &Version::Number(2)).await.unwrap().tag("paper", soon()).await.unwrap();
        dataset.expire(Retention { newest: Some(1), within: None }, false, soon()).await.unwrap();
        append(&*store, &["A"], 9, 10).await.unwrap();
        let to = || Arc::clone(&other) as Arc<dyn Store>;
        let copied = open(&store).await.copy_to(to(), None, soon()).await.unwrap();
        assert!(copied.version == 4 && copied.there == 0 && copied.objects > 0);
        let copy = open(&other).await;
        assert_eq!(read(&copy).await.unwrap(), read(&dataset).await.unwrap());
        let paper = copy.at(&Version::Tag("paper".into()), soon()).await.unwrap();
        assert_eq!(read(&paper).await.unwrap().0.len(), 1);
        assert_eq!(copy.log(0, soon()).await.unwrap(), dataset.log(0, soon()).await.unwrap());
        assert!(
            stored(&*other).await.len() < stored(&*store).await.len(),
            "what nobody refers to stays behind"
        );
        // A second copy transfers only new objects.
        let more = append(&*store, &["A", "B"], 5, 20).await.unwrap();
        let newest = open(&store).await.commit(&more, made(None), soon()).await.unwrap().dataset;
        let copied = newest.copy_to(to(), None, soon()).await.unwrap();
        assert!(copied.version == 5 && copied.objects == 2 + 2 + 1 + 1, "{copied:?}");
        assert_eq!(read(&open(&other).await).await.unwrap(), read(&newest).await.unwrap());
        // A copy with its own changes.
        let own = append(&*other, &["A", "B"], 6, 20).await.unwrap();
        open(&other).await.commit(&own, made(None), soon()).await.unwrap();
        let error = newest.copy_to(to(), None, soon()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        let stranger = memory();
        create(&stranger).await;
        let error = newest.copy_to(stranger, None, soon()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
    });
}

#[test]
fn objects_may_be_in_other_bases() {
    run(async {
        let (store, other) = (memory(), memory());
        let dataset = two_segments(&store).await;
        let base = Change::AddBase { url: "memory:cold".into() };
        let dataset = dataset.commit(&base, made(None), soon()).await.unwrap().dataset;
        dataset.give_base("memory:cold", Arc::clone(&other) as Arc<dyn Store>);
        let Change::Append { products, mut segments } = append(&*other, &["A", "B"], 9, 10).await.unwrap()
        else {
            panic!("it is one");
        };
        for segment in &mut segments {
            segment.lists.values_mut().for_each(|list| list.base = 1);
            (segment.events, segment.auxiliary) = (None, None);
        }
        // The lists are in the other base; their stripes, with base number 0, are expected in this store.
        for object in other.list(keys::DATA, soon()).await.unwrap() {
            let content = other.get(&object.key, None, soon()).await.unwrap();
            store.put(&object.key, content, soon()).await.unwrap();
        }
        let change = Change::Append { products, segments };
        let dataset = dataset.commit(&change, made(None), soon()).await.unwrap().dataset;
        assert_eq!(read(&dataset).await.unwrap().0.len(), 3);
        assert!(verify(&dataset).await.wrong.is_empty());
    });
}
