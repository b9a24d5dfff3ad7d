//! The second stage of a step, while it is read.

use super::parts::StageColumns;
use super::query::EntrySelection;
use crate::entries::EntryRead;
use crate::scan::Scan;
use sapwood_core::{Call, Column, Result};

/// The second stage of a step, while it is read.
#[derive(Debug)]
pub(super) enum SecondStage {
    /// Some entries of the step.
    Chosen { reads: Vec<EntryRead>, passing: bool },
    /// The whole range of the step.
    Range(Vec<Scan>),
}

impl SecondStage {
    /// Starts to read the passing entries of a step.
    pub(super) fn of_passing(
        parts: &StageColumns,
        step: &EntrySelection,
        mask: &[bool],
        threads: Option<usize>,
        call: &mut Call<'_>,
    ) -> Result<SecondStage> {
        let passing = EntrySelection { within: step.within.clone(), chosen: Some(step.passing(mask)) };
        Ok(SecondStage::Chosen { reads: parts.start(&passing, threads, call)?, passing: true })
    }

    /// Starts to read all entries of a step.
    pub(super) fn of_all(
        parts: &StageColumns,
        step: &EntrySelection,
        threads: Option<usize>,
        call: &mut Call<'_>,
    ) -> Result<SecondStage> {
        Ok(match &step.chosen {
            Some(_) => SecondStage::Chosen { reads: parts.start(step, threads, call)?, passing: false },
            None => {
                let range = std::slice::from_ref(&step.within);
                SecondStage::Range(parts.scans(range, threads, call)?)
            }
        })
    }

    /// True if it gives the passing entries only.
    pub(super) fn is_of_passing(&self) -> bool {
        matches!(self, SecondStage::Chosen { passing: true, .. })
    }

    /// The columns.
    pub(super) fn finish(self, call: &mut Call<'_>) -> Result<Vec<Column>> {
        match self {
            SecondStage::Chosen { reads, .. } => finish(reads, call),
            SecondStage::Range(mut scans) => next(&mut scans, call),
        }
    }
}

/// The columns of all reads, in their order.
pub(super) fn finish(reads: Vec<EntryRead>, call: &mut Call<'_>) -> Result<Vec<Column>> {
    let columns = reads.into_iter().map(|read| read.finish(call));
    Ok(columns.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The next columns of all scans, in their order.
pub(super) fn next(scans: &mut [Scan], call: &mut Call<'_>) -> Result<Vec<Column>> {
    let columns = scans.iter_mut().filter_map(|scan| scan.next(call));
    Ok(columns.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}
