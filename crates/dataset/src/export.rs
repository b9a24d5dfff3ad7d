//! A ROOT file out of a dataset: its baskets, compressed anew where ROOT does not read them, and all that came beside them.

use super::beside;
use super::open::file_of_dataset;
use sapwood_core::{Call, Result};
use sapwood_rewrite::repack::{Input, RepackReport, repack};
use sapwood_root::OpenOptions;
use sapwood_sink::Sink;
use sapwood_stripe::Dataset;

/// Writes a version of a dataset to a ROOT file, `name` being what ROOT shows as its name.
///
/// # Errors
/// `Missing` if the version has no products; `Corrupt` if one of them is not there for all entries; `Checksum` or
/// `Corrupt` if objects are damaged or lost; those of the store and of the sink. There is nothing at the target then.
pub fn export(
    dataset: &Dataset,
    sink: Box<dyn Sink>,
    name: &str,
    threads: Option<usize>,
    call: &mut Call<'_>,
) -> Result<RepackReport> {
    let options = OpenOptions::default().until(call.deadline());
    let file = file_of_dataset(dataset, &options, call)?;
    repack(&[Input::Open(file)], sink, name, &beside::joining(threads), call)
}
