//! The lease of who writes: what is under it is not collected. It is renewed for as long as the writing takes.

use crate::Interrupt;
use crate::pool::runtime;
use sapwood_core::{Deadline, ErrorKind, Result};
use sapwood_fetch::wait;
use sapwood_stripe::{Change, CommitOutcome, Dataset, Lease, LeaseKind, Provenance};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// For how long a lease keeps what was written if the writer is heard of no more.
const LASTS: Duration = Duration::from_secs(1800);
/// It is renewed so often.
const RENEWED: Duration = Duration::from_secs(300);
/// Ending it is not worth more: it lapses by itself.
const ENDING: Duration = Duration::from_secs(30);

/// A writer's lease on a dataset.
#[derive(Debug)]
pub(crate) struct Held {
    lease: Arc<Mutex<Lease>>,
    renewing: JoinHandle<()>,
    deadline: Deadline,
}

/// Does some writing under a lease, which ends with it; unless nobody can say whether a commit was made.
pub(crate) fn while_held<T>(
    dataset: &Dataset,
    deadline: Deadline,
    interrupt: Interrupt<'_>,
    work: impl FnOnce(&Held, Interrupt<'_>) -> Result<T>,
) -> Result<T> {
    let held = Held::begin(dataset, deadline, interrupt)?;
    let done = work(&held, interrupt);
    held.end_after(done)
}

impl Held {
    /// Begins one for as long as somebody writes.
    pub(crate) fn begin(dataset: &Dataset, deadline: Deadline, interrupt: Interrupt<'_>) -> Result<Held> {
        Held::lasting(dataset, LASTS, deadline, interrupt)
    }

    /// Begins one that lasts so long after it was renewed last.
    pub(crate) fn lasting(
        dataset: &Dataset,
        lasts: Duration,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<Held> {
        let handle = runtime()?;
        let begun = dataset.lease(LeaseKind::Writer, lasts, deadline.within(lasts));
        let lease = Arc::new(Mutex::new(wait(&handle, begun, deadline, interrupt)?));
        let renewed = Arc::clone(&lease);
        let renewing = handle.spawn(async move {
            loop {
                tokio::time::sleep(RENEWED).await;
                if let Err(error) = renewed.lock().await.renew(Deadline::after(RENEWED)).await {
                    log::warn!("a writer's lease was not renewed: {error}");
                }
            }
        });
        Ok(Held { lease, renewing, deadline })
    }

    /// Makes a change whose objects were written under the lease.
    ///
    /// # Errors
    /// Those of [`Dataset::commit_under`].
    pub(crate) fn commit(
        &self,
        dataset: &Dataset,
        change: &Change,
        made: Provenance,
        interrupt: Interrupt<'_>,
    ) -> Result<CommitOutcome> {
        let committed = async {
            let mut lease = self.lease.lock().await;
            lease.renew(self.deadline).await?;
            dataset.commit_under(&lease, change, made, self.deadline).await
        };
        wait(&runtime()?, committed, self.deadline, interrupt)
    }

    /// Makes it last from now on, and leaves it to who commits; its key.
    ///
    /// # Errors
    /// `Conflict` if it has lapsed; those of the store.
    pub(crate) fn keep(self, interrupt: Interrupt<'_>) -> Result<String> {
        self.renewing.abort();
        let kept = async {
            let mut lease = self.lease.lock().await;
            lease.renew(self.deadline).await?;
            Ok(lease.key())
        };
        wait(&runtime()?, kept, self.deadline, interrupt)
    }

    /// Ends it with what it was for; unless nobody can say whether a commit was made.
    pub(crate) fn end_after<T>(self, done: Result<T>) -> Result<T> {
        if done.as_ref().err().is_none_or(|error| error.kind() != ErrorKind::CommitUnknown) {
            self.end();
        }
        done
    }

    /// Ends it. If that fails, it lapses by itself.
    pub(crate) fn end(self) {
        self.renewing.abort();
        let ended = async {
            let lease = self.lease.lock().await;
            lease.end(Deadline::after(ENDING)).await
        };
        let deadline = Deadline::after(ENDING);
        if let Err(error) = runtime().and_then(|handle| wait(&handle, ended, deadline, &mut || false)) {
            log::debug!("a writer's lease was not ended: {error}");
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}
