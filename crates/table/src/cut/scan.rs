//! Reads the entries that pass a cut given as a closure.

use super::query::{CutOptions, CutQuery, EntrySelection};
use super::read::{CutRead, CutStage};
use crate::pool;
use crate::selection::Query;
use crate::table::Table;
use rayon::prelude::*;
use sapwood_core::{Call, Column, Error, Result};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// The entries of a step that pass a cut.
#[derive(Debug, Clone)]
pub struct PassingEntries {
    /// Their numbers.
    pub entries: Vec<u64>,
    /// The columns of the queries.
    pub columns: Vec<Column>,
}

/// The entries of a table that pass a cut, step by step: a [`CutRead`] with a closure that computes the mask.
#[derive(Debug)]
pub struct CutScan<F> {
    read: CutRead,
    cut: F,
    /// The columns that the cut needs, and those of the queries, by their index in the read's query.
    needed: Vec<usize>,
    wanted: Vec<usize>,
    begun: VecDeque<PendingStep>,
    threads: Option<usize>,
}

/// A step whose second stage is being read.
#[derive(Debug)]
struct PendingStep {
    entries: Vec<u64>,
    /// The positions of the passing entries in the step.
    places: Vec<usize>,
    first: Vec<Column>,
}

impl<F: FnMut(&[Column]) -> Result<Vec<bool>>> CutScan<F> {
    /// A scan of columns, or of members of the objects in them, over some ranges of entries. The closure gets the `needed`
    /// columns of all entries of a range, and returns for each entry whether it passes.
    ///
    /// # Errors
    /// As [`read`](crate::read()).
    pub fn new<Q: Into<Query> + Clone>(
        table: Arc<dyn Table>,
        queries: &[Q],
        ranges: Vec<Range<u64>>,
        needed: &[Q],
        cut: F,
        options: CutOptions,
        call: &mut Call<'_>,
    ) -> Result<CutScan<F>> {
        let threads = options.threads;
        let mut columns = Vec::with_capacity(queries.len() + needed.len());
        let mut place_of: HashMap<Query, usize> = HashMap::new();
        let mut places = |queries: &[Q]| -> Vec<usize> {
            let place = |query: &Q| {
                let query: Query = query.clone().into();
                *place_of.entry(query.clone()).or_insert_with(|| {
                    columns.push((0, query));
                    columns.len() - 1
                })
            };
            queries.iter().map(place).collect()
        };
        let (wanted, needed) = (places(queries), places(needed));
        let groups = wanted.iter().map(|column| vec![*column]).collect();
        let query = CutQuery { tables: vec![table], columns, cut: needed.clone(), groups };
        let steps = ranges.into_iter().map(EntrySelection::from).collect();
        let read = CutRead::new(&query, steps, options, call)?;
        Ok(CutScan { read, cut, needed, wanted, begun: VecDeque::new(), threads })
    }

    /// The passing entries of the next range; `None` after the last.
    ///
    /// # Errors
    /// As [`read`](crate::read()), and those of the closure; `Usage` for a mask of another length than its columns. An error
    /// ends the scan.
    pub fn next(&mut self, call: &mut Call<'_>) -> Option<Result<PassingEntries>> {
        let passing = self.advance(call);
        if passing.is_err() {
            self.read.end();
        }
        passing.transpose()
    }

    fn advance(&mut self, call: &mut Call<'_>) -> Result<Option<PassingEntries>> {
        while let Some(stage) = self.read.next(call) {
            match stage? {
                CutStage::First { entries, columns } => {
                    self.begin(&entries, columns, call)?;
                    if self.read.second().is_empty() {
                        return self.finish(Vec::new(), false, call).map(Some);
                    }
                }
                CutStage::Second { columns, passing } => {
                    return self.finish(columns, passing, call).map(Some);
                }
            }
        }
        Ok(None)
    }

    /// Computes the mask of a step.
    fn begin(&mut self, entries: &EntrySelection, first: Vec<Column>, call: &mut Call<'_>) -> Result<()> {
        let columns = columns_at(&self.needed, &self.read.first(), &first)?;
        let mask = (self.cut)(&columns)?;
        drop(columns);
        if mask.len() != entries.len() {
            let message = format!("the cut gave {} values for {} entries", mask.len(), entries.len());
            return Err(Error::usage(message));
        }
        if !self.read.second().is_empty() {
            self.read.cut(Some(&mask), call)?;
        }
        let places = mask.iter().enumerate().filter(|(_, passes)| **passes).map(|(place, _)| place).collect();
        self.begun.push_back(PendingStep { entries: entries.passing(&mask), places, first });
        Ok(())
    }

    /// Delivers the passing entries of the earliest pending step.
    fn finish(&mut self, second: Vec<Column>, passing: bool, call: &mut Call<'_>) -> Result<PassingEntries> {
        let Some(PendingStep { entries, places, first }) = self.begun.pop_front() else {
            return Err(Error::usage("no step was cut"));
        };
        let (of_first, of_second) = (self.read.first(), self.read.second());
        let take = |wanted: &usize| match of_second.iter().position(|column| column == wanted) {
            Some(place) if passing => second.get(place).cloned().ok_or_else(not_delivered),
            Some(place) => second.get(place).ok_or_else(not_delivered)?.take(places.iter().copied()),
            None => column_at(*wanted, &of_first, &first)?.take(places.iter().copied()),
        };
        let pool = pool::computing(self.threads)?;
        let columns = pool::compute(&pool, call, |_| self.wanted.par_iter().map(take).collect())?;
        Ok(PassingEntries { entries, columns })
    }
}

/// The entries of a range of a table that pass a cut: a [`CutScan`] of one range.
///
/// # Errors
/// As [`CutScan::next`].
pub fn read_where<Q: Into<Query> + Clone>(
    table: Arc<dyn Table>,
    queries: &[Q],
    entries: Range<u64>,
    needed: &[Q],
    cut: impl FnMut(&[Column]) -> Result<Vec<bool>>,
    options: CutOptions,
    call: &mut Call<'_>,
) -> Result<PassingEntries> {
    let mut scan = CutScan::new(table, queries, vec![entries], needed, cut, options, call)?;
    scan.next(call).unwrap_or_else(|| Err(not_delivered()))
}

/// The `wanted` columns among those `delivered`, whose indices are `numbers`.
fn columns_at(wanted: &[usize], numbers: &[usize], delivered: &[Column]) -> Result<Vec<Column>> {
    wanted.iter().map(|column| column_at(*column, numbers, delivered).cloned()).collect()
}

fn column_at<'c>(wanted: usize, numbers: &[usize], delivered: &'c [Column]) -> Result<&'c Column> {
    let place = numbers.iter().position(|column| *column == wanted);
    place.and_then(|place| delivered.get(place)).ok_or_else(not_delivered)
}

fn not_delivered() -> Error {
    Error::usage("a column was not read")
}
