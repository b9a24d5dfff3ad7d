//! Decides which columns wait for the mask of a cut, and whether that is worth a round trip.

use super::query::{CutCosts, CutQuery, EntrySelection};
use crate::members::{member_form, names};
use crate::plan::Plan;
use crate::selection::{Query, Selection};
use crate::table::Table;
use sapwood_core::{Form, Result};
use std::collections::HashSet;
use std::ops::Range;
use std::slice;

/// The columns that are read for all entries, and those that wait for the mask, by their index in the query.
#[derive(Debug)]
pub(super) struct Stages {
    pub(super) first: Vec<usize>,
    /// Empty if there is only one stage.
    pub(super) second: Vec<usize>,
    /// Entries at which chunks of all columns of the second stage begin.
    boundaries: Vec<u64>,
}

impl Stages {
    /// The stages for the entries `range`, of which `left` are not excluded. The columns are located.
    pub(super) fn plan(query: &CutQuery, range: &Range<u64>, left: u64, costs: &CutCosts) -> Result<Stages> {
        let all = || (0..query.columns.len()).collect();
        let one = || Stages { first: all(), second: Vec::new(), boundaries: Vec::new() };
        let mut first: HashSet<usize> = query.cut.iter().copied().collect();
        let mut waiting = Vec::new();
        for group in &query.groups {
            if group.iter().all(|column| can_wait(query, *column, range)) {
                waiting.push(group);
            } else {
                first.extend(group);
            }
        }
        // Columns of the cut are read again with a waiting group, so that all of the group have the same entries.
        let incomplete = waiting.into_iter().filter(|group| group.iter().any(|one| !first.contains(one)));
        let second: HashSet<usize> = incomplete.flatten().copied().collect();
        let second: Vec<usize> = (0..query.columns.len()).filter(|column| second.contains(column)).collect();
        let Some(main) = query.tables.first().filter(|_| !second.is_empty()) else { return Ok(one()) };
        let SecondChunks { bytes, boundaries } = SecondChunks::of(query, &second, range)?;
        // Fewer bytes than those in flight on a full link arrive within the time of the round trip.
        let least = costs.least_bytes.max(bytes_in_flight(&**main));
        if bytes * u128::from(left) < u128::from(least) * u128::from(range.end - range.start) {
            return Ok(one());
        }
        let is_first = |column: &usize| first.contains(column) || second.binary_search(column).is_err();
        let first = (0..query.columns.len()).filter(is_first).collect();
        let boundaries = boundaries.filter(|found| !found.is_empty()).unwrap_or_else(|| {
            let starts = main.cluster_starts().iter().copied();
            starts.filter(|start| range.start < *start && *start < range.end).collect()
        });
        Ok(Stages { first, second, boundaries })
    }

    /// Whether to read only the passing entries of a step.
    pub(super) fn is_worth_skipping(
        &self,
        mask: &[bool],
        entries: &EntrySelection,
        costs: &CutCosts,
    ) -> bool {
        let passing = mask.iter().filter(|passes| **passes).count() as u128;
        if entries.chosen.is_some() || passing * 100 < u128::from(costs.many_percent) * mask.len() as u128 {
            return true;
        }
        // Chunks without a passing entry need not be read.
        let Range { start, end } = entries.within;
        let inside = self.boundaries.iter().filter(|boundary| start < **boundary && **boundary < end);
        let mut ends = inside.map(|boundary| usize::try_from(boundary - start).unwrap_or(usize::MAX));
        let mut from = 0;
        let mut part = |to: usize| {
            let part = mask.get(from..to.min(mask.len())).unwrap_or_default();
            from = to;
            part
        };
        let is_dropped = |part: &[bool]| !part.contains(&true);
        ends.any(|end| is_dropped(part(end))) || is_dropped(part(mask.len()))
    }
}

/// The size and the boundaries of the chunks of the second stage.
struct SecondChunks {
    /// Approximate number of stored bytes.
    bytes: u128,
    /// Entries inside the range at which chunks of all columns begin; `None` without columns.
    boundaries: Option<Vec<u64>>,
}

impl SecondChunks {
    fn of(query: &CutQuery, columns: &[usize], range: &Range<u64>) -> Result<SecondChunks> {
        let mut found = SecondChunks { bytes: 0, boundaries: None };
        let mut known: HashSet<(usize, Selection)> = HashSet::new();
        for (table, wanted) in columns.iter().filter_map(|column| query.columns.get(*column)) {
            let (Some(owner), selection) = (query.tables.get(*table), selection(wanted)) else { continue };
            let plan = Plan::new(&**owner, &selection, range)?;
            // Members of one column share its chunks.
            if known.insert((*table, Selection::whole(selection.column))) {
                found.add(&plan, range);
            }
        }
        Ok(found)
    }

    fn add(&mut self, plan: &Plan<'_>, range: &Range<u64>) {
        let mut starts = Vec::new();
        for chunk in plan.chunks().iter().filter(|chunk| !(chunk.index && chunk.shared)) {
            let all = chunk.entries.end.saturating_sub(chunk.entries.start).max(1);
            let inside =
                chunk.entries.end.min(range.end).saturating_sub(chunk.entries.start.max(range.start));
            self.bytes += u128::from(chunk.range.len) * u128::from(inside.min(all)) / u128::from(all);
            if !chunk.index && range.start < chunk.entries.start && chunk.entries.start < range.end {
                starts.push(chunk.entries.start);
            }
        }
        starts.sort_unstable();
        match &mut self.boundaries {
            Some(common) => common.retain(|start| starts.binary_search(start).is_ok()),
            None => self.boundaries = Some(starts),
        }
    }
}

/// Whether a column may be read for some entries only: it has all entries up to the end of the range, and its form does
/// not depend on the data. The column is located.
pub(super) fn can_wait(query: &CutQuery, column: usize, range: &Range<u64>) -> bool {
    let Some(last) = range.end.checked_sub(1).filter(|last| *last >= range.start) else { return false };
    let Some((table, wanted)) = query.columns.get(column) else { return false };
    let Some(table) = query.tables.get(*table) else { return false };
    let selection = selection(wanted);
    let form = table.form(&selection).and_then(|(form, _)| member_form(&form, &names(&wanted.member)));
    form.is_ok_and(|form| !depends_on_data(&form))
        && table.plan(&selection, &(last..last + 1)).is_ok_and(|plan| !plan.entries().is_empty())
}

/// Whether a form depends on the data, such as on the classes of objects.
fn depends_on_data(form: &Form) -> bool {
    match form {
        Form::Empty => true,
        Form::Primitive(_) | Form::String => false,
        Form::Fixed { content, .. } | Form::List(content) | Form::Option(content) => depends_on_data(content),
        Form::Record { fields, .. } => fields.iter().any(|field| depends_on_data(&field.form)),
        Form::Tuple(forms) | Form::Union(forms) => forms.iter().any(depends_on_data),
    }
}

fn selection(query: &Query) -> Selection {
    Selection::of_members(query.column, slice::from_ref(&names(&query.member)))
}

/// Bytes in flight on a full link to the source; 0 if unknown.
fn bytes_in_flight(table: &dyn Table) -> u64 {
    let fetcher = table.fetcher(0);
    if fetcher.source().cost_model().immediate { 0 } else { fetcher.link().bytes_in_flight().unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_worth_skipping(mask: &[bool], entries: impl Into<EntrySelection>) -> bool {
        let stages = Stages { first: Vec::new(), second: vec![0], boundaries: vec![10, 20, 30] };
        stages.is_worth_skipping(mask, &entries.into(), &CutCosts::default())
    }

    #[test]
    fn entries_are_skipped_where_few_pass_or_none_of_some_chunk() {
        let mut mask = vec![false; 30];
        assert!(is_worth_skipping(&mask, 5..35));
        mask[0] = true;
        assert!(is_worth_skipping(&mask, 5..35));
        for passing in [5, 15, 29] {
            assert!(is_worth_skipping(&mask, 5..35), "{passing}");
            mask[passing] = true;
        }
        assert!(!is_worth_skipping(&mask, 5..35));
        assert!(!is_worth_skipping(&[true], 5..6));
        assert!(is_worth_skipping(&[true], EntrySelection { within: 5..35, chosen: Some(vec![7]) }));
        assert!(is_worth_skipping(&[], 5..5));
    }

    #[test]
    fn forms_that_depend_on_the_data_cannot_wait() {
        let number = Form::Primitive(sapwood_core::Primitive::F32);
        assert!(!depends_on_data(&Form::list(number.clone())));
        assert!(depends_on_data(&Form::list(Form::Tuple(vec![number, Form::Empty]))));
    }
}
