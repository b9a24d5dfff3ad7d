//! Many write, one commits: what workers have stored becomes a version.

use super::commit::LONGEST;
use super::reach::sections;
use super::{CommitOutcome, Dataset, Format, Version};
use crate::{Change, NewSegment, Provenance, Receipt, Snapshot, keys};
use futures::{StreamExt, TryStreamExt, stream};
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use std::time::Duration;

/// Objects of lists that are read at once.
const TOGETHER: usize = 16;

impl Dataset {
    /// The receipt for segments that were stored under a lease, by a job.
    ///
    /// # Errors
    /// `Usage` if the dataset has no products yet; those of the store.
    pub async fn receipt(
        &self,
        (job, attempt): (String, u32),
        segments: Vec<NewSegment>,
        lease: String,
        inputs: Vec<String>,
        deadline: Deadline,
    ) -> Result<Receipt> {
        let products = self.snapshot.products.clone();
        if products.is_empty() {
            return Err(Error::usage("the dataset has no products yet, which receipts are for")
                .url(self.place.url())
                .hint("create it with the entries of one file"));
        }
        let dataset = self.named(deadline).await?.dataset;
        let sapwood_receipt = Receipt::version();
        Ok(Receipt { sapwood_receipt, dataset, job, attempt, lease, inputs, products, segments })
    }

    /// Commits what workers have stored: one version for all receipts. Jobs that were committed before are passed over;
    /// if all of them were, nothing is changed. The leases of the workers end.
    ///
    /// # Errors
    /// `Conflict` if a lease has lapsed, so that what it kept may be gone, or a product is another one now; `Usage` for a
    /// receipt of another dataset; `Corrupt` if what it names is not there; those of [`Dataset::commit`].
    pub async fn receive(
        &self,
        receipts: &[Receipt],
        made: Provenance,
        deadline: Deadline,
    ) -> Result<CommitOutcome> {
        let format = self.named(deadline).await?;
        if let Some(other) = receipts.iter().find(|receipt| receipt.dataset != format.dataset) {
            return Err(Error::usage(format!("the receipt of '{}' is for another dataset", other.job))
                .url(self.place.url()));
        }
        // Whoever ends a lease has committed before: what is there is looked at after it.
        let leases = self.leases(deadline).await?;
        let newest = self.at(&Version::Latest, deadline).await?;
        let new = |receipt: &&Receipt| !newest.snapshot.jobs.contains_key(&receipt.job);
        let new: Vec<Receipt> = receipts.iter().filter(new).cloned().collect();
        let now = self.place.store.now(deadline).await?;
        let mut least = LONGEST;
        for receipt in &new {
            let lease = leases.iter().find(|lease| lease.key == receipt.lease);
            let left = lease.and_then(|lease| lease.until.duration_since(now).ok());
            least = least.min(left.filter(|left| !left.is_zero()).ok_or_else(|| self.lapsed(receipt))?);
            newest.check_lists(receipt, deadline).await?;
        }
        let committed = match new.is_empty() {
            true => {
                let version = newest.version();
                CommitOutcome { dataset: newest, version, already: true }
            }
            false => {
                let change = Change::Receive { receipts: new };
                newest.commit(&change, made, deadline.within(least)).await?
            }
        };
        // What is not the key of a lease is not deleted, whatever a receipt says.
        let lease = |key: &&String| key.starts_with(keys::LEASES) && keys::id_in(key).is_some();
        let ended: Vec<String> =
            receipts.iter().map(|receipt| &receipt.lease).filter(lease).cloned().collect();
        if let Err(error) = self.place.store.delete(&ended, deadline).await {
            ::log::debug!(target: sapwood_source::LOG, "the leases of workers were not ended: {error}");
        }
        Ok(committed)
    }

    async fn named(&self, deadline: Deadline) -> Result<Format> {
        let format = Format::read(&*self.place.store, deadline).await?;
        format
            .ok_or_else(|| Error::new(ErrorKind::NotFound, "there is no dataset here").url(self.place.url()))
    }

    fn lapsed(&self, receipt: &Receipt) -> Error {
        let message =
            format!("the lease of the job '{}' has lapsed: what it stored may be gone", receipt.job);
        Error::new(ErrorKind::Conflict, message).url(self.place.url()).hint("run the job again")
    }

    /// That the lists which a receipt names are there.
    async fn check_lists(&self, receipt: &Receipt, deadline: Deadline) -> Result<()> {
        let (products, segments) = (receipt.products.clone(), receipt.segments_from(1)?);
        let snapshot = Snapshot { products, segments, ..(*self.snapshot).clone() };
        snapshot.check().map_err(|what| Error::corrupt(format!("with the receipt, a snapshot {what}")))?;
        let snapshot = &snapshot;
        let read = sections(snapshot, |_, _| true)
            .into_iter()
            .map(|(object, wanted)| self.place.lists(snapshot, object, wanted, deadline));
        let mut read = stream::iter(read).buffer_unordered(TOGETHER);
        while let Some(lists) = read.try_next().await? {
            lists.into_iter().try_for_each(|(_, list)| list.map(drop))?;
        }
        Ok(())
    }
}

/// For how long what a worker has stored waits for who commits it.
pub const RECEIPTS_LAST: Duration = Duration::from_secs(7 * 24 * 3600);
