//! Objects refer to others by the numbers of process ids, which are those of one file: what several segments have under
//! one number, their entries cannot have together, unless it is the same.

use super::beside::joining;
use sapwood_core::{Call, Error, Result};
use sapwood_rewrite::repack::Input;
use sapwood_rewrite::repack::inputs::Inputs;
use sapwood_rewrite::repack::plan::RepackPlan;
use sapwood_root::File;

/// That the objects of all segments of a dataset can stand together as they are.
///
/// # Errors
/// `Unsupported` if they cannot; those of reading what came beside the entries.
pub fn check(dataset: &File, call: &mut Call<'_>) -> Result<()> {
    if dataset.part_count() < 2 {
        return Ok(());
    }
    let inputs = [Input::Open(dataset.clone())];
    let survey = RepackPlan::new(&mut Inputs::new(&inputs), &joining(None), &mut Vec::new(), call)?;
    match survey.shifts.iter().all(|shift| *shift == 0) {
        true => Ok(()),
        false => Err(Error::unsupported(
            "the objects of the segments may refer to others, each by process ids of its own",
        )
        .url(dataset.url())),
    }
}
