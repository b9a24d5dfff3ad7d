//! Exports a dataset to a ROOT file: its baskets, recompressed if ROOT cannot read them, and the auxiliary files.

use super::auxiliary::joining;
use super::open::file_of_dataset;
use sapwood_core::{Call, Result};
use sapwood_rewrite::repack::{Input, RepackReport, repack};
use sapwood_root::OpenOptions;
use sapwood_sink::Sink;
use sapwood_stripe::Dataset;

/// Writes a version of a dataset to a ROOT file; ROOT shows `name` as its name.
///
/// # Errors
/// `Missing` if the version has no products; `Corrupt` if a product lacks entries; `Checksum` or `Corrupt` if objects are
/// damaged or lost; those of the store and of the sink. Nothing is written to the target then.
pub fn export(
    dataset: &Dataset,
    sink: Box<dyn Sink>,
    name: &str,
    threads: Option<usize>,
    call: &mut Call<'_>,
) -> Result<RepackReport> {
    let options = OpenOptions::default().until(call.deadline());
    let file = file_of_dataset(dataset, &options, call)?;
    repack(&[Input::Open(file)], sink, name, &joining(threads), call)
}
