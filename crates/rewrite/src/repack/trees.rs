//! Copies the trees, input by input, so that each input is opened once.

use super::baskets::CodecTimes;
use super::input::InputTree;
use super::inputs::Inputs;
use super::options::{RepackOptions, RepackReport, TreeSelection};
use super::output::OutputFile;
use super::output_tree::OutputTree;
use super::placing::close_cutters;
use super::plan::{RepackPlan, TableTreatment, TreePlan};
use super::sets::TreeSets;
use super::splitting::{self, InputObject};
use super::stream::{BasketStream, NARROW_END};
use rayon::ThreadPool;
use sapwood_core::{Call, Result};
use sapwood_table::pool::computing;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Copies the baskets of all planned trees that keep their format, and writes the records of these trees.
///
/// # Errors
/// Those of [`repack`](super::repack).
pub(super) fn copy_trees(
    plan: &mut RepackPlan,
    inputs: &mut Inputs<'_>,
    output: &mut OutputFile,
    options: &RepackOptions,
    report: &mut RepackReport,
    call: &mut Call<'_>,
) -> Result<()> {
    let pool = computing(options.threads)?;
    let mut copier = TreeCopier { options, pool, times: CodecTimes::default(), sets: TreeSets::default() };
    let mut targets: Vec<Option<OutputTree>> = plan.trees.iter().map(|_| None).collect();
    output.flush()?;
    output.journal.begin_baskets(output.file.end())?;
    for index in 0..inputs.len() {
        inputs.ahead(index);
        let pid_shift = plan.shifts.get(index).copied().unwrap_or(0);
        for (number, (tree, target)) in plan.trees.iter_mut().zip(&mut targets).enumerate() {
            if tree.treatment(options.format) != TableTreatment::Baskets {
                continue;
            }
            let Some(position) = tree.inputs.iter().position(|input| input.index == index) else { continue };
            let mut input = tree.open(position, inputs, call)?;
            let target = match target {
                Some(target) => target,
                None => target.insert(copier.begin(number, tree, &mut input, output, report, call)?),
            };
            let part = TreePart { tree, number, position, pid_shift };
            copier.copy(&part, &mut input, target, output, report, call)?;
        }
    }
    for (number, (tree, target)) in plan.trees.iter().zip(&mut targets).enumerate() {
        let Some(target) = target else { continue };
        output.stage((inputs.len(), number), target, report)?;
        close_cutters(target, output, report, &copier.pool, &copier.times, call)?;
        target.finish(tree.resplit, &mut output.file)?;
        output.flush()?;
        report.trees.push((tree.path.clone(), target.entries));
        report.notes.extend(target.notes());
    }
    copier.finish(report);
    Ok(())
}

/// What the copies of all trees share.
struct TreeCopier<'a> {
    options: &'a RepackOptions,
    pool: Arc<ThreadPool>,
    times: CodecTimes,
    sets: TreeSets,
}

/// One input's part of a tree.
struct TreePart<'a> {
    tree: &'a TreePlan,
    /// Index of the tree in the plan.
    number: usize,
    /// Index of the input among those that have the tree.
    position: usize,
    /// What is added to the numbers of process ids.
    pid_shift: u16,
}

impl TreeCopier<'_> {
    /// Begins a tree in the new file, after the first input that has it.
    fn begin(
        &self,
        number: usize,
        tree: &TreePlan,
        input: &mut InputTree,
        output: &mut OutputFile,
        report: &mut RepackReport,
        call: &mut Call<'_>,
    ) -> Result<OutputTree> {
        let ranges = self.entry_ranges(tree);
        let may_split = tree.resplit
            || ranges.is_some()
            || tree.inputs.len() > 1
            || self.options.compression.is_some()
            || input.is_of_dataset()
            || input.file.size() >= NARROW_END;
        let parent = tree.path.strip_suffix(&input.name).unwrap_or("");
        let directory = output.directory(parent, None)?;
        if ranges.is_none() && tree.inputs.len() == 1 {
            input.allow_absent();
        }
        let wanted = tree.wanted.iter().enumerate().filter(|(_, wanted)| **wanted);
        input.find_baskets(wanted.map(|(branch, _)| branch), &mut call.step())?;
        let mut target = OutputTree::new(input, directory, &tree.wanted, may_split, self.options);
        if let Some(level) = self.options.split {
            splitting::find_items(input, call)?;
            let objects = splitting::objects(input, &tree.wanted, level, &mut report.notes);
            let objects = splitting::convertible(objects, input, &mut report.notes, call)?;
            target.split(objects, input, self.options)?;
        }
        target.resume(number, &output.journal);
        Ok(target)
    }

    /// Copies the baskets of one input, unless the tree is a set that an earlier input had as well.
    fn copy(
        &mut self,
        part: &TreePart<'_>,
        input: &mut InputTree,
        target: &mut OutputTree,
        output: &mut OutputFile,
        report: &mut RepackReport,
        call: &mut Call<'_>,
    ) -> Result<()> {
        let &TreePart { tree, number, position, pid_shift } = part;
        let is_set = tree.inputs.len() > 1 && self.options.sets.contains(&tree.path);
        if is_set && !self.sets.insert(&tree.path, input, &mut call.step())? {
            return Ok(());
        }
        let chosen = tree.chosen(position, self.entry_ranges(tree));
        let places = target.places(input);
        let used = places.iter().enumerate().filter(|(_, place)| place.is_some()).map(|(branch, _)| branch);
        input.find_baskets(used, &mut call.step())?;
        target.begin(input, &places, &chosen, tree.resplit)?;
        if !target.objects.is_empty() {
            splitting::find_items(input, call)?;
        }
        let objects = target.begin_objects(input, &chosen)?;
        input.find_baskets(objects.iter().flat_map(InputObject::with_entries), &mut call.step())?;
        let index = tree.inputs.get(position).map_or(0, |input| input.index);
        output.stage((index, number), target, report)?;
        let stream = BasketStream {
            input,
            chosen: &chosen,
            places: &places,
            objects: &objects,
            borders: target.borders(input, &chosen),
            base: target.entries,
            resplit: tree.resplit,
            pid_shift,
            pool: &self.pool,
            times: &self.times,
        };
        stream.run(target, output, report, call)?;
        target.end(input, &chosen)
    }

    fn finish(self, report: &mut RepackReport) {
        report.notes.extend(self.sets.notes());
        report.decompress_ns = self.times.decompress.load(Ordering::Relaxed);
        report.compress_ns = self.times.compress.load(Ordering::Relaxed);
    }

    /// The selected entries of a tree, for each input; none if all are written.
    fn entry_ranges(&self, tree: &TreePlan) -> Option<&Vec<Vec<Range<u64>>>> {
        let of_tree = |selection: &&TreeSelection| selection.tree == tree.path;
        self.options.selections.iter().find(of_tree)?.entries.as_ref()
    }
}
