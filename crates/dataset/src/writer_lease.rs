//! A writer's lease, renewed in the background: objects stored under it are not collected.

use sapwood_core::{Call, Deadline, ErrorKind, Result};
use sapwood_stripe::{Change, CommitOutcome, Dataset, Lease, LeaseKind, Provenance};
use sapwood_table::pool::{runtime, wait};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// How long a lease lasts after its last renewal.
const LASTS: Duration = Duration::from_secs(1800);
/// Time between renewals.
const RENEWAL: Duration = Duration::from_secs(300);
/// Longest wait for the end of a lease, which would also lapse by itself.
const ENDING: Duration = Duration::from_secs(30);

/// A writer's lease on a dataset.
#[derive(Debug)]
pub struct WriterLease {
    lease: Arc<Mutex<Lease>>,
    renewing: JoinHandle<()>,
    deadline: Deadline,
}

/// Runs `work` under a lease, which ends with it, unless it is unknown whether a commit succeeded.
pub(crate) fn with_writer_lease<T>(
    dataset: &Dataset,
    call: &mut Call<'_>,
    work: impl FnOnce(&WriterLease, &mut Call<'_>) -> Result<T>,
) -> Result<T> {
    let lease = WriterLease::begin(dataset, call)?;
    let done = work(&lease, call);
    lease.end_after(done)
}

impl WriterLease {
    /// Begins a lease of the default duration.
    pub fn begin(dataset: &Dataset, call: &mut Call<'_>) -> Result<WriterLease> {
        WriterLease::lasting(dataset, LASTS, call)
    }

    /// Begins a lease that lasts this long after its last renewal.
    pub fn lasting(dataset: &Dataset, lasts: Duration, call: &mut Call<'_>) -> Result<WriterLease> {
        let handle = runtime()?;
        let begun = dataset.lease(LeaseKind::Writer, lasts, call.deadline().within(lasts));
        let lease = Arc::new(Mutex::new(wait(begun, call)?));
        let renewed = Arc::clone(&lease);
        let renewing = handle.spawn(async move {
            loop {
                tokio::time::sleep(RENEWAL).await;
                if let Err(error) = renewed.lock().await.renew(Deadline::after(RENEWAL)).await {
                    log::warn!("a writer's lease was not renewed: {error}");
                }
            }
        });
        Ok(WriterLease { lease, renewing, deadline: call.deadline() })
    }

    /// Commits a change whose objects were stored under the lease.
    ///
    /// # Errors
    /// Those of [`Dataset::commit_under`].
    pub fn commit(
        &self,
        dataset: &Dataset,
        change: &Change,
        made: Provenance,
        call: &mut Call<'_>,
    ) -> Result<CommitOutcome> {
        let committed = async {
            let mut lease = self.lease.lock().await;
            lease.renew(self.deadline).await?;
            dataset.commit_under(&lease, change, made, self.deadline).await
        };
        wait(committed, call)
    }

    /// Renews it once more and returns its key, for the process that will commit.
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

    /// Ends it and returns the result, unless it is unknown whether a commit succeeded: then the lease stays.
    pub fn end_after<T>(self, done: Result<T>) -> Result<T> {
        if done.as_ref().err().is_none_or(|error| error.kind() != ErrorKind::CommitUnknown) {
            self.end();
        }
        done
    }

    /// Ends it. If that fails, the lease lapses by itself.
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

impl Drop for WriterLease {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}
