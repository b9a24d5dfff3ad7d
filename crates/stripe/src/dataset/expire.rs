//! Expires versions. An expired version can be read until it is collected.

use super::Dataset;
use super::commit::pause;
use super::storage::Storage;
use super::time::ms_of;
use crate::log::{self, ClaimOutcome, LogEntry};
use crate::{Id, Provenance};
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use std::sync::Arc;
use std::time::Duration;

/// How many lost races make it give up.
const TRIES: u32 = 50;

/// Which versions are kept: those that meet one of these conditions. The newest and all tagged versions are
/// always kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Keeps this many of the newest.
    pub newest: Option<u64>,
    /// Keeps versions that were the newest within this time, by the clock of the store.
    pub within: Option<Duration>,
}

impl Dataset {
    /// Expires versions; returns the number of the oldest that is kept, not counting those with a tag or a
    /// lease. Nothing is deleted before it is [collected](Dataset::collect).
    ///
    /// With `dry_run`, nothing is changed.
    ///
    /// # Errors
    /// `Usage` if nothing says what to keep; `Unsupported` if the dataset has unknown features; as
    /// [`Dataset::commit`].
    pub async fn expire(&self, keep: Retention, dry_run: bool, deadline: Deadline) -> Result<u64> {
        if keep == Retention::default() {
            return Err(Error::usage("say which versions to keep").hint("by number, or by time"));
        }
        self.snapshot.check_writable().map_err(|error| error.url(self.storage.url()))?;
        let now = self.storage.store.now(deadline).await?;
        let mut tip = self.storage.tip(deadline).await?;
        let by_number = match keep.newest {
            Some(count) => self.storage.newest_of(&tip, count.max(1), deadline).await?,
            None => tip.n,
        };
        let by_time = match keep.within {
            Some(time) => {
                let since = ms_of(now).saturating_sub(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
                let early = |entry: &LogEntry| entry.time_ms <= since;
                let last = log::last_where(&*self.storage.log, (tip.oldest, tip.n), early, deadline).await?;
                last.map_or(tip.oldest, |entry| entry.n)
            }
            None => tip.n,
        };
        let oldest = by_number.min(by_time);
        let commit = Id::random();
        for lost in 0..TRIES {
            if oldest <= tip.oldest || dry_run {
                return Ok(oldest.max(tip.oldest));
            }
            let (operation, time_ms) = ("expire".to_owned(), ms_of(now).max(tip.time_ms));
            let made = Provenance { operation, time_ms, ..Provenance::default() };
            let what = format!("versions {} to {}", tip.oldest, oldest - 1);
            let entry = LogEntry::new((tip.n + 1, tip.snapshot), made, what, commit, oldest);
            match log::claim(&*self.storage.log, &entry, deadline).await? {
                ClaimOutcome::Ours => {
                    self.storage.advise(&entry, deadline).await;
                    return Ok(oldest);
                }
                ClaimOutcome::Theirs(first) => {
                    tip = log::newest_after(&*self.storage.log, first.n, deadline).await?.unwrap_or(first);
                    pause(Duration::from_millis(10), lost, deadline).await;
                }
            }
        }
        Err(Error::new(ErrorKind::Conflict, format!("other commits came first {TRIES} times"))
            .url(self.storage.url()))
    }
}

impl Storage {
    /// The oldest of the newest `count` versions that are kept; versions that only expire others do not
    /// count.
    async fn newest_of(self: &Arc<Storage>, tip: &LogEntry, count: u64, deadline: Deadline) -> Result<u64> {
        let (mut left, mut end) = (count, tip.n);
        while end >= tip.oldest {
            let begin = end.saturating_sub(left - 1).max(tip.oldest);
            let entries = log::range(&*self.log, begin, end, deadline).await?;
            for entry in entries.iter().rev().filter(|entry| entry.operation != "expire") {
                left -= 1;
                if left == 0 {
                    return Ok(entry.n);
                }
            }
            end = begin - 1;
        }
        Ok(tip.oldest)
    }
}
