//! Copies a dataset to another store, with its log and tags. Existing objects are not copied again, so an
//! interrupted copy can be resumed, and a copy can be updated.

use super::storage::Storage;
use super::{Dataset, Format};
use crate::log::{self, ClaimOutcome, Log};
use crate::{Id, keys};
use futures::{StreamExt, TryStreamExt, stream};
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use sapwood_store::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Objects to copy at once.
const TOGETHER: usize = 8;

/// The result of a copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// Number of copied objects.
    pub objects: u64,
    /// Their size, in bytes.
    pub bytes: u64,
    /// Number of objects that existed already.
    pub there: u64,
    /// The newest version of the copy.
    pub version: u64,
}

impl Dataset {
    /// Copies all kept versions and the tags, up to the newest version. Objects in other bases stay there.
    ///
    /// `log` is the log of the copy, if it is not in its store.
    ///
    /// # Errors
    /// `Conflict` if a different dataset is there, or if the copy has versions of its own; those of both
    /// stores.
    pub async fn copy_to(
        &self,
        store: Arc<dyn Store>,
        log: Option<Arc<dyn Log>>,
        deadline: Deadline,
    ) -> Result<CopyReport> {
        let storage = &self.storage;
        let missing = || Error::corrupt("the description of the dataset is missing").url(storage.url());
        let format = Format::read(&*storage.store, deadline).await?.ok_or_else(missing)?;
        let format = Format { log_elsewhere: log.is_some(), ..format };
        let other = |what: &str| Err(Error::new(ErrorKind::Conflict, what).url(store.url().to_owned()));
        if Format::read(&*store, deadline).await?.is_some_and(|there| there.dataset != format.dataset) {
            return other("there is another dataset");
        }
        let tip = storage.tip(deadline).await?;
        let tags = storage.tags_since(None, deadline).await?;
        let versions: BTreeSet<u64> =
            (tip.oldest..=tip.n).chain(tags.iter().map(|tag| tag.version)).collect();
        let snapshots: BTreeSet<Id> = storage.snapshots_of(versions, deadline).await?.into_values().collect();
        let reached = storage.reach(&snapshots, &snapshots, deadline).await?;

        let mut copied = CopyReport { version: tip.n, ..CopyReport::default() };
        for prefix in [keys::DATA, keys::LISTS, keys::SNAPSHOTS] {
            let there = store.list(prefix, deadline).await?;
            let there: BTreeMap<&str, u64> = there.iter().map(|one| (one.key.as_str(), one.size)).collect();
            let stored = storage.store.list(prefix, deadline).await?;
            let wanted = stored.iter().filter(|one| keys::id_in(&one.key).is_some() && reached.has(&one.key));
            let (old, new): (Vec<_>, Vec<_>) =
                wanted.partition(|one| there.get(one.key.as_str()) == Some(&one.size));
            copied.there += old.len() as u64;
            let new: Vec<String> = new.into_iter().map(|one| one.key.clone()).collect();
            let to = &*store;
            let each =
                stream::iter(new).map(|key| async move { storage.copy_object(to, &key, deadline).await });
            let sizes: Vec<u64> = each.buffer_unordered(TOGETHER).try_collect().await?;
            copied.objects += sizes.len() as u64;
            copied.bytes += sizes.iter().sum::<u64>();
        }
        if format.write(&*store, deadline).await?.dataset != format.dataset {
            return other("there is another dataset");
        }
        let copy = Storage::new(Arc::clone(&store), log);
        let from = log::newest_after(&*copy.log, 0, deadline).await?.map_or(0, |entry| entry.n);
        // The last existing entry tells whether the copy has versions of its own: each writer also wrote the
        // next.
        for entry in log::range(&*storage.log, from.min(tip.n).max(1), tip.n, deadline).await? {
            if let ClaimOutcome::Theirs(_) = log::claim(&*copy.log, &entry, deadline).await? {
                return other("the copy has versions of its own");
            }
        }
        if from > tip.n {
            return other("the copy has versions of its own");
        }
        for prefix in [keys::TAGS, keys::GONE, keys::JOBS] {
            for record in storage.store.list(prefix, deadline).await? {
                storage.copy_object(&*store, &record.key, deadline).await?;
            }
        }
        copy.advise(&tip, deadline).await;
        Ok(copied)
    }
}

impl Storage {
    /// Copies an object unchanged: its checksum is in it, and in what refers to it.
    async fn copy_object(&self, to: &dyn Store, key: &str, deadline: Deadline) -> Result<u64> {
        let object = self.store.get(key, None, deadline).await?;
        let len = object.len() as u64;
        to.put(key, object, deadline).await?;
        Ok(len)
    }
}
