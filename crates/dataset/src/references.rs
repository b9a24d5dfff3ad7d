//! Checks process ids, by which objects refer to others: each file numbers its own, so segments whose numbers differ
//! cannot be read as one file.

use super::auxiliary::joining;
use sapwood_core::{Call, Error, Result};
use sapwood_rewrite::repack::Input;
use sapwood_rewrite::repack::inputs::Inputs;
use sapwood_rewrite::repack::plan::RepackPlan;
use sapwood_root::File;

/// Checks that all segments of a dataset have the same process ids.
///
/// # Errors
/// `Unsupported` if they differ; those of reading the auxiliary files.
pub fn check(dataset: &File, call: &mut Call<'_>) -> Result<()> {
    if dataset.part_count() < 2 {
        return Ok(());
    }
    let inputs = [Input::Open(dataset.clone())];
    let survey = RepackPlan::new(&mut Inputs::new(&inputs), &joining(None), &mut Vec::new(), call)?;
    match survey.shifts.iter().all(|shift| *shift == 0) {
        true => Ok(()),
        false => Err(Error::unsupported(
            "the segments differ in the process ids by which their objects may refer to others",
        )
        .url(dataset.url())),
    }
}
