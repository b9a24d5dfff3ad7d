//! Where a dataset lies: its store, its log, and everything that can be read without knowing a version.

use super::bases::Bases;
use super::format::Format;
use super::version::{Tag, check_tag};
use crate::log::{self, Log, LogEntry, ObjectLog};
use crate::record;
use crate::{Id, Snapshot, keys};
use futures::future::try_join;
use futures::{StreamExt, TryStreamExt, stream};
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use sapwood_store::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

/// Hints for datasets that exist, but cannot be opened.
pub(super) const NAME_LOG: &str = "say which database it is in: log=URL, or --log URL";
pub(super) const CREATE_AGAIN: &str = "create it again";

/// Tags to read at once.
pub(super) const TOGETHER: usize = 16;

/// The store, the log and the bases of a dataset.
#[derive(Debug)]
pub(super) struct Storage {
    pub(super) store: Arc<dyn Store>,
    pub(super) log: Arc<dyn Log>,
    pub(super) bases: Bases,
}

impl Storage {
    pub(super) fn new(store: Arc<dyn Store>, log: Option<Arc<dyn Log>>) -> Storage {
        let log = log.unwrap_or_else(|| Arc::new(ObjectLog::new(Arc::clone(&store))));
        Storage { store, log, bases: Bases::default() }
    }

    pub(super) fn url(&self) -> &str {
        self.store.url()
    }

    /// The newest entry, without a hint.
    pub(super) async fn search(&self, deadline: Deadline) -> Result<LogEntry> {
        if let Some(entry) = log::newest_after(&*self.log, 0, deadline).await? {
            return Ok(entry);
        }
        let format = Format::read(&*self.store, deadline).await?;
        let missing = |message: &str| Error::new(ErrorKind::NotFound, message).url(self.url());
        let here = self.log.url() == self.store.url();
        Err(match format {
            None => missing("there is no dataset here"),
            Some(format) if format.log_elsewhere && here => {
                missing("the log of this dataset is not in its store").hint(NAME_LOG)
            }
            Some(format) if !format.log_elsewhere && !here => {
                missing("the log of this dataset is in its store").hint("open it without another log")
            }
            Some(_) => {
                missing("the dataset here has no version: its creation was interrupted").hint(CREATE_AGAIN)
            }
        })
    }

    /// The newest entry.
    pub(super) async fn tip(&self, deadline: Deadline) -> Result<LogEntry> {
        // A wrong hint must not decide what is kept: the entry itself is read.
        let hint = log::hint(&*self.log, deadline).await?.map_or(0, |entry| entry.n);
        let known = match hint {
            0 => None,
            n => log::read(&*self.log, n, deadline).await?,
        };
        let Some(known) = known else { return self.search(deadline).await };
        Ok(log::newest_after(&*self.log, known.n, deadline).await?.unwrap_or(known))
    }

    /// Why a version has no snapshot: it expired, or the object is lost.
    pub(super) async fn gone(&self, entry: &LogEntry, deadline: Deadline) -> Result<Error> {
        let kept = entry.n >= self.tip(deadline).await?.oldest
            || self.tags_since(None, deadline).await?.iter().any(|tag| tag.version == entry.n);
        Ok(match kept {
            true => Error::corrupt(format!("the snapshot of version {} is lost", entry.n))
                .url(record::url_of(&*self.store, &keys::snapshot(entry.snapshot)))
                .hint("other versions can be read; nothing is deleted until it is restored"),
            false => Error::new(ErrorKind::Missing, format!("version {} no longer exists", entry.n))
                .url(self.url())
                .hint("it expired; tags keep versions"),
        })
    }

    pub(super) async fn snapshot(&self, id: Id, deadline: Deadline) -> Result<Snapshot> {
        let key = keys::snapshot(id);
        let object = self.store.get(&key, None, deadline).await?;
        let decoded = Snapshot::decode(&object).and_then(|snapshot| match snapshot.id == id {
            true => Ok(snapshot),
            false => Err(Error::corrupt(format!("the snapshot {id} says that it is {}", snapshot.id))),
        });
        decoded.map_err(|error| error.url(record::url_of(&*self.store, &key)))
    }

    /// A tag, unless it was removed.
    pub(super) async fn tag(&self, name: &str, deadline: Deadline) -> Result<Option<Tag>> {
        check_tag(name)?;
        let (tag, gone) = (keys::tag(name), keys::gone(name));
        let store = &*self.store;
        let (tag, gone) =
            try_join(record::read::<Tag>(store, &tag, deadline), record::read::<Tag>(store, &gone, deadline))
                .await?;
        Ok(tag.filter(|_| gone.is_none()))
    }

    /// All tags, including those that were removed after a moment.
    pub(super) async fn tags_since(
        &self,
        moment: Option<SystemTime>,
        deadline: Deadline,
    ) -> Result<Vec<Tag>> {
        let store = &*self.store;
        let (tags, gone) =
            try_join(store.list(keys::TAGS, deadline), store.list(keys::GONE, deadline)).await?;
        let old = |removed: SystemTime| moment.is_none_or(|moment| removed < moment);
        let gone: BTreeSet<&str> = (gone.iter().filter(|one| old(one.modified)))
            .filter_map(|one| one.key.strip_prefix(keys::GONE))
            .collect();
        let keys: Vec<String> = (tags.iter().map(|one| one.key.clone()))
            .filter(|key| key.strip_prefix(keys::TAGS).is_some_and(|name| !gone.contains(name)))
            .collect();
        let read = stream::iter(keys).map(|key| async move {
            let tag = record::read::<Tag>(store, &key, deadline).await?;
            tag.ok_or_else(|| {
                Error::corrupt("a tag is listed, but not in the store").url(record::url_of(store, &key))
            })
        });
        read.buffered(TOGETHER).try_collect().await
    }

    /// The snapshots of versions.
    pub(super) async fn snapshots_of(
        &self,
        versions: BTreeSet<u64>,
        deadline: Deadline,
    ) -> Result<BTreeMap<u64, Id>> {
        let read = stream::iter(versions).map(|n| async move {
            let entry = log::range(&*self.log, n, n, deadline).await?.pop();
            let missing = || Error::corrupt(format!("entry {n} of the log is missing")).url(self.log.url());
            entry.map(|entry| (n, entry.snapshot)).ok_or_else(missing)
        });
        read.buffered(TOGETHER).try_collect().await
    }

    /// The store of a base of a snapshot, by number.
    pub(super) fn base(&self, snapshot: &Snapshot, base: u32) -> Result<Arc<dyn Store>> {
        let Some(number) = base.checked_sub(1) else { return Ok(Arc::clone(&self.store)) };
        let url =
            usize::try_from(number).ok().and_then(|number| snapshot.bases.get(number)).ok_or_else(|| {
                Error::corrupt(format!("the dataset has no base {base}, which an object refers to"))
                    .url(self.url())
            })?;
        self.bases.get(url)
    }
}
