//! A ROOT file out of a dataset: its baskets, compressed anew where ROOT does not read them, and all that came beside them.

use super::beside;
use crate::repack::{Input, RepackReport, repack};
use crate::{File, Interrupt};
use sapwood_core::{Deadline, Result};
use sapwood_sink::Sink;
use sapwood_source::OpenOptions;
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
    deadline: Deadline,
    interrupt: Interrupt<'_>,
) -> Result<RepackReport> {
    let options = OpenOptions { deadline, ..OpenOptions::default() };
    let file = File::of_dataset(dataset, &options, interrupt)?;
    repack(&[Input::Open(file)], sink, name, &beside::joining(threads, deadline), interrupt)
}
