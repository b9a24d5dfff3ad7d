//! Commits: the snapshot is stored, then the next entry of the log is created. A writer that loses the race
//! rebases its change on the new version and retries, unless the two conflict.

use super::storage::Storage;
use super::time::now_ms;
use super::{Dataset, Lease, Version};
use crate::change::Change;
use crate::log::{self, ClaimOutcome, LogEntry};
use crate::record;
use crate::{Id, Provenance, Snapshot, keys};
use futures::future::try_join;
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many lost races make a commit give up.
const TRIES: u32 = 50;
/// A commit takes no longer than this: what it has written and not yet named in the log is too young to be
/// collected.
pub(super) const LONGEST: Duration = Duration::from_secs(3600);
/// The longest duration assumed for one try, in pauses between tries.
const LONGEST_SLOT: Duration = Duration::from_secs(1);

/// The result of a commit.
#[derive(Debug, Clone)]
pub struct CommitOutcome {
    /// The dataset with the change.
    pub dataset: Dataset,
    /// The version that made the change.
    pub version: u64,
    /// The job had committed the change before: nothing was changed now.
    pub already: bool,
}

/// Marks that a job began to commit: its entry comes after this one in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CommitMark {
    job: String,
    after: u64,
}

impl Dataset {
    /// Applies a change, which was prepared for this version, to the newest one. Everything the change refers
    /// to is stored.
    ///
    /// After a lost race, the change is rebased on the new version, unless that changed what it builds upon.
    /// A job commits once: if it runs again after its commit, the result says so. In addition to what the
    /// change refers to, a commit writes the snapshot, the log entry, the hint, and the mark of a job.
    ///
    /// # Errors
    /// `Conflict` if others changed the same, or if the commit keeps losing races; `CommitUnknown` if it is
    /// unknown whether it succeeded, in which case nothing was deleted; `Usage` if the change is invalid;
    /// those of the store.
    pub async fn commit(
        &self,
        change: &Change,
        made: Provenance,
        deadline: Deadline,
    ) -> Result<CommitOutcome> {
        self.commit_as(change, made, deadline.within(LONGEST))
            .await
            .map_err(|error| error.url(self.storage.url()))
    }

    /// As [`Dataset::commit`], for objects written under a lease: fails if the lease has lapsed.
    ///
    /// # Errors
    /// As [`Dataset::commit`]; `Conflict` if the lease has lapsed.
    pub async fn commit_under(
        &self,
        lease: &Lease,
        change: &Change,
        made: Provenance,
        deadline: Deadline,
    ) -> Result<CommitOutcome> {
        lease.check()?;
        self.commit(change, made, deadline.min(lease.ends())).await
    }

    async fn commit_as(
        &self,
        change: &Change,
        made: Provenance,
        deadline: Deadline,
    ) -> Result<CommitOutcome> {
        let made = Provenance { operation: change.operation().into(), ..made };
        if let Some((job, _)) = &made.job
            && let Some(done) = self.done_before(job, deadline).await?
        {
            return self.already(done, deadline).await;
        }
        let old = match change {
            Change::Restore { version } => Some(self.at(&Version::Number(*version), deadline).await?),
            _ => None,
        };
        let commit = Id::random();
        let (mut tip, mut slot) = (self.clone(), None);
        for lost in 0..TRIES {
            let begin = Instant::now();
            if change.is_in(&tip.snapshot) {
                let version = tip.entry.n;
                return Ok(CommitOutcome { dataset: tip, version, already: true });
            }
            let n = tip.entry.n + 1;
            let made = Provenance { time_ms: now_ms().max(tip.entry.time_ms), ..made.clone() };
            if let Some(old) = &old {
                old.check_kept(&tip.entry, deadline).await?;
            }
            let old = old.as_ref().map(|old| &*old.snapshot);
            let next = change.apply(&self.snapshot, &tip.snapshot, old, (n, made.clone()))?;
            let entry = LogEntry::new((n, next.id), made, change.words(), commit, tip.entry.oldest);
            match tip.claim(&next, &entry, deadline).await? {
                ClaimOutcome::Ours => {
                    self.storage.advise(&entry, deadline).await;
                    let storage = Arc::clone(&self.storage);
                    let dataset = Dataset { storage, entry, snapshot: Arc::new(next), sure: true };
                    return Ok(CommitOutcome { dataset, version: n, already: false });
                }
                ClaimOutcome::Theirs(first) => {
                    tip = Dataset::newest(&self.storage, Some(first), deadline).await?;
                    if let Some((job, _)) = &entry.job
                        && let Some(done) = self.job_in((n, tip.entry.n), job, deadline).await?
                    {
                        return self.already(done, deadline).await;
                    }
                    let slot = *slot.get_or_insert_with(|| begin.elapsed().min(LONGEST_SLOT));
                    pause(slot, lost, deadline).await;
                }
            }
        }
        Err(Error::new(ErrorKind::Conflict, format!("other commits came first {TRIES} times"))
            .hint("nothing was changed; let one process commit the work of many"))
    }

    /// Stores a snapshot, and tries to make it the next version.
    pub(super) async fn claim(
        &self,
        next: &Snapshot,
        entry: &LogEntry,
        deadline: Deadline,
    ) -> Result<ClaimOutcome> {
        self.snapshot.check_writable()?;
        let (key, object) = (keys::snapshot(next.id), next.encode()?);
        try_join(self.storage.store.put(&key, object, deadline), self.be_sure(deadline)).await?;
        log::claim(&*self.storage.log, entry, deadline).await
    }

    /// Checks that this version is in the log: otherwise, the next one would leave a gap.
    pub(super) async fn be_sure(&self, deadline: Deadline) -> Result<()> {
        if self.sure {
            return Ok(());
        }
        match log::read(&*self.storage.log, self.entry.n, deadline).await? {
            Some(entry) if entry == self.entry => Ok(()),
            _ => {
                let message = format!(
                    "the hint of the dataset names version {}, which is not in the log",
                    self.entry.n
                );
                Err(Error::corrupt(message).hint("delete the object 'hint'"))
            }
        }
    }

    /// The entry that a job committed before, if there is one. The mark of its begin is written before
    /// anything else.
    async fn done_before(&self, job: &str, deadline: Deadline) -> Result<Option<LogEntry>> {
        let (store, key) = (&*self.storage.store, keys::job(job));
        let mark = CommitMark { job: job.to_owned(), after: self.entry.n };
        if record::create(store, &key, &mark, deadline).await? {
            return Ok(None);
        }
        // Another job may have the same key; then this one starts at the first entry.
        let found = record::read::<CommitMark>(store, &key, deadline).await?;
        let after = found.filter(|mark| mark.job == job).map_or(0, |mark| mark.after);
        let tip = self.storage.tip(deadline).await?;
        self.job_in((after + 1, tip.n), job, deadline).await
    }

    async fn job_in(
        &self,
        (from, to): (u64, u64),
        job: &str,
        deadline: Deadline,
    ) -> Result<Option<LogEntry>> {
        let entries = log::range(&*self.storage.log, from, to, deadline).await?;
        Ok(entries.into_iter().find(|entry| entry.job.as_ref().is_some_and(|(name, _)| name == job)))
    }

    /// Checks that this version has not expired: objects it refers to may be deleted at any moment.
    async fn check_kept(&self, tip: &LogEntry, deadline: Deadline) -> Result<()> {
        if self.entry.n >= tip.oldest || self.held_by_tag("", deadline).await? {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Missing, format!("version {} has expired", self.entry.n)))
    }

    async fn already(&self, done: LogEntry, deadline: Deadline) -> Result<CommitOutcome> {
        let version = done.n;
        let dataset = Dataset::newest(&self.storage, Some(done), deadline).await?;
        Ok(CommitOutcome { dataset, version, already: true })
    }
}

impl Storage {
    /// Moves the hint to an entry. Without it, readers still find the entry, but later.
    pub(super) async fn advise(&self, entry: &LogEntry, deadline: Deadline) {
        let advised = match entry.encode() {
            Ok(content) => self.log.advise(entry.n, content, deadline).await,
            Err(error) => Err(error),
        };
        if let Err(error) = advised {
            ::log::debug!(target: sapwood_source::LOG, "the hint of {} was not moved: {error}", self.url());
        }
    }
}

/// Lets others go first: a random one of a doubling number of slots, each as long as a try.
pub(super) async fn pause(slot: Duration, lost: u32, deadline: Deadline) {
    let slots = 2u32.saturating_pow(lost.min(5) + 1);
    let pause = slot.mul_f64(1.1 * f64::from(fastrand::u32(..slots)));
    tokio::time::sleep(pause.min(deadline.remaining())).await;
}
