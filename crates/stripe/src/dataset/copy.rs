//! Copies a dataset to another store, with its log and tags. What is there already is not copied again, so that a copy can
//! be cut off and taken up, and brought up to date.

use super::{Dataset, Home, create::Format};
use crate::log::{self, Claim, Log};
use crate::{Id, keys};
use futures::{StreamExt, TryStreamExt, stream};
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use sapwood_store::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Objects that are copied at once.
const TOGETHER: usize = 8;

/// What was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    /// Number of objects that were copied.
    pub objects: u64,
    /// Their size, in bytes.
    pub bytes: u64,
    /// Number of objects that were there already.
    pub there: u64,
    /// The newest version of the copy.
    pub version: u64,
}

impl Dataset {
    /// Copies all versions that are kept, and the tags, up to the newest version. Objects in other bases stay there.
    ///
    /// `log` is that of the copy, where it is not in its store.
    ///
    /// # Errors
    /// `Conflict` if there is another dataset, or the copy has versions of its own; those of both stores.
    pub async fn copy_to(
        &self,
        store: Arc<dyn Store>,
        log: Option<Arc<dyn Log>>,
        deadline: Deadline,
    ) -> Result<Copied> {
        let place = &self.place;
        let missing = || Error::corrupt("the description of the dataset is missing").url(place.url());
        let format = Format::read(&*place.store, deadline).await?.ok_or_else(missing)?;
        let format = Format { log_elsewhere: log.is_some(), ..format };
        let other = |what: &str| Err(Error::new(ErrorKind::Conflict, what).url(store.url().to_owned()));
        if Format::read(&*store, deadline).await?.is_some_and(|there| there.dataset != format.dataset) {
            return other("there is another dataset");
        }
        let tip = place.tip(deadline).await?;
        let tags = place.tags_since(None, deadline).await?;
        let versions: BTreeSet<u64> =
            (tip.oldest..=tip.n).chain(tags.iter().map(|tag| tag.version)).collect();
        let snapshots: BTreeSet<Id> = place.snapshots_of(versions, deadline).await?.into_values().collect();
        let reached = place.reach(&snapshots, &snapshots, deadline).await?;

        let mut copied = Copied { version: tip.n, ..Copied::default() };
        for prefix in [keys::DATA, keys::LISTS, keys::SNAPSHOTS] {
            let there = store.list(prefix, deadline).await?;
            let there: BTreeMap<&str, u64> = there.iter().map(|one| (one.key.as_str(), one.size)).collect();
            let stored = place.store.list(prefix, deadline).await?;
            let wanted = stored.iter().filter(|one| keys::id_in(&one.key).is_some() && reached.has(&one.key));
            let (old, new): (Vec<_>, Vec<_>) =
                wanted.partition(|one| there.get(one.key.as_str()) == Some(&one.size));
            copied.there += old.len() as u64;
            let new: Vec<String> = new.into_iter().map(|one| one.key.clone()).collect();
            let to = &*store;
            let each =
                stream::iter(new).map(|key| async move { place.copy_object(to, &key, deadline).await });
            let sizes: Vec<u64> = each.buffer_unordered(TOGETHER).try_collect().await?;
            copied.objects += sizes.len() as u64;
            copied.bytes += sizes.iter().sum::<u64>();
        }
        if format.write(&*store, deadline).await?.dataset != format.dataset {
            return other("there is another dataset");
        }
        let copy = Home::new(Arc::clone(&store), log);
        let from = log::newest_after(&*copy.log, 0, deadline).await?.map_or(0, |entry| entry.n);
        // The last entry that is there says whether the copy has versions of its own: who wrote one wrote the next.
        for entry in log::range(&*place.log, from.min(tip.n).max(1), tip.n, deadline).await? {
            if let Claim::Theirs(_) = log::claim(&*copy.log, &entry, deadline).await? {
                return other("the copy has versions of its own");
            }
        }
        if from > tip.n {
            return other("the copy has versions of its own");
        }
        for prefix in [keys::TAGS, keys::GONE, keys::JOBS] {
            for record in place.store.list(prefix, deadline).await? {
                place.copy_object(&*store, &record.key, deadline).await?;
            }
        }
        copy.advise(&tip, deadline).await;
        Ok(copied)
    }
}

impl Home {
    /// Copies an object as it is: its checksum is in it, and in what refers to it.
    async fn copy_object(&self, to: &dyn Store, key: &str, deadline: Deadline) -> Result<u64> {
        let object = self.store.get(key, None, deadline).await?;
        let len = object.len() as u64;
        to.put(key, object, deadline).await?;
        Ok(len)
    }
}
