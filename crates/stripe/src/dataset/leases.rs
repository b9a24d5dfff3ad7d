//! Leases: a reader states which version it reads, a writer that it writes. Objects under a lease are not
//! collected until it lapses, by the clock of the store.

use super::Dataset;
use super::storage::{Storage, TOGETHER};
use super::time::ms_of;
use crate::record::{self, sealed};
use crate::{Id, keys};
use futures::{StreamExt, TryStreamExt, stream};
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// The holder of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LeaseKind {
    /// A reader: its version is kept.
    Reader,
    /// A writer: objects written since the lease began are kept.
    Writer,
}

/// The content of a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct LeaseRecord {
    id: Id,
    kind: LeaseKind,
    /// The version that was open when it began.
    version: u64,
    /// How long it lasts after it was written, in milliseconds.
    ttl_ms: u64,
    /// When it was first written, in milliseconds since 1970 by the clock of the store; none the first time.
    since_ms: Option<u64>,
}

/// A lease that is held. It must be renewed before it lapses, and ended when it is no longer needed.
#[derive(Debug)]
pub struct Lease {
    storage: Arc<Storage>,
    says: LeaseRecord,
    /// It lapses no earlier than this, by the local clock.
    until: Instant,
}

/// A lease in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLease {
    /// Its key.
    pub key: String,
    /// Its holder.
    pub kind: LeaseKind,
    /// The version that was open when it began.
    pub version: u64,
    /// When it began.
    pub since: SystemTime,
    /// When it lapses.
    pub until: SystemTime,
}

impl Dataset {
    /// Begins a lease on this version: a reader's keeps the version, a writer's keeps what is written from
    /// now on.
    ///
    /// # Errors
    /// `Missing` if a reader's version has expired already; those of the store.
    pub async fn lease(&self, kind: LeaseKind, ttl: Duration, deadline: Deadline) -> Result<Lease> {
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        let says = LeaseRecord { id: Id::random(), kind, version: self.entry.n, ttl_ms, since_ms: None };
        let mut lease = Lease { storage: Arc::clone(&self.storage), says, until: Instant::now() };
        self.be_sure(deadline).await?;
        lease.write(deadline).await?;
        if kind == LeaseKind::Writer {
            return Ok(lease);
        }
        let tip = self.storage.tip(deadline).await?;
        if self.entry.n < tip.oldest && !self.held_by_tag("", deadline).await? {
            lease.end(deadline).await?;
            let message = format!("version {} has expired", self.entry.n);
            return Err(Error::new(ErrorKind::Missing, message).url(self.storage.url()));
        }
        Ok(lease)
    }

    /// All leases, including those that have lapsed.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn leases(&self, deadline: Deadline) -> Result<Vec<StoredLease>> {
        self.storage.leases(deadline).await
    }
}

impl Lease {
    /// Whether it has not lapsed.
    pub fn is_live(&self) -> bool {
        Instant::now() < self.until
    }

    /// When it lapses, by the local clock; by that of the store, a little later.
    pub fn ends(&self) -> Deadline {
        Deadline::at(self.until)
    }

    /// Its key in the store.
    pub fn key(&self) -> String {
        keys::lease(self.says.id)
    }

    /// Checks that it has not lapsed.
    pub(super) fn check(&self) -> Result<()> {
        match self.is_live() {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Conflict, "the lease has lapsed: what it kept may be gone")
                .url(self.storage.url())
                .hint("renew leases before they lapse; write the data again")),
        }
    }

    /// Renews it from now on.
    ///
    /// # Errors
    /// `Conflict` if it has lapsed; those of the store.
    pub async fn renew(&mut self, deadline: Deadline) -> Result<()> {
        self.check()?;
        if self.says.since_ms.is_none() {
            let stored = self.storage.store.stat(&self.key(), deadline).await?;
            self.says.since_ms = Some(ms_of(stored.modified));
        }
        self.write(deadline.min(self.ends())).await
    }

    async fn write(&mut self, deadline: Deadline) -> Result<()> {
        let begin = Instant::now();
        self.storage.store.put(&self.key(), sealed(&self.says)?, deadline).await?;
        let ttl = Duration::from_millis(self.says.ttl_ms).min(Deadline::LONGEST);
        self.until = begin + ttl;
        Ok(())
    }

    /// Ends it.
    ///
    /// # Errors
    /// Those of the store; the lease then lapses by itself.
    pub async fn end(&self, deadline: Deadline) -> Result<()> {
        self.storage.store.delete(&[self.key()], deadline).await
    }
}

impl Storage {
    pub(super) async fn leases(&self, deadline: Deadline) -> Result<Vec<StoredLease>> {
        let store = &*self.store;
        let stored = store.list(keys::LEASES, deadline).await?;
        let read = stream::iter(stored).map(|one| async move {
            let Some(says) = record::read::<LeaseRecord>(store, &one.key, deadline).await? else {
                return Ok(None);
            };
            let first = says.since_ms.map(|ms| SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(ms)));
            let until = one.modified.checked_add(Duration::from_millis(says.ttl_ms).min(Deadline::LONGEST));
            Ok(Some(StoredLease {
                key: one.key,
                kind: says.kind,
                version: says.version,
                since: first.flatten().unwrap_or(one.modified).min(one.modified),
                until: until.unwrap_or(one.modified),
            }))
        });
        let leases: Vec<Option<StoredLease>> = read.buffered(TOGETHER).try_collect().await?;
        Ok(leases.into_iter().flatten().collect())
    }
}
