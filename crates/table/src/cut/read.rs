//! Reads steps in two stages, or in one.

use super::excluded::{clipped, count_excluded};
use super::parts::StageColumns;
use super::query::{CutCosts, CutOptions, CutQuery, EntrySelection};
use super::second::{SecondStage, finish, next};
use super::stages::{Stages, can_wait};
use crate::entries::EntryRead;
use crate::plan::check_range;
use crate::scan::Scan;
use sapwood_core::{Call, Column, Error, Result};
use std::collections::VecDeque;
use std::ops::Range;

/// The columns of a table, step by step: what a cut needs for all entries, then the other columns for those that pass.
///
/// [`CutRead::next`] delivers the first stage of a step. The caller computes which entries pass and gives the mask to
/// [`CutRead::cut`]; a later [`CutRead::next`] delivers the second stage. Chunks of the second stage that hold no passing
/// entry are neither fetched nor decompressed. With a distant source, the second stage of a step is in flight while the
/// caller works on the first stage of the next. If a second stage is not worth a round trip, all columns come in the
/// first.
///
/// [`CutScan`](crate::CutScan) does this with a closure as the cut.
#[derive(Debug)]
pub struct CutRead {
    stages: Stages,
    costs: CutCosts,
    /// The steps whose first stage is not delivered yet.
    steps: std::vec::IntoIter<EntrySelection>,
    first: StageColumns,
    second: StageColumns,
    /// The first stage of the steps that are whole ranges.
    scans: Vec<Scan>,
    /// The first stage of the next step, if that is a list of entries that is being read.
    listed: Option<Vec<EntryRead>>,
    /// The step whose mask is missing.
    awaiting: Option<EntrySelection>,
    /// The second stages that are not delivered yet.
    begun: VecDeque<SecondStage>,
    /// How many second stages are in flight while the first of the next step is worked on.
    ahead: usize,
    threads: Option<usize>,
}

/// What a read with a cut delivers next.
#[derive(Debug)]
pub enum CutStage {
    /// The columns of [`CutRead::first`], of the next step.
    First {
        /// The entries of the step that are read.
        entries: EntrySelection,
        /// The columns.
        columns: Vec<Column>,
    },
    /// The columns of [`CutRead::second`], of the earliest step that has none yet. It ends the step.
    Second {
        /// The columns.
        columns: Vec<Column>,
        /// True if they hold the passing entries only; false if they hold all entries of the step.
        passing: bool,
    },
}

impl CutRead {
    /// Starts to read steps.
    ///
    /// # Errors
    /// As [`read`](crate::read()); `Usage` without a table.
    pub fn new(
        query: &CutQuery,
        steps: Vec<EntrySelection>,
        options: CutOptions,
        call: &mut Call<'_>,
    ) -> Result<CutRead> {
        let main = query.tables.first().ok_or_else(|| Error::usage("a read needs a table"))?;
        for step in &steps {
            check_range(&**main, &step.within)?;
        }
        let CutOptions { threads, excluded, costs } = options;
        let start = steps.iter().map(|step| step.within.start).min().unwrap_or(0);
        let range = start..steps.iter().map(|step| step.within.end).max().unwrap_or(start);
        let all: Vec<usize> = (0..query.columns.len()).collect();
        if !query.groups.is_empty() || !excluded.is_empty() {
            // Locates the chunks of both stages together, in one round trip.
            StageColumns::new(query, &all).locate(call)?;
        }
        let can_exclude = !excluded.is_empty() && all.iter().all(|column| can_wait(query, *column, &range));
        let excluded = if can_exclude { clipped(&excluded, &range) } else { Vec::new() };
        let not_read = count_excluded(&**main, &excluded);
        let fetcher = main.fetcher(0);
        fetcher.counters().excluded_entries.add(not_read.entries);
        fetcher.counters().excluded_clusters.add(not_read.clusters);
        let left = (range.end - range.start).saturating_sub(not_read.entries);
        let stages = Stages::plan(query, &range, left, &costs)?;
        let (first, second) =
            (StageColumns::new(query, &stages.first), StageColumns::new(query, &stages.second));
        let steps: Vec<EntrySelection> = steps.into_iter().map(|step| step.without(&excluded)).collect();
        let whole = steps.iter().filter(|step| step.chosen.is_none());
        let whole: Vec<Range<u64>> = whole.map(|step| step.within.clone()).collect();
        let scans = if whole.is_empty() { Vec::new() } else { first.scans(&whole, threads, call)? };
        let ahead = usize::from(!stages.second.is_empty() && !fetcher.source().cost_model().immediate);
        Ok(CutRead {
            stages,
            costs,
            steps: steps.into_iter(),
            first,
            second,
            scans,
            listed: None,
            awaiting: None,
            begun: VecDeque::new(),
            ahead,
            threads,
        })
    }

    /// The columns of the first stage, by their index in the query, in the order of delivery.
    pub fn first(&self) -> Vec<usize> {
        self.first.columns()
    }

    /// The columns of the second stage, likewise; none if all are in the first.
    pub fn second(&self) -> Vec<usize> {
        self.second.columns()
    }

    /// The next stage; `None` after the last step. If there is a second stage, call [`CutRead::cut`] after each first
    /// stage; otherwise the first stage is the whole step.
    ///
    /// # Errors
    /// As [`read`](crate::read()); `Usage` if the mask of the last step is missing. An error ends the read.
    pub fn next(&mut self, call: &mut Call<'_>) -> Option<Result<CutStage>> {
        let stage = self.advance(call);
        self.ended_by(stage).transpose()
    }

    /// Takes the mask of the step whose first stage came last, with one value per entry, and starts to read the second
    /// stage. `None` means that all entries pass.
    ///
    /// # Errors
    /// `Usage` if no mask is missing, or for a mask of another length; those of [`EntryRead::start`]. An error ends the
    /// read.
    pub fn cut(&mut self, mask: Option<&[bool]>, call: &mut Call<'_>) -> Result<()> {
        let second = self.start_second(mask, call);
        let second = self.ended_by(second)?;
        self.begun.push_back(second);
        Ok(())
    }

    fn advance(&mut self, call: &mut Call<'_>) -> Result<Option<CutStage>> {
        if self.awaiting.is_some() {
            return Err(Error::usage("the mask of the last step is missing"));
        }
        if self.begun.len() > self.ahead || self.steps.as_slice().is_empty() {
            let Some(second) = self.begun.pop_front() else { return Ok(None) };
            let passing = second.is_of_passing();
            return Ok(Some(CutStage::Second { columns: second.finish(call)?, passing }));
        }
        let Some(entries) = self.steps.next() else { return Ok(None) };
        let listed = match self.listed.take() {
            None => self.start_list(Some(&entries), call)?,
            listed => listed,
        };
        // The next list is fetched while this step is decoded and used.
        self.listed = self.start_list(self.steps.as_slice().first(), call)?;
        let columns = match listed {
            Some(reads) => finish(reads, call)?,
            None => next(&mut self.scans, call)?,
        };
        if !self.stages.second.is_empty() {
            self.awaiting = Some(entries.clone());
        }
        Ok(Some(CutStage::First { entries, columns }))
    }

    /// Starts to read the first stage of a step, if that is a list of entries.
    fn start_list(
        &self,
        step: Option<&EntrySelection>,
        call: &mut Call<'_>,
    ) -> Result<Option<Vec<EntryRead>>> {
        let list = step.filter(|step| step.chosen.is_some());
        list.map(|step| self.first.start(step, self.threads, call)).transpose()
    }

    fn start_second(&mut self, mask: Option<&[bool]>, call: &mut Call<'_>) -> Result<SecondStage> {
        let step = self.awaiting.take().ok_or_else(|| Error::usage("no step waits for a mask"))?;
        let Some(mask) = mask else { return SecondStage::of_all(&self.second, &step, self.threads, call) };
        if mask.len() != step.len() {
            let message = format!("the mask has {} values for {} entries", mask.len(), step.len());
            return Err(Error::usage(message));
        }
        if self.stages.is_worth_skipping(mask, &step, &self.costs) {
            SecondStage::of_passing(&self.second, &step, mask, self.threads, call)
        } else {
            SecondStage::of_all(&self.second, &step, self.threads, call)
        }
    }

    /// Ends the read after an error.
    fn ended_by<T>(&mut self, result: Result<T>) -> Result<T> {
        if result.is_err() {
            self.end();
        }
        result
    }

    /// Abandons what is left.
    pub(super) fn end(&mut self) {
        self.steps = Vec::new().into_iter();
        self.begun.clear();
        (self.scans, self.listed, self.awaiting) = (Vec::new(), None, None);
    }
}
