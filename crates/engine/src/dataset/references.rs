//! Objects refer to others by the numbers of process ids, which are those of one file: what several segments have under
//! one number, their entries cannot have together, unless it is the same.

use super::beside::joining;
use crate::File;
use crate::repack::Input;
use crate::repack::inputs::Inputs;
use crate::repack::survey::Survey;
use sapwood_core::Interrupt;
use sapwood_core::{Deadline, Error, Result};

/// That the objects of all segments of a dataset can stand together as they are.
///
/// # Errors
/// `Unsupported` if they cannot; those of reading what came beside the entries.
pub(crate) fn check(dataset: &File, deadline: Deadline, interrupt: Interrupt<'_>) -> Result<()> {
    if dataset.parts() < 2 {
        return Ok(());
    }
    let inputs = [Input::Open(dataset.clone())];
    let survey =
        Survey::new(&mut Inputs::new(&inputs), &joining(None, deadline), &mut Vec::new(), interrupt)?;
    match survey.shifts.iter().all(|shift| *shift == 0) {
        true => Ok(()),
        false => Err(Error::unsupported(
            "the objects of the segments may refer to others, each by process ids of its own",
        )
        .url(dataset.url())),
    }
}
