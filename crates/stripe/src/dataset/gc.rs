//! Deletes objects that no version refers to. Log entries, tags and marks of jobs are never deleted.
//!
//! Nothing is deleted that was written, or expired, less than a grace period ago, or under a live lease: it
//! may belong to a commit in progress, or to a reader. All times are by the clock of the store.

use super::Dataset;
use super::commit::LONGEST;
use super::leases::{LeaseKind, StoredLease};
use super::storage::Storage;
use super::time::ms_of;
use crate::log::{self, LogEntry};
use crate::{Id, keys};
use sapwood_core::{Deadline, Error, Result};
use sapwood_store::ObjectInfo;
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

/// Objects to delete with one call.
const TOGETHER: usize = 1000;
/// Clocks of stores have a resolution of seconds, and differ a little between their parts.
const MARGIN: Duration = Duration::from_secs(60);

/// Options of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GcOptions {
    /// Objects younger than this, or expired since, are kept. At least two hours, unless `alone`.
    pub grace: Duration,
    /// Only reports what would be deleted.
    pub dry_run: bool,
    /// Asserts that no other process reads or writes: any grace period is long enough.
    pub alone: bool,
}

impl Default for GcOptions {
    /// Seven days; nothing is deleted.
    fn default() -> Self {
        GcOptions { grace: Duration::from_secs(7 * 24 * 3600), dry_run: true, alone: false }
    }
}

/// What was, or would be, deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GcReport {
    /// The deleted objects.
    pub objects: Vec<ObjectInfo>,
    /// Their size in bytes.
    pub bytes: u64,
    /// Number of objects that versions refer to, or that are too young.
    pub kept: u64,
    /// Number of versions that were examined.
    pub versions: u64,
}

impl Dataset {
    /// Deletes the objects that no version refers to that is kept, or was kept until a grace period ago.
    ///
    /// # Errors
    /// `Usage` if the grace period is too short; those of the store. If anything that a version refers to
    /// cannot be read, nothing is deleted.
    pub async fn collect(&self, options: GcOptions, deadline: Deadline) -> Result<GcReport> {
        let least = 2 * LONGEST;
        if options.grace < least && !options.alone {
            let hours = least.as_secs() / 3600;
            return Err(Error::usage(format!(
                "a grace period of less than {hours} hours is too short for current writers"
            ))
            .hint("assert that no other process uses the dataset, if that is so"));
        }
        self.storage.collect(options, deadline).await
    }
}

impl Storage {
    async fn collect(&self, options: GcOptions, deadline: Deadline) -> Result<GcReport> {
        let now = self.store.now(deadline).await?;
        let leases: Vec<StoredLease> = self.leases(deadline).await?;
        let young = now.checked_sub(options.grace).unwrap_or(SystemTime::UNIX_EPOCH);
        let live = |lease: &&StoredLease| lease.until + MARGIN > now;
        let writing = (leases.iter().filter(live))
            .filter(|lease| lease.kind == LeaseKind::Writer)
            .filter_map(|lease| lease.since.checked_sub(MARGIN))
            .min();
        let young = writing.map_or(young, |since| since.min(young));

        let tip = self.tip(deadline).await?;
        let kept = self.kept(&tip, young, options.alone, deadline).await?;
        let mut must: BTreeSet<Id> = kept.range(tip.oldest..).map(|(_, id)| *id).collect();
        let mut all: BTreeSet<Id> = kept.values().copied().collect();
        let reading = leases.iter().filter(live).filter(|lease| lease.kind == LeaseKind::Reader);
        let tags = self.tags_since(None, deadline).await?;
        let held = tags.iter().map(|tag| tag.version).chain(reading.map(|lease| lease.version)).collect();
        must.extend(self.snapshots_of(held, deadline).await?.into_values());
        // A removed tag holds its version for the grace period; the version may be gone, if the period was
        // shorter once.
        let tags = self.tags_since(Some(young), deadline).await?;
        let held = tags.iter().map(|tag| tag.version).collect();
        all.extend(self.snapshots_of(held, deadline).await?.into_values());
        all.extend(&must);
        let reached = self.reach(&all, &must, deadline).await?;

        let mut collected = GcReport { versions: all.len() as u64, ..GcReport::default() };
        // Snapshots first: a half-deleted version counts as missing.
        for prefix in [keys::SNAPSHOTS, keys::LISTS, keys::DATA] {
            for object in self.store.list(prefix, deadline).await? {
                // Some stores have a resolution of seconds: the order within the same second is unknown.
                let old = if options.alone { object.modified <= young } else { object.modified < young };
                if !old || reached.has(&object.key) {
                    collected.kept += 1;
                    continue;
                }
                collected.bytes += object.size;
                collected.objects.push(object);
            }
        }
        if !options.dry_run {
            let lapsed = leases.iter().filter(|lease| !live(lease) && lease.until < young);
            let dead = lapsed.map(|lease| lease.key.clone());
            let dead: Vec<String> = collected.objects.iter().map(|one| one.key.clone()).chain(dead).collect();
            for keys in dead.chunks(TOGETHER) {
                self.store.delete(keys, deadline).await?;
            }
        }
        Ok(collected)
    }

    /// Versions that are kept, or were at that moment, and their snapshots.
    async fn kept(
        &self,
        tip: &LogEntry,
        moment: SystemTime,
        alone: bool,
        deadline: Deadline,
    ) -> Result<std::collections::BTreeMap<u64, Id>> {
        let moment = ms_of(moment);
        let early = |entry: &LogEntry| if alone { entry.time_ms <= moment } else { entry.time_ms < moment };
        let then = log::last_where(&*self.log, (1, tip.n), early, deadline).await?;
        let oldest = then.map_or(1, |entry| entry.oldest);
        let entries = log::range(&*self.log, oldest, tip.n, deadline).await?;
        Ok(entries.into_iter().map(|entry| (entry.n, entry.snapshot)).collect())
    }
}
