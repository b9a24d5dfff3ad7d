//! The second stage of a step, which is being read.

use super::parts::Parts;
use super::query::EntrySelection;
use crate::entries::EntryRead;
use crate::scan::Scan;
use sapwood_core::{Call, Column, Result};

/// The second stage of a step, which is being read.
#[derive(Debug)]
pub(super) enum Second {
    /// Some entries of the step.
    Chosen { reads: Vec<EntryRead>, passing: bool },
    /// The whole range of the step.
    Range(Vec<Scan>),
}

impl Second {
    /// Starts to read the passing entries of a step.
    pub(super) fn of_passing(
        parts: &Parts,
        step: &EntrySelection,
        mask: &[bool],
        threads: Option<usize>,
        call: &mut Call<'_>,
    ) -> Result<Second> {
        let passing = EntrySelection { within: step.within.clone(), chosen: Some(step.passing(mask)) };
        Ok(Second::Chosen { reads: parts.start(&passing, threads, call)?, passing: true })
    }

    /// Starts to read all entries of a step.
    pub(super) fn of_all(
        parts: &Parts,
        step: &EntrySelection,
        threads: Option<usize>,
        call: &mut Call<'_>,
    ) -> Result<Second> {
        Ok(match &step.chosen {
            Some(_) => Second::Chosen { reads: parts.start(step, threads, call)?, passing: false },
            None => {
                let range = std::slice::from_ref(&step.within);
                Second::Range(parts.scans(range, threads, call)?)
            }
        })
    }

    /// True if it gives the passing entries only.
    pub(super) fn is_of_passing(&self) -> bool {
        matches!(self, Second::Chosen { passing: true, .. })
    }

    /// The columns.
    pub(super) fn finish(self, call: &mut Call<'_>) -> Result<Vec<Column>> {
        match self {
            Second::Chosen { reads, .. } => finish(reads, call),
            Second::Range(mut scans) => next(&mut scans, call),
        }
    }
}

/// The columns of reads of entries, one after the other.
pub(super) fn finish(reads: Vec<EntryRead>, call: &mut Call<'_>) -> Result<Vec<Column>> {
    let columns = reads.into_iter().map(|read| read.finish(call));
    Ok(columns.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The next columns of scans, one after the other.
pub(super) fn next(scans: &mut [Scan], call: &mut Call<'_>) -> Result<Vec<Column>> {
    let columns = scans.iter_mut().filter_map(|scan| scan.next(call));
    Ok(columns.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}
