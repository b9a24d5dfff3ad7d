//! Many write, one commits: workers store entries and return receipts.

use super::options::{WriteOptions, WriteReport};
use super::writer_lease::WriterLease;
use super::writing::store_entries;
use sapwood_core::{Call, Result};
use sapwood_rewrite::repack::Input;
use sapwood_stripe::{Dataset, Id, RECEIPTS_LAST, Receipt};
use sapwood_table::pool::wait;
use std::collections::BTreeSet;

/// Stores the entries of some files as [`append`](super::append) does, without committing them: [`commit`] commits the
/// work of many workers at once, within seven days. A job without a name gets a unique one.
///
/// # Errors
/// `Usage` if the dataset has no products yet; those of [`append`](super::append).
pub fn write(
    dataset: &Dataset,
    inputs: &[Input],
    options: &WriteOptions,
    call: &mut Call<'_>,
) -> Result<(Receipt, WriteReport)> {
    let (deadline, made) = (call.deadline(), options.made(inputs));
    let job = options.job.clone().unwrap_or_else(|| (Id::random().to_string(), 1));
    // A dataset without products is refused before anything is written.
    let receipt = wait(dataset.receipt(job, Vec::new(), String::new(), made.inputs, deadline), call)?;
    let lease = WriterLease::lasting(dataset, RECEIPTS_LAST, call)?;
    let stored = match store_entries(dataset, inputs, options, call) {
        Ok(stored) => stored,
        Err(error) => {
            lease.end();
            return Err(error);
        }
    };
    let lease = lease.keep(call)?;
    let report = WriteReport {
        dataset: dataset.clone(),
        entries: stored.entries,
        objects: stored.uploads.objects,
        bytes: stored.uploads.sent,
        already: false,
        notes: stored.notes,
    };
    Ok((Receipt { lease, segments: stored.segments, ..receipt }, report))
}

/// Commits the work of many workers as one version. Jobs that were committed before are skipped; of several attempts of a
/// job, the first counts.
///
/// # Errors
/// Those of [`Dataset::receive`].
pub fn commit(
    dataset: &Dataset,
    receipts: &[Receipt],
    options: &WriteOptions,
    call: &mut Call<'_>,
) -> Result<WriteReport> {
    let mut made = options.made(&[]);
    // Each receipt is a job; the committer itself is not one.
    made.job = None;
    made.inputs = receipts.iter().flat_map(|receipt| receipt.inputs.iter().cloned()).collect();
    let committed = wait(dataset.receive(receipts, made, call.deadline()), call)?;
    let already = committed.already;
    let mut jobs: BTreeSet<&String> = dataset.snapshot().jobs.keys().collect();
    let new = receipts.iter().filter(|receipt| !already && jobs.insert(&receipt.job));
    let entries = new.map(Receipt::entries).sum();
    Ok(WriteReport { dataset: committed.dataset, entries, objects: 0, bytes: 0, already, notes: Vec::new() })
}
