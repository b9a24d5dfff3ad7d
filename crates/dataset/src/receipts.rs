//! Many write, one commits: workers store entries and hand back receipts.

use super::held::Held;
use super::options::{WriteOptions, Written};
use super::writing::appended;
use sapwood_core::{Call, Result};
use sapwood_rewrite::repack::Input;
use sapwood_stripe::{Change, Dataset, Id, RECEIPTS_LAST, Receipt};
use sapwood_table::pool::wait;

/// Stores the entries of some files as [`append`](super::append) does, but does not commit them: [`commit`] does, of many
/// workers at once, within seven days. A job without a name has one that no other has.
///
/// # Errors
/// `Usage` if the dataset has no products yet; those of [`append`](super::append).
pub fn write(
    dataset: &Dataset,
    inputs: &[Input],
    options: &WriteOptions,
    call: &mut Call<'_>,
) -> Result<(Receipt, Written)> {
    let (deadline, made) = (call.deadline(), options.made(inputs));
    let job = options.job.clone().unwrap_or_else(|| (Id::random().to_string(), 1));
    // A dataset that takes no receipts is told of before anything is written.
    let known = dataset.receipt(job, Vec::new(), String::new(), made.inputs, deadline);
    let known = wait(known, call)?;
    let held = Held::lasting(dataset, RECEIPTS_LAST, call)?;
    let appended = match appended(dataset, inputs, options, call) {
        Ok(appended) => appended,
        Err(error) => {
            held.end();
            return Err(error);
        }
    };
    let lease = held.keep(call)?;
    let segments = match appended.change {
        Change::Append { segments, .. } => segments,
        _ => Vec::new(),
    };
    let written = Written {
        dataset: dataset.clone(),
        entries: appended.entries,
        objects: appended.uploads.objects,
        bytes: appended.uploads.sent,
        already: false,
        notes: appended.notes,
    };
    Ok((Receipt { lease, segments, ..known }, written))
}

/// Commits what workers have stored: one version for all of them. Jobs that were committed before are passed over; of
/// several attempts of a job, the first is taken.
///
/// # Errors
/// Those of [`Dataset::receive`].
pub fn commit(
    dataset: &Dataset,
    receipts: &[Receipt],
    options: &WriteOptions,
    call: &mut Call<'_>,
) -> Result<Written> {
    let mut made = options.made(&[]);
    // One committer is no job: each receipt is one.
    made.job = None;
    made.inputs = receipts.iter().flat_map(|receipt| receipt.inputs.iter().cloned()).collect();
    let received = dataset.receive(receipts, made, call.deadline());
    let committed = wait(received, call)?;
    let before = |job: &String| dataset.snapshot().jobs.contains_key(job);
    let mut entries = 0;
    let mut taken = Vec::new();
    for receipt in receipts.iter().filter(|receipt| !before(&receipt.job)) {
        if !taken.contains(&&receipt.job) {
            taken.push(&receipt.job);
            entries += receipt.entries();
        }
    }
    let entries = if committed.already { 0 } else { entries };
    let already = committed.already;
    Ok(Written { dataset: committed.dataset, entries, objects: 0, bytes: 0, already, notes: Vec::new() })
}
