//! Many write, one commits: turns what workers have stored into a version.

use super::commit::LONGEST;
use super::objects::list_sections;
use super::{CommitOutcome, Dataset, Format, Version};
use crate::{Change, NewSegment, Provenance, Receipt, Snapshot, keys};
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use std::time::Duration;

impl Dataset {
    /// The receipt for segments that a job stored under a lease.
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
            return Err(Error::usage("receipts need a dataset with products, and this one has none yet")
                .url(self.storage.url())
                .hint("create it with the entries of one file"));
        }
        let dataset = self.named(deadline).await?.dataset;
        let sapwood_receipt = Receipt::version();
        Ok(Receipt { sapwood_receipt, dataset, job, attempt, lease, inputs, products, segments })
    }

    /// Commits what workers have stored: one version for all receipts. Jobs that were committed before are
    /// skipped; if all were, nothing changes. The leases of the workers end.
    ///
    /// # Errors
    /// `Conflict` if a lease has lapsed, so that objects may be gone, or if a product was replaced; `Usage`
    /// for a receipt of another dataset; `Corrupt` if its objects do not exist; those of [`Dataset::commit`].
    pub async fn receive(
        &self,
        receipts: &[Receipt],
        made: Provenance,
        deadline: Deadline,
    ) -> Result<CommitOutcome> {
        let format = self.named(deadline).await?;
        if let Some(other) = receipts.iter().find(|receipt| receipt.dataset != format.dataset) {
            return Err(Error::usage(format!("the receipt of '{}' is for another dataset", other.job))
                .url(self.storage.url()));
        }
        // A worker ends its lease only after the commit, so existing objects are checked after it.
        let leases = self.leases(deadline).await?;
        let newest = self.at(&Version::Latest, deadline).await?;
        let new = |receipt: &&Receipt| !newest.snapshot.jobs.contains_key(&receipt.job);
        let new: Vec<Receipt> = receipts.iter().filter(new).cloned().collect();
        let now = self.storage.store.now(deadline).await?;
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
        // Only keys of leases are deleted, whatever a receipt says.
        let lease = |key: &&String| key.starts_with(keys::LEASES) && keys::id_in(key).is_some();
        let ended: Vec<String> =
            receipts.iter().map(|receipt| &receipt.lease).filter(lease).cloned().collect();
        if let Err(error) = self.storage.store.delete(&ended, deadline).await {
            ::log::debug!(target: sapwood_source::LOG, "the leases of workers were not ended: {error}");
        }
        Ok(committed)
    }

    async fn named(&self, deadline: Deadline) -> Result<Format> {
        let format = Format::read(&*self.storage.store, deadline).await?;
        format.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, "there is no dataset here").url(self.storage.url())
        })
    }

    fn lapsed(&self, receipt: &Receipt) -> Error {
        let message =
            format!("the lease of the job '{}' has lapsed: what it stored may be gone", receipt.job);
        Error::new(ErrorKind::Conflict, message).url(self.storage.url()).hint("run the job again")
    }

    /// Checks that the lists named in a receipt exist.
    async fn check_lists(&self, receipt: &Receipt, deadline: Deadline) -> Result<()> {
        let (products, segments) = (receipt.products.clone(), receipt.segments_from(1)?);
        let snapshot = Snapshot { products, segments, ..(*self.snapshot).clone() };
        snapshot.check().map_err(|what| Error::corrupt(format!("with the receipt, a snapshot {what}")))?;
        let sections = list_sections(&snapshot, |_, _| true);
        self.storage.each_list(&snapshot, sections, deadline, &mut |_, list| list.map(drop)).await
    }
}

/// How long the objects of a worker are kept for the process that commits them.
pub const RECEIPTS_LAST: Duration = Duration::from_secs(7 * 24 * 3600);
