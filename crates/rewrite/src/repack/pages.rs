//! Copies RNTuples: pages, as they are or compressed otherwise, where whole clusters are wanted; otherwise the values of
//! columns.

use super::attribute_sets;
use super::inputs::Inputs;
use super::journal::Placement;
use super::options::{RepackOptions, RepackReport, TreeSelection};
use super::output::OutputFile;
use super::plan::TreePlan;
use super::values::for_each_piece;
use crate::new_table::{Format, NewTable};
use bytes::Bytes;
use sapwood_core::{ByteRange, Call, Error, Result};
use sapwood_fetch::{Ahead, Job};
use sapwood_rntuple::RNTuple;
use sapwood_rntuple::write::{CopiedFields, StoredCluster, StoredPage};
use sapwood_table::Table;
use sapwood_table::pool::{compute, computing, largest_first, read_ahead};
use sapwood_table::write::ColumnView;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of pages that are fetched and placed together.
const BATCH: u64 = 16 << 20;

/// Consecutive entries of an input that are written in the same way.
enum Step {
    /// The pages of whole clusters.
    Pages(Vec<StoredCluster>),
    /// The values of entries.
    Values(Vec<Range<u64>>),
}

/// An RNTuple that is being copied.
struct RNTupleCopy<'a> {
    fields: CopiedFields,
    target: NewTable,
    /// Pages that were copied, and those that were compressed otherwise.
    copied: u64,
    recompressed: u64,
    /// Index of the RNTuple in the plan, and the number of steps that copied pages so far.
    number: usize,
    steps: usize,
    options: &'a RepackOptions,
}

/// Writes an RNTuple, and its index in the plan, with the wanted fields and the chosen entries of all inputs; its number of
/// entries.
pub(super) fn copy(
    (number, tree): (usize, &TreePlan),
    inputs: &mut Inputs<'_>,
    output: &mut OutputFile,
    options: &RepackOptions,
    report: &mut RepackReport,
    call: &mut Call<'_>,
) -> Result<u64> {
    let selection = options.selections.iter().find(|selection: &&TreeSelection| selection.tree == tree.path);
    let ranges = selection.and_then(|selection| selection.entries.as_ref());
    let first = rntuple(tree, 0, inputs, call)?;
    let wanted = tree.wanted.iter().enumerate().filter(|(_, wanted)| **wanted);
    let wanted: Vec<usize> = wanted.map(|(column, _)| column).collect();
    let names: Vec<&str> = wanted.iter().filter_map(|column| Some(first.schema(*column)?.name)).collect();
    let mut copy = RNTupleCopy::begin(&first, &wanted, (number, tree), output, options)?;
    for position in 0..tree.inputs.len() {
        let table = rntuple(tree, position, inputs, call)?;
        let chosen = tree.chosen(position, ranges);
        let chosen: Vec<Range<u64>> = chosen.within(0..table.entries()).collect();
        copy.add(&table, &names, &chosen, output, call).map_err(|error| error.url(table.url()))?;
    }
    for set in attribute_sets::copy(tree, ranges, inputs, output, options, report, call)? {
        copy.target.link(set);
    }
    let pool = computing(options.threads)?;
    let (file, sink) = output.both();
    compute(&pool, call, |_| copy.target.end(file, sink))?;
    report.copied_baskets += copy.copied;
    report.recompressed_baskets += copy.recompressed;
    report.cut_baskets += copy.rewritten();
    Ok(copy.target.entries())
}

/// An input's RNTuple, whose streamed objects are read as bytes.
fn rntuple(
    tree: &TreePlan,
    position: usize,
    inputs: &mut Inputs<'_>,
    call: &mut Call<'_>,
) -> Result<Arc<RNTuple>> {
    let (table, _) = tree.table(position, inputs, call)?;
    let table: &RNTuple = table.as_format().ok_or_else(|| Error::usage("a tree among RNTuples"))?;
    Ok(Arc::new(table.with_objects_as_bytes()))
}

impl<'a> RNTupleCopy<'a> {
    fn begin(
        first: &RNTuple,
        wanted: &[usize],
        (number, tree): (usize, &TreePlan),
        output: &mut OutputFile,
        options: &'a RepackOptions,
    ) -> Result<RNTupleCopy<'a>> {
        let usual = options.compression.unwrap_or_else(|| output.file.compression());
        let mut fields = CopiedFields::new(first, wanted, options.compression, usual)?;
        fields.add_types(&tree.types);
        let target = output.rntuple_like(first, &fields, &tree.path, options)?;
        Ok(RNTupleCopy { fields, target, copied: 0, recompressed: 0, number, steps: 0, options })
    }

    /// Pages that were made from values.
    fn rewritten(&self) -> u64 {
        match &self.target.format {
            Format::RNTuple(builder) => builder.filled_pages(),
            Format::Tree { .. } => 0,
        }
    }

    /// Adds the chosen entries of an input.
    fn add(
        &mut self,
        table: &Arc<RNTuple>,
        names: &[&str],
        chosen: &[Range<u64>],
        output: &mut OutputFile,
        call: &mut Call<'_>,
    ) -> Result<()> {
        let of_name: HashMap<&str, usize> = (0..table.column_count())
            .filter_map(|column| Some((table.schema(column)?.name, column)))
            .collect();
        let missing = |name: &str| Error::corrupt("the field is missing").branch(name);
        let columns = names.iter().map(|name| of_name.get(name).copied().ok_or_else(|| missing(name)));
        let columns: Vec<usize> = columns.collect::<Result<_>>()?;
        let usual = output.file.compression();
        let own = CopiedFields::new(table, &columns, self.options.compression, usual)?;
        for step in self.steps(table, &own, chosen) {
            match step {
                Step::Pages(clusters) => self.copy_pages(table, clusters, output, call)?,
                Step::Values(ranges) => self.copy_values(table, &own, &ranges, output, call)?,
            }
        }
        Ok(())
    }

    /// How the chosen entries are written.
    fn steps(&self, table: &RNTuple, own: &CopiedFields, chosen: &[Range<u64>]) -> Vec<Step> {
        let is_unchanged = self.options.cluster.is_none()
            && self.options.basket_size.is_none()
            && self.fields.is_stored_as(own);
        let mut steps = Vec::new();
        for (cluster, bounds) in table.cluster_starts().windows(2).enumerate() {
            let &[start, end] = bounds else { continue };
            let from = chosen.partition_point(|range| range.end <= start);
            let here = chosen.iter().skip(from).take_while(|range| range.start < end);
            let here: Vec<Range<u64>> =
                here.map(|range| range.start.max(start)..range.end.min(end)).collect();
            let is_whole =
                is_unchanged && matches!(here.as_slice(), [one] if (one.start, one.end) == (start, end));
            let stored = is_whole.then(|| own.stored(table, cluster, self.options.compression)).flatten();
            match (steps.last_mut(), stored) {
                (Some(Step::Pages(clusters)), Some(stored)) => clusters.push(stored),
                (_, Some(stored)) => steps.push(Step::Pages(vec![stored])),
                (_, None) if here.is_empty() => {}
                (Some(Step::Values(ranges)), None) => {
                    for range in here {
                        match ranges.last_mut() {
                            Some(last) if last.end == range.start => last.end = range.end,
                            _ => ranges.push(range),
                        }
                    }
                }
                (_, None) => steps.push(Step::Values(here)),
            }
        }
        steps
    }

    /// Copies the pages of clusters; those that several columns share, or several clusters, once.
    fn copy_pages(
        &mut self,
        table: &RNTuple,
        clusters: Vec<StoredCluster>,
        output: &mut OutputFile,
        call: &mut Call<'_>,
    ) -> Result<()> {
        let pool = computing(self.options.threads)?;
        let (file, sink) = output.both();
        compute(&pool, call, |_| self.target.end_cluster(file, sink))?;
        let stage = (self.steps, self.number);
        self.steps += 1;
        let mut earlier = output.journal.stage(stage, output.file.end())?.into_iter();
        let mut placed = HashMap::new();
        let mut left = batches(clusters).into_iter().peekable();
        while let Some(Job { tag: batch, .. }) =
            left.next_if(|job| earlier.len() > 0 || job.tag.pages.is_empty())
        {
            let placements: Vec<Placement> = earlier.by_ref().take(batch.pages.len()).collect();
            let lens: Vec<u64> = placements.iter().map(|placement| placement.bytes.into()).collect();
            let start = if lens.is_empty() { 0 } else { output.file.pass_blob(lens.iter().sum())? };
            self.add_batch(batch, start, &lens, &mut placed, output)?;
        }
        let fetcher = table.fetcher(0);
        let ahead = Ahead { jobs: 2, bytes: 2 * BATCH };
        let mut batches = read_ahead(left, move |_| fetcher.clone(), ahead)?;
        while let Some(batch) = batches.next(call) {
            let (batch, stored) = batch?;
            let written = |(page, stored): (&StoredPage, Bytes)| page.written(&stored);
            let parts = compute(&pool, call, |_| {
                largest_first(batch.pages.iter().zip(stored), |(_, stored)| stored.len() as u64, written)
            })?;
            let lens: Vec<u64> = parts.iter().map(|part| part.len() as u64).collect();
            let start = if lens.is_empty() { 0 } else { output.file.blob(self.target.directory, parts)? };
            output.flush()?;
            output.placed_pages(&batch.pages, &lens);
            self.add_batch(batch, start, &lens, &mut placed, output)?;
            output.keep();
        }
        Ok(())
    }

    /// Adds pages that are in the file from `start` on, with these lengths, and the cluster that they complete.
    fn add_batch(
        &mut self,
        Batch { pages, ends }: Batch,
        start: u64,
        lens: &[u64],
        placed: &mut HashMap<u64, ByteRange>,
        output: &mut OutputFile,
    ) -> Result<()> {
        let recompressed = pages.iter().filter(|page| page.is_recompressed()).count() as u64;
        self.recompressed += recompressed;
        self.copied += pages.len() as u64 - recompressed;
        let mut at = start;
        for (page, len) in pages.iter().zip(lens) {
            placed.insert(page.stored.start, ByteRange { start: at, len: *len });
            at += len;
        }
        if let (Some(cluster), Format::RNTuple(builder)) = (ends, &mut self.target.format) {
            let (file, directory) = (&mut output.file, self.target.directory);
            builder.add_cluster(cluster, placed, &mut |parts| file.blob(directory, parts))?;
        }
        output.flush()
    }

    /// Reads the values of entries, and writes them.
    fn copy_values(
        &mut self,
        table: &Arc<RNTuple>,
        own: &CopiedFields,
        ranges: &[Range<u64>],
        output: &mut OutputFile,
        call: &mut Call<'_>,
    ) -> Result<()> {
        self.fields.check_readable().and_then(|()| own.check_readable())?;
        let pool = computing(self.options.threads)?;
        let columns = own.columns_to_read();
        let table: Arc<dyn Table> = Arc::<RNTuple>::clone(table);
        let target = &mut self.target;
        for_each_piece(&table, columns, ranges, self.options.threads, call, &mut |columns, entries, call| {
            let views: Vec<ColumnView<'_>> = columns.iter().map(ColumnView::from).collect();
            target.check(&views, entries)?;
            let (file, sink) = output.both();
            compute(&pool, call, |cancelled| target.extend(&views, entries, cancelled, file, sink))
        })
    }
}

/// Pages that are fetched and placed together.
struct Batch {
    pages: Vec<StoredPage>,
    /// The cluster that is complete then.
    ends: Option<StoredCluster>,
}

/// The pages of clusters in batches. Those that several columns share, or several clusters, are in one.
fn batches(clusters: Vec<StoredCluster>) -> Vec<Job<Batch>> {
    let mut jobs = Vec::new();
    let mut seen = HashSet::new();
    let job = |pages: Vec<StoredPage>, ends| {
        let wanted = pages.iter().map(|page| (0, page.stored)).collect();
        Job { wanted, tag: Batch { pages, ends } }
    };
    for cluster in clusters {
        let (mut pages, mut bytes) = (Vec::new(), 0);
        for page in cluster.pages().into_iter().filter(|page| seen.insert(page.stored.start)) {
            if bytes > 0 && bytes + page.stored.len > BATCH {
                jobs.push(job(std::mem::take(&mut pages), None));
                bytes = 0;
            }
            bytes += page.stored.len;
            pages.push(page);
        }
        jobs.push(job(pages, Some(cluster)));
    }
    jobs
}
