//! Statistics of the values in a basket, so that cuts can skip stripes.

use sapwood_core::{Error, Extremes, Result, Statistics};
use std::ops::Range;

/// Those of all branches and stripes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ListStatistics {
    /// For each branch.
    pub(super) columns: Vec<BranchStatistics>,
}

/// The statistics of a branch: empty, or with a row for each stripe up to the last known one.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct BranchStatistics {
    /// 0: no rows; 1: signed; 2: unsigned; 3: floating-point; 4: only NaN so far.
    pub(super) kind: u8,
    /// Count (or [`UNKNOWN`]), NaNs, the bits of the least and the greatest value.
    pub(super) rows: Vec<[u64; 4]>,
}

/// In place of the number of values: unknown.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// Kind of a column without rows.
pub(super) const NONE: u8 = 0;
/// Kind of a column that has only NaN so far.
pub(super) const NOT_NUMBERS: u8 = 4;

impl ListStatistics {
    pub(super) fn new(branches: usize) -> ListStatistics {
        ListStatistics { columns: vec![BranchStatistics::default(); branches] }
    }

    /// Adds the statistics of a stripe of some branches, after this many stripes.
    pub(super) fn push(
        &mut self,
        branches: Range<usize>,
        stripe: usize,
        statistics: &[Option<Statistics>],
    ) -> Result<()> {
        let columns = self.columns.get_mut(branches).unwrap_or_default();
        let pairs = || columns.iter().zip(statistics);
        let fits = |(column, new): (&BranchStatistics, &Option<Statistics>)| {
            let kind = new.as_ref().map_or(NONE, kind);
            kind == column.kind || [kind, column.kind].iter().any(|kind| [NONE, NOT_NUMBERS].contains(kind))
        };
        if !(statistics.is_empty() || statistics.len() == columns.len()) || !pairs().all(fits) {
            return Err(Error::usage("the statistics of a stripe differ in type from those before"));
        }
        for (column, new) in columns.iter_mut().zip(statistics) {
            let Some(new) = new.filter(|new| new.count != UNKNOWN) else { continue };
            if [NONE, NOT_NUMBERS].contains(&column.kind) {
                column.kind = kind(&new);
            }
            column.rows.resize(stripe, [UNKNOWN, 0, 0, 0]);
            column.rows.push(row(&new));
        }
        Ok(())
    }

    pub(super) fn get(&self, branch: usize, stripe: usize) -> Option<Statistics> {
        let column = self.columns.get(branch)?;
        let [count, nans, low, high] = *column.rows.get(stripe)?;
        let extremes = match column.kind {
            1 => Some(Extremes::Signed(low.cast_signed(), high.cast_signed())),
            2 => Some(Extremes::Unsigned(low, high)),
            3 => Some(Extremes::Float(f64::from_bits(low), f64::from_bits(high))),
            _ => None,
        };
        (count != UNKNOWN).then(|| Statistics { count, nans, extremes: extremes.filter(|_| count > nans) })
    }
}

fn kind(statistics: &Statistics) -> u8 {
    match statistics.extremes {
        None => NOT_NUMBERS,
        Some(Extremes::Signed(..)) => 1,
        Some(Extremes::Unsigned(..)) => 2,
        Some(Extremes::Float(..)) => 3,
    }
}

fn row(statistics: &Statistics) -> [u64; 4] {
    let (low, high) = match statistics.extremes {
        None => (0, 0),
        Some(Extremes::Signed(low, high)) => (low.cast_unsigned(), high.cast_unsigned()),
        Some(Extremes::Unsigned(low, high)) => (low, high),
        Some(Extremes::Float(low, high)) => (low.to_bits(), high.to_bits()),
    };
    // Without extremes, all values are NaN.
    let nans = if statistics.extremes.is_none() { statistics.count } else { statistics.nans };
    [statistics.count, nans, low, high]
}
