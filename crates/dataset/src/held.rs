//! The lease of who writes: what is under it is not collected. It is renewed for as long as the writing takes.

use sapwood_core::{Call, Deadline, ErrorKind, Result};
use sapwood_stripe::{Change, Committed, Dataset, Lease, LeaseKind, Made};
use sapwood_table::pool::runtime;
use sapwood_table::pool::wait;
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
pub struct Held {
    lease: Arc<Mutex<Lease>>,
    renewing: JoinHandle<()>,
    deadline: Deadline,
}

/// Does some writing under a lease, which ends with it; unless nobody can say whether a commit was made.
pub(crate) fn while_held<T>(
    dataset: &Dataset,
    call: &mut Call<'_>,
    work: impl FnOnce(&Held, &mut Call<'_>) -> Result<T>,
) -> Result<T> {
    let held = Held::begin(dataset, call)?;
    let done = work(&held, call);
    held.end_after(done)
}

impl Held {
    /// Begins one for as long as somebody writes.
    pub fn begin(dataset: &Dataset, call: &mut Call<'_>) -> Result<Held> {
        Held::lasting(dataset, LASTS, call)
    }

    /// Begins one that lasts so long after it was renewed last.
    pub fn lasting(dataset: &Dataset, lasts: Duration, call: &mut Call<'_>) -> Result<Held> {
        let handle = runtime()?;
        let begun = dataset.lease(LeaseKind::Writer, lasts, call.deadline().within(lasts));
        let lease = Arc::new(Mutex::new(wait(begun, call)?));
        let renewed = Arc::clone(&lease);
        let renewing = handle.spawn(async move {
            loop {
                tokio::time::sleep(RENEWED).await;
                if let Err(error) = renewed.lock().await.renew(Deadline::after(RENEWED)).await {
                    log::warn!("a writer's lease was not renewed: {error}");
                }
            }
        });
        Ok(Held { lease, renewing, deadline: call.deadline() })
    }

    /// Makes a change whose objects were written under the lease.
    ///
    /// # Errors
    /// Those of [`Dataset::commit_under`].
    pub fn commit(
        &self,
        dataset: &Dataset,
        change: &Change,
        made: Made,
        call: &mut Call<'_>,
    ) -> Result<Committed> {
        let committed = async {
            let mut lease = self.lease.lock().await;
            lease.renew(self.deadline).await?;
            dataset.commit_under(&lease, change, made, self.deadline).await
        };
        wait(committed, call)
    }

    /// Makes it last from now on, and leaves it to who commits; its key.
    ///
    /// # Errors
    /// `Conflict` if it has lapsed; those of the store.
    pub fn keep(self, call: &mut Call<'_>) -> Result<String> {
        self.renewing.abort();
        let kept = async {
            let mut lease = self.lease.lock().await;
            lease.renew(self.deadline).await?;
            Ok(lease.key())
        };
        wait(kept, call)
    }

    /// Ends it with what it was for; unless nobody can say whether a commit was made.
    pub fn end_after<T>(self, done: Result<T>) -> Result<T> {
        if done.as_ref().err().is_none_or(|error| error.kind() != ErrorKind::CommitUnknown) {
            self.end();
        }
        done
    }

    /// Ends it. If that fails, it lapses by itself.
    pub fn end(self) {
        self.renewing.abort();
        let ended = async {
            let lease = self.lease.lock().await;
            lease.end(Deadline::after(ENDING)).await
        };
        let mut never = || false;
        if let Err(error) = wait(ended, &mut Call::new(Deadline::after(ENDING), &mut never)) {
            log::debug!("a writer's lease was not ended: {error}");
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}
