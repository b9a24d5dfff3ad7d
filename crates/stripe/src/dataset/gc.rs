//! Deletes objects that no version refers to. Entries of the log, tags and marks of jobs are never deleted.
//!
//! Nothing is deleted that was written, or expired, less than a time of grace ago, or under a lease that is live: it may
//! belong to a commit that is on its way, or to somebody who reads. All times are by the clock of the store.

use super::commit::{LONGEST, ms_of};
use super::leases::{LeaseKind, Leased};
use super::{Dataset, Home};
use crate::log::{self, Entry};
use crate::{Id, keys};
use sapwood_core::{Deadline, Error, Result};
use sapwood_store::ObjectInfo;
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

/// Objects that are deleted with one call.
const TOGETHER: usize = 1000;
/// Clocks of stores tell seconds, and those of their parts differ a little.
const MARGIN: Duration = Duration::from_secs(60);

/// What is collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GcOptions {
    /// What is younger, or expired since, is kept. At least two hours, unless `alone`.
    pub grace: Duration,
    /// Nothing is deleted; it is only said what would be.
    pub dry_run: bool,
    /// Nobody reads or writes meanwhile: any grace is long enough.
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
pub struct Collected {
    /// The objects.
    pub objects: Vec<ObjectInfo>,
    /// Their size in bytes.
    pub bytes: u64,
    /// Number of objects that versions refer to, or that are too young.
    pub kept: u64,
    /// Number of versions that were looked at.
    pub versions: u64,
}

impl Dataset {
    /// Deletes the objects that no version refers to which is kept, or was until a time of grace ago.
    ///
    /// # Errors
    /// `Usage` for a grace that is too short; those of the store. If anything that a version refers to cannot be read,
    /// nothing is deleted.
    pub async fn collect(&self, options: GcOptions, deadline: Deadline) -> Result<Collected> {
        let least = 2 * LONGEST;
        if options.grace < least && !options.alone {
            let hours = least.as_secs() / 3600;
            return Err(Error::usage(format!("less than {hours} hours are too short for who writes now"))
                .hint("say that nobody else reads or writes the dataset, if that is so"));
        }
        self.place.collect(options, deadline).await
    }
}

impl Home {
    async fn collect(&self, options: GcOptions, deadline: Deadline) -> Result<Collected> {
        let now = self.store.now(deadline).await?;
        let leases: Vec<Leased> = self.leases(deadline).await?;
        let young = now.checked_sub(options.grace).unwrap_or(SystemTime::UNIX_EPOCH);
        let live = |lease: &&Leased| lease.until + MARGIN > now;
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
        // A tag that was removed holds its version for the time of grace; it may be gone, if that was shorter once.
        let tags = self.tags_since(Some(young), deadline).await?;
        let held = tags.iter().map(|tag| tag.version).collect();
        all.extend(self.snapshots_of(held, deadline).await?.into_values());
        all.extend(&must);
        let reached = self.reach(&all, &must, deadline).await?;

        let mut collected = Collected { versions: all.len() as u64, ..Collected::default() };
        // Snapshots first: a version that is half deleted is one that is not there.
        for prefix in [keys::SNAPSHOTS, keys::LISTS, keys::DATA] {
            for object in self.store.list(prefix, deadline).await? {
                // The clock shows seconds in some stores: of the same second, nothing is known.
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
        tip: &Entry,
        moment: SystemTime,
        alone: bool,
        deadline: Deadline,
    ) -> Result<std::collections::BTreeMap<u64, Id>> {
        let moment = ms_of(moment);
        let early = |entry: &Entry| if alone { entry.time_ms <= moment } else { entry.time_ms < moment };
        let then = log::last_where(&*self.log, (1, tip.n), early, deadline).await?;
        let oldest = then.map_or(1, |entry| entry.oldest);
        let entries = log::range(&*self.log, oldest, tip.n, deadline).await?;
        Ok(entries.into_iter().map(|entry| (entry.n, entry.snapshot)).collect())
    }
}
