//! A dataset at one of its versions.

mod bases;
mod commit;
mod copy;
mod create;
mod describe;
mod events;
mod expire;
mod format;
mod fragments;
mod gc;
mod leases;
mod objects;
mod probe;
mod reach;
mod receive;
mod storage;
mod tags;
mod time;
mod verify;
mod version;

pub use commit::CommitOutcome;
pub use copy::CopyReport;
pub use describe::{DescribedProduct, DescribedSegment, Description};
pub use expire::Retention;
pub use format::Format;
pub use fragments::Fragments;
pub use gc::{GcOptions, GcReport};
pub use leases::{Lease, LeaseKind, StoredLease};
pub use objects::{ListIndex, ListSections, read_lists};
pub use probe::probe;
pub use receive::RECEIPTS_LAST;
pub use verify::{ChecksumOptions, ChecksumReport, Damage};
pub use version::{Tag, Version};

use crate::Snapshot;
use crate::log::{self, Log, LogEntry};
use crate::record::found;
use futures::future::join;
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use sapwood_source::SourceOptions;
use sapwood_store::Store;
use std::sync::Arc;
use storage::{CREATE_AGAIN, NAME_LOG, Storage};

/// A dataset at one of its versions. Later commits do not change it.
#[derive(Debug, Clone)]
pub struct Dataset {
    storage: Arc<Storage>,
    entry: LogEntry,
    snapshot: Arc<Snapshot>,
    /// The entry was read from the log, not only from the hint.
    sure: bool,
}

impl Dataset {
    /// Opens the dataset in a store. `log` is given if the log is not in that store.
    ///
    /// The newest version takes three small requests, in two round trips, if the hint is current.
    ///
    /// # Errors
    /// `NotFound` if there is no dataset, `Missing` if it does not have that version, or no longer; those of
    /// the store, and of damaged objects.
    pub async fn open(
        store: Arc<dyn Store>,
        log: Option<Arc<dyn Log>>,
        version: &Version,
        deadline: Deadline,
    ) -> Result<Dataset> {
        let storage = Arc::new(Storage::new(store, log));
        match version {
            Version::Latest => Dataset::newest(&storage, None, deadline).await,
            _ => Dataset::at_version(&storage, version, deadline).await,
        }
    }

    /// The dataset at another version.
    ///
    /// # Errors
    /// As [`Dataset::open`].
    pub async fn at(&self, version: &Version, deadline: Deadline) -> Result<Dataset> {
        match version {
            Version::Latest => Dataset::newest(&self.storage, Some(self.entry.clone()), deadline).await,
            _ => Dataset::at_version(&self.storage, version, deadline).await,
        }
    }

    /// Whether the error of opening a dataset means that one exists that cannot be opened this way.
    pub fn is_there(error: &Error) -> bool {
        error.hint_text().is_some_and(|hint| [NAME_LOG, CREATE_AGAIN].contains(&hint))
    }

    /// The contents of this version.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Its entry in the log.
    pub fn entry(&self) -> &LogEntry {
        &self.entry
    }

    /// Its number.
    pub fn version(&self) -> u64 {
        self.entry.n
    }

    /// The store of the dataset.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.storage.store
    }

    /// The store of a base, by its number in [`Snapshot::bases`]; number 0 is the dataset itself.
    ///
    /// # Errors
    /// `Corrupt` if there is no such base; those of [`sapwood_store::open_store`].
    pub fn base(&self, base: u32) -> Result<Arc<dyn Store>> {
        self.storage.base(&self.snapshot, base)
    }

    /// Sets the store of a base, in place of the one that its URL names.
    pub fn give_base(&self, url: &str, store: Arc<dyn Store>) {
        self.storage.bases.give(url, store);
    }

    /// Sets how the stores of bases are opened: by [`SourceOptions::for_url`]. Default: from the environment.
    pub fn open_bases_with(&self, options: SourceOptions) {
        self.storage.bases.open_with(options);
    }

    /// The entries of the log after number `after`, up to the newest.
    ///
    /// # Errors
    /// Those of the log.
    pub async fn log(&self, after: u64, deadline: Deadline) -> Result<Vec<LogEntry>> {
        let log = &*self.storage.log;
        let newest = log::newest_after(log, self.entry.n, deadline).await?;
        let last = newest.map_or(self.entry.n, |entry| entry.n);
        log::range(log, after + 1, last, deadline).await
    }
}

impl Dataset {
    /// The newest version; `known` is an entry that exists.
    async fn newest(storage: &Arc<Storage>, known: Option<LogEntry>, deadline: Deadline) -> Result<Dataset> {
        let sure = known.is_some();
        let known = match known {
            Some(entry) => Some(entry),
            None => log::hint(&*storage.log, deadline).await?,
        };
        let Some(known) = known else {
            let entry = storage.search(deadline).await?;
            return Dataset::load(storage, entry, deadline).await;
        };
        let newer = log::newest_after(&*storage.log, known.n, deadline);
        match join(newer, storage.snapshot(known.snapshot, deadline)).await {
            (Ok(Some(entry)), _) => Dataset::load(storage, entry, deadline).await,
            (Ok(None), Ok(snapshot)) => {
                Ok(Dataset { storage: Arc::clone(storage), entry: known, snapshot: Arc::new(snapshot), sure })
            }
            // A hint may be outdated, or of another dataset.
            (Ok(None), Err(error)) if !sure && error.kind() == ErrorKind::NotFound => {
                let entry = storage.search(deadline).await?;
                Dataset::load(storage, entry, deadline).await
            }
            (Err(error), _) | (_, Err(error)) => Err(error),
        }
    }

    async fn at_version(storage: &Arc<Storage>, version: &Version, deadline: Deadline) -> Result<Dataset> {
        let missing = |message: String| Error::new(ErrorKind::Missing, message).url(storage.url());
        let entry = match version {
            Version::Number(number) => log::read(&*storage.log, (*number).max(1), deadline)
                .await?
                .filter(|entry| entry.n == *number)
                .ok_or_else(|| missing(format!("the dataset has no version {number}")))?,
            Version::Tag(name) => {
                let tag = storage.tag(name, deadline).await?;
                let tag = tag.ok_or_else(|| missing(format!("the dataset has no tag '{name}'")))?;
                log::range(&*storage.log, tag.version, tag.version, deadline)
                    .await?
                    .pop()
                    .ok_or_else(|| missing(format!("the tag '{name}' names a version that does not exist")))?
            }
            Version::Time(time) => {
                let tip = storage.tip(deadline).await?;
                let early = |entry: &LogEntry| entry.time_ms <= *time;
                let last = log::last_where(&*storage.log, (1, tip.n), early, deadline).await?;
                last.ok_or_else(|| missing("the dataset did not exist at that time".to_owned()))?
            }
            Version::Latest => storage.tip(deadline).await?,
        };
        Dataset::load(storage, entry, deadline).await
    }

    /// The dataset at an entry that was read.
    async fn load(storage: &Arc<Storage>, entry: LogEntry, deadline: Deadline) -> Result<Dataset> {
        let Some(snapshot) = found(storage.snapshot(entry.snapshot, deadline).await)? else {
            return Err(storage.gone(&entry, deadline).await?);
        };
        Ok(Dataset { storage: Arc::clone(storage), entry, snapshot: Arc::new(snapshot), sure: true })
    }
}
