//! Files out of files: copied, compressed anew, cut anew, merged; without understanding what is in the entries.
//!
//! ```text
//! plan: what is in the inputs ─▶ objects, as bytes ─▶ of each input, tree by tree: baskets ─▶ records of the trees
//! ```
//! Baskets are fetched ahead in the order of the file. Where nothing else is asked for, they are copied whole; else
//! they are compressed anew, or taken apart into entries, which are bytes, and cut anew.

pub mod baskets;
pub mod entry_ranges;
pub mod input;
pub mod inputs;
pub mod objects;
mod options;
mod journal;
mod sets;
mod stream;
pub mod plan;
mod output_tree;
pub mod output;

pub use options::{TreeSelection, SchemaDrift, Input, InputFile, OpenFile, RepackOptions, RepackReport};

use baskets::CodecTimes;
use input::InputTree;
use inputs::Inputs;
use objects::{copy_objects, copy_process_ids};
use journal::RepackJournal;
use sapwood_codec::{Algorithm, Compression};
use sapwood_core::{Call, Result};
use sapwood_sink::Sink;
use sapwood_table::pool::computing;
use sapwood_tfile::write::FileWriter;
use sets::TreeSets;
use std::sync::atomic::Ordering;
use stream::{NARROW_END, BasketStream, flush};
use plan::RepackPlan;
use output_tree::OutputTree;
use output::OutputFile;

/// Writes what is in some files to a new one, `name` being what ROOT shows as its name. Trees of the same path are
/// joined, in the order of the inputs; histograms are added; of other objects that are in several files, the first is
/// kept.
///
/// # Errors
/// Those of opening and reading the inputs, and of the sink; `Unsupported` for what cannot be carried, and if trees
/// that are to be joined differ; `Missing` if a tree or branch that was chosen is not there; `Corrupt` if baskets do not
/// hold the entries that the tree says. There is nothing at the target then, or what was there before; where the sink
/// keeps what was done so far, the same call goes on from there.
pub fn repack(
    inputs: &[Input],
    mut sink: Box<dyn Sink>,
    name: &str,
    options: &RepackOptions,
    call: &mut Call<'_>,
) -> Result<RepackReport> {
    let mut inputs = Inputs::new(inputs);
    let mut report = RepackReport::default();
    let mut plan = RepackPlan::new(&mut inputs, options, &mut report.notes, call)?;
    let first = inputs.get(0, call)?;
    let own = Compression::from_number(first.header().compression);
    let own = own.or_else(|_| Compression::new(Algorithm::Zlib, 1)).unwrap_or_default();
    let progress = match plan.job(name, options) {
        Some(job) => RepackJournal::begin(&mut *sink, job, options.keep_every, &mut report.notes)?,
        None => RepackJournal::none(),
    };
    let compression = options.compression.unwrap_or(own);
    let file = FileWriter::new(name, "", compression, progress.origin())?;
    let mut output = OutputFile::going_on(file, sink, progress);
    match write(&mut plan, &mut inputs, &mut output, options, &mut report, call) {
        Ok(()) => report.bytes = output.commit()?,
        Err(error) => return Err(output.leave(error)),
    }
    Ok(report)
}

/// Writes all there is but the end of the file.
fn write(
    plan: &mut RepackPlan,
    inputs: &mut Inputs<'_>,
    output: &mut OutputFile,
    options: &RepackOptions,
    report: &mut RepackReport,
    call: &mut Call<'_>,
) -> Result<()> {
    output.file.descriptions().unite(&plan.descriptions);
    for (path, title) in &plan.directories {
        output.directory(path, Some(title))?;
    }
    copy_process_ids(&plan.process_ids, inputs, output, options, call)?;
    copy_objects(&plan.objects, inputs, output, options, report, call)?;
    copy_trees(plan, inputs, output, options, report, call)
}

/// Writes the trees: input by input, so that each is open once.
pub fn copy_trees(
    plan: &mut RepackPlan,
    inputs: &mut Inputs<'_>,
    output: &mut OutputFile,
    options: &RepackOptions,
    report: &mut RepackReport,
    call: &mut Call<'_>,
) -> Result<()> {
    let (pool, times) = (computing(options.threads)?, CodecTimes::default());
    let mut targets: Vec<Option<OutputTree>> = plan.trees.iter().map(|_| None).collect();
    let mut sets = TreeSets::default();
    output.hand_on()?;
    output.progress.begin_baskets(output.file.end())?;
    for index in 0..inputs.len() {
        inputs.ahead(index);
        for (number, (tree, slot)) in plan.trees.iter_mut().zip(&mut targets).enumerate() {
            let Some(position) = tree.inputs.iter().position(|input| input.index == index) else { continue };
            let mut input = match tree.first.take() {
                Some(input) => input,
                None => {
                    let file = inputs.get(index, call)?;
                    let cycle = tree.inputs.get(position).map_or(0, |input| input.cycle);
                    InputTree::open(&file, &tree.path, cycle, &mut call.step())?
                }
            };
            let choice = options.selections.iter().find(|choice| choice.tree == tree.path);
            let ranges = choice.and_then(|choice| choice.entries.as_ref());
            if slot.is_none() {
                let apart = tree.cut
                    || ranges.is_some()
                    || tree.inputs.len() > 1
                    || options.compression.is_some()
                    || input.is_of_dataset()
                    || input.file.size() >= NARROW_END;
                let parent = tree.path.strip_suffix(&input.name).unwrap_or("");
                let directory = output.directory(parent, None)?;
                if ranges.is_none() && tree.inputs.len() == 1 {
                    input.allow_absent();
                }
                let wanted = tree.wanted.iter().enumerate().filter(|(_, wanted)| **wanted);
                input.find_baskets(wanted.map(|(branch, _)| branch), &mut call.step())?;
                let mut target = OutputTree::new(&input, directory, &tree.wanted, apart, options);
                target.go_on(number, &output.progress);
                *slot = Some(target);
            }
            let Some(target) = slot else { continue };
            let set = tree.inputs.len() > 1 && options.sets.contains(&tree.path);
            if set && !sets.insert(&tree.path, &input, &mut call.step())? {
                continue;
            }
            let chosen = tree.chosen(position, ranges);
            let places = target.places(&input);
            let used =
                places.iter().enumerate().filter(|(_, place)| place.is_some()).map(|(branch, _)| branch);
            input.find_baskets(used, &mut call.step())?;
            target.begin(&input, &places, &chosen, tree.cut)?;
            output.stage((index, number), target, report)?;
            let stream = BasketStream {
                input: &input,
                chosen: &chosen,
                places: &places,
                borders: target.borders(&input, &chosen),
                base: target.entries,
                cut: tree.cut,
                pid_shift: plan.shifts.get(index).copied().unwrap_or(0),
                pool: &pool,
                times: &times,
            };
            stream.run(target, output, report, options, call)?;
            target.end(&input, &chosen)?;
        }
    }
    for (number, (tree, target)) in plan.trees.iter().zip(&mut targets).enumerate() {
        let Some(target) = target else { continue };
        output.stage((inputs.len(), number), target, report)?;
        flush(target, output, report, &pool, &times, call)?;
        target.finish(tree.cut, &mut output.file)?;
        output.hand_on()?;
        report.trees.push((tree.path.clone(), target.entries));
        report.notes.extend(target.notes());
    }
    report.notes.extend(sets.notes());
    report.decompress_ns = times.decompress.load(Ordering::Relaxed);
    report.compress_ns = times.compress.load(Ordering::Relaxed);
    Ok(())
}
