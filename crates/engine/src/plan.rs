//! Which baskets a read needs, and what is done with them.

use crate::elsewhere::{FileIndex, Located};
use crate::request::Wanted;
use crate::{Interrupt, Tree};
use bytes::Bytes;
use rayon::prelude::*;
use sapwood_core::{Buffer, ByteRange, Column, Counters, Deadline, Error, Form, Primitive, Result};
use sapwood_ttree::{BasketBytes, BasketRef, Branch, Counts, Interpretation, Meaning, Outcome, decode};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One column of a read: the entries of one branch.
#[derive(Debug)]
pub(crate) struct ColumnPlan<'t> {
    values: BranchPlan<'t>,
    /// The branch that counts the items of each entry, where the baskets do not say where entries begin, or
    /// those of each object.
    counts: Option<BranchPlan<'t>>,
}

#[derive(Debug)]
struct BranchPlan<'t> {
    branch: &'t Branch,
    interpretation: &'t Interpretation,
    entries: Range<u64>,
    baskets: &'t [BasketRef],
    /// Where the baskets lie.
    file: FileIndex,
}

/// Entry ranges must lie in the tree.
pub(crate) fn check_range(tree: &Tree, entries: &Range<u64>) -> Result<()> {
    if entries.start <= entries.end && entries.end <= tree.entries() {
        return Ok(());
    }
    Err(Error::usage(format!(
        "the entries {} to {} are not in the tree, which has {}",
        entries.start,
        entries.end,
        tree.entries()
    ))
    .url(tree.file().url()))
}

/// Opens what the plans of columns need to be open.
pub(crate) fn prepare(
    tree: &Tree,
    wanted: &[Wanted],
    deadline: Deadline,
    interrupt: Interrupt<'_>,
) -> Result<()> {
    let counts =
        |wanted: &Wanted| interpretation(tree, wanted.branch, None).ok().and_then(|known| known.count_branch);
    let branches = wanted.iter().flat_map(|wanted| [Some(wanted.branch), counts(wanted)]);
    tree.open_elsewhere(branches.flatten(), deadline, interrupt)
}

/// The plans of columns for the entries `entries`.
pub(crate) fn plan<'t>(
    tree: &'t Tree,
    wanted: &'t [Wanted],
    entries: &Range<u64>,
) -> Result<Vec<ColumnPlan<'t>>> {
    let plans = wanted.iter().map(|wanted| plan_column(tree, wanted, entries));
    plans.collect::<Result<_>>().map_err(|error| error.url(tree.file().url()))
}

/// Adds the baskets and bytes of a column to the counters; how long it takes is counted basket by basket.
pub(crate) fn counted(
    counters: &Counters,
    plan: &ColumnPlan<'_>,
    work: impl FnOnce() -> Result<Column>,
) -> Result<Column> {
    let column = work()?;
    counters.baskets.add(plan.basket_count() as u64);
    counters.decompressed_bytes.add(column.byte_count() as u64);
    Ok(column)
}

/// The plan of a column for the entries `entries` of a branch; fewer, if the branch has fewer.
fn plan_column<'t>(tree: &'t Tree, wanted: &'t Wanted, entries: &Range<u64>) -> Result<ColumnPlan<'t>> {
    let outcome = wanted.selected.as_deref();
    let values = BranchPlan::new(tree, wanted.branch, outcome, entries)?;
    let counts = match values.interpretation.count_branch {
        Some(count) if values.interpretation.counts_objects() => {
            Some(BranchPlan::new(tree, count, None, &values.entries)?)
        }
        // Only with this feature can a basket do without the offsets of its entries (TBasket §5.2).
        Some(count) if values.branch.io_bits != 0 => match (values.baskets.first(), values.baskets.last()) {
            (Some(first), Some(last)) => {
                Some(BranchPlan::new(tree, count, None, &(first.first_entry..last.end()))?)
            }
            _ => None,
        },
        _ => None,
    };
    Ok(ColumnPlan { values, counts })
}

/// How the bytes of a branch become values, or how those of what was selected of it do.
///
/// # Errors
/// `Usage` if there is no such branch; `Corrupt` or `Unsupported` if it cannot be read.
pub(crate) fn interpretation<'t>(
    tree: &'t Tree,
    index: usize,
    selected: Option<&'t Outcome>,
) -> Result<&'t Interpretation> {
    let (Some(branch), Some(outcome)) = (tree.branches().get(index), tree.outcomes().get(index)) else {
        return Err(Error::usage(format!("the tree has no branch number {index}")));
    };
    let outcome = selected.unwrap_or(outcome);
    let error = match &outcome.meaning {
        _ if branch.broken.is_some() => Error::corrupt(branch.broken.clone().unwrap_or_default()),
        Meaning::Column(interpretation) => return Ok(interpretation),
        Meaning::Group => {
            Error::unsupported("the branch has no data of its own").hint("read its sub-branches")
        }
        Meaning::Unsupported(why) => {
            Error::unsupported(format!("the type {} cannot be read: {why}", outcome.typename))
        }
    };
    Err(error.branch(&branch.path))
}

impl<'t> BranchPlan<'t> {
    fn new(
        tree: &'t Tree,
        index: usize,
        selected: Option<&'t Outcome>,
        entries: &Range<u64>,
    ) -> Result<Self> {
        let interpretation = interpretation(tree, index, selected)?;
        let branch = &tree.branches()[index];
        let end = branch.first_entry.saturating_add(branch.entries);
        if entries.start < branch.first_entry && !entries.is_empty() {
            // A shorter column would look as if its values belonged to earlier entries.
            let message = format!("the branch begins at entry {}, not {}", branch.first_entry, entries.start);
            return Err(Error::unsupported(message)
                .branch(&branch.path)
                .hint(format!("read it from entry {} on", branch.first_entry)));
        }
        let entries = entries.start.min(end)..entries.end.min(end);
        let from = branch.baskets.partition_point(|basket| basket.end() <= entries.start);
        let to = branch.baskets.partition_point(|basket| basket.first_entry < entries.end);
        let baskets = branch.baskets.get(from..to).unwrap_or_default();
        let file = tree.file_index(&branch.file_name).map_err(|error| error.branch(&branch.path))?;
        Ok(BranchPlan { branch, interpretation, entries, baskets, file })
    }

    fn located(&self) -> impl Iterator<Item = Located<'_>> {
        self.baskets.iter().map(|basket| Located { file: self.file, basket })
    }

    fn decode(
        &self,
        bytes: &impl Fn(Located<'_>) -> Option<Bytes>,
        counts: Option<Counts<'_>>,
        likely: Option<&Arc<Buffer>>,
        counters: &Counters,
    ) -> Result<Column> {
        let baskets: Vec<BasketBytes<'_>> = self
            .baskets
            .iter()
            .map(|basket| {
                let located = Located { file: self.file, basket };
                let bytes = basket.embedded.clone().or_else(|| bytes(located));
                let bytes =
                    bytes.ok_or_else(|| Error::corrupt("a basket was not fetched").at(basket.offset))?;
                Ok(BasketBytes { basket, bytes })
            })
            .collect::<Result<_>>()?;
        decode(self.interpretation, &baskets, self.entries.clone(), counts, likely, counters)
            .map_err(|error| error.branch(&self.branch.path))
    }
}

impl ColumnPlan<'_> {
    /// The baskets that lie in the file, and not in the tree's record.
    pub(crate) fn baskets(&self) -> impl Iterator<Item = Located<'_>> {
        let baskets = self.values.located().chain(self.counts.iter().flat_map(BranchPlan::located));
        baskets.filter(|located| located.basket.embedded.is_none())
    }

    /// The files that they lie in.
    pub(crate) fn files(&self) -> impl Iterator<Item = FileIndex> {
        [Some(self.values.file), self.counts.as_ref().map(|counts| counts.file)].into_iter().flatten()
    }

    /// Where those in one file lie.
    pub(crate) fn ranges(&self, file: FileIndex) -> impl Iterator<Item = ByteRange> {
        self.baskets().filter(move |located| located.file == file).map(|located| located.range())
    }

    /// Decodes the column from its baskets; shares the `likely` offsets if they prove right.
    pub(crate) fn decode(
        &self,
        bytes: impl Fn(Located<'_>) -> Option<Bytes>,
        likely: Option<&Arc<Buffer>>,
        counters: &Counters,
    ) -> Result<Column> {
        let Some(counts) = &self.counts else {
            return self.values.decode(&bytes, None, likely, counters);
        };
        let column = counts.decode(&bytes, None, None, counters)?;
        let (offsets, values) = integers(&column)
            .ok_or_else(|| Error::corrupt("items are counted by a branch that holds no integers"))?;
        let counts = Counts { first_entry: counts.entries.start, offsets, values: &values };
        self.values.decode(&bytes, Some(counts), likely, counters)
    }

    /// Number of baskets to decode.
    pub(crate) fn basket_count(&self) -> usize {
        self.values.baskets.len()
    }
}

/// The offsets, if it is one of lists, and the values of a column of integers.
pub(crate) fn integers(column: &Column) -> Option<(Option<&[i64]>, Vec<i64>)> {
    match (&column.form, column.buffers.as_slice()) {
        (Form::List(content), [offsets, values]) => {
            Some((Some(offsets.view()), widened_all(content, values)?))
        }
        (form, [values]) => Some((None, widened_all(form, values)?)),
        _ => None,
    }
}

fn widened_all(form: &Form, buffer: &Buffer) -> Option<Vec<i64>> {
    fn widened<T: Copy>(values: &[T]) -> Vec<i64>
    where
        i64: From<T>,
    {
        values.iter().map(|value| i64::from(*value)).collect()
    }
    Some(match form {
        Form::Primitive(Primitive::I8) => widened::<i8>(buffer.view()),
        Form::Primitive(Primitive::U8) => widened::<u8>(buffer.view()),
        Form::Primitive(Primitive::I16) => widened::<i16>(buffer.view()),
        Form::Primitive(Primitive::U16) => widened::<u16>(buffer.view()),
        Form::Primitive(Primitive::I32) => widened::<i32>(buffer.view()),
        Form::Primitive(Primitive::U32) => widened::<u32>(buffer.view()),
        Form::Primitive(Primitive::I64) => buffer.view::<i64>().to_vec(),
        _ => return None,
    })
}

/// Runs `work` for each plan, on the threads of the current pool, unless `cancelled` is set meanwhile.
///
/// Columns that one branch counts usually have the same offsets: they are decoded after the first of them,
/// whose offsets `work` is given.
pub(crate) fn in_parallel<'t>(
    plans: &[ColumnPlan<'t>],
    cancelled: &AtomicBool,
    work: impl Fn(&ColumnPlan<'t>, Option<&Arc<Buffer>>) -> Result<Column> + Sync,
) -> Result<Vec<Column>> {
    let work = |plan: &ColumnPlan<'t>, likely: Option<&Arc<Buffer>>| {
        if cancelled.load(Ordering::Relaxed) { Err(crate::pool::interrupted()) } else { work(plan, likely) }
    };
    let groups = by_count(plans);
    let decoded: Vec<Vec<Column>> = groups
        .par_iter()
        .map(|group| {
            let Some((first, others)) = group.split_first() else { return Ok(Vec::new()) };
            let first = work(&plans[*first], None)?;
            let likely = first.buffers.first().cloned();
            let others = others.par_iter().map(|index| work(&plans[*index], likely.as_ref()));
            let mut columns = others.collect::<Result<Vec<Column>>>()?;
            columns.insert(0, first);
            Ok(columns)
        })
        .collect::<Result<_>>()?;
    let mut columns: Vec<(usize, Column)> =
        groups.into_iter().flatten().zip(decoded.into_iter().flatten()).collect();
    columns.sort_unstable_by_key(|(index, _)| *index);
    Ok(columns.into_iter().map(|(_, column)| column).collect())
}

/// Indices of the plans, those together whose items the same branch counts.
fn by_count(plans: &[ColumnPlan<'_>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut of_count: HashMap<usize, usize> = HashMap::new();
    for (index, plan) in plans.iter().enumerate() {
        match plan.values.interpretation.count_branch {
            Some(count) => match of_count.entry(count) {
                Entry::Occupied(group) => groups[*group.get()].push(index),
                Entry::Vacant(free) => {
                    free.insert(groups.len());
                    groups.push(vec![index]);
                }
            },
            None => groups.push(vec![index]),
        }
    }
    groups
}
