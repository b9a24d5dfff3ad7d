//! Files out of files: copied, compressed anew, cut anew, merged; without understanding what is in the entries.
//!
//! ```text
//! survey: what is in the inputs ─▶ objects, as bytes ─▶ of each input, tree by tree: baskets ─▶ records of the trees
//! ```
//! Baskets are fetched ahead in the order of the file. Where nothing else is asked for, they are copied whole; else
//! they are compressed anew, or taken apart into entries, which are bytes, and cut anew.

pub(crate) mod baskets;
pub(crate) mod chosen;
pub(crate) mod input;
pub(crate) mod inputs;
pub(crate) mod objects;
mod options;
mod sets;
mod stream;
pub(crate) mod survey;
pub(crate) mod target;
pub(crate) mod writing;

pub use options::{Choice, Drift, Input, RepackOptions, RepackReport};

use crate::Interrupt;
use crate::pool::computing;
use baskets::Times;
use chosen::Chosen;
use input::InputTree;
use inputs::Inputs;
use objects::{copy_objects, copy_process_ids};
use sapwood_codec::{Algorithm, Compression};
use sapwood_core::Result;
use sapwood_source::sink::Sink;
use sapwood_tfile::write::{FileWriter, Origin};
use sets::Sets;
use std::sync::atomic::Ordering;
use stream::{Stream, flush};
use survey::Survey;
use target::Target;
use writing::Output;

/// Writes what is in some files to a new one, `name` being what ROOT shows as its name. Trees of the same path are
/// joined, in the order of the inputs; histograms are added; of other objects that are in several files, the first is
/// kept.
///
/// # Errors
/// Those of opening and reading the inputs, and of the sink; `Unsupported` for what cannot be carried, and if trees
/// that are to be joined differ; `Missing` if a tree or branch that was chosen is not there; `Corrupt` if baskets do not
/// hold the entries that the tree says. There is nothing at the target then, or what was there before.
pub fn repack(
    inputs: &[Input],
    sink: Box<dyn Sink>,
    name: &str,
    options: &RepackOptions,
    interrupt: Interrupt<'_>,
) -> Result<RepackReport> {
    let mut inputs = Inputs::new(inputs);
    let mut report = RepackReport::default();
    let mut survey = Survey::new(&mut inputs, options, &mut report.notes, interrupt)?;
    let first = inputs.get(0, interrupt)?;
    let own = Compression::from_number(first.header().compression);
    let own = own.or_else(|_| Compression::new(Algorithm::Zlib, 1)).unwrap_or_default();
    let file = FileWriter::new(name, "", options.compression.unwrap_or(own), Origin::now())?;
    let mut output = Output::new(file, sink);
    output.file.descriptions().unite(&survey.descriptions);
    for (path, title) in &survey.directories {
        output.directory(path, Some(title))?;
    }
    copy_process_ids(&survey.process_ids, &mut inputs, &mut output, options, interrupt)?;
    copy_objects(&survey.objects, &mut inputs, &mut output, options, &mut report, interrupt)?;
    copy_trees(&mut survey, &mut inputs, &mut output, options, &mut report, interrupt)?;
    report.bytes = output.commit()?;
    Ok(report)
}

/// Writes the trees: input by input, so that each is open once.
pub(crate) fn copy_trees(
    survey: &mut Survey,
    inputs: &mut Inputs<'_>,
    output: &mut Output,
    options: &RepackOptions,
    report: &mut RepackReport,
    interrupt: Interrupt<'_>,
) -> Result<()> {
    let (pool, times) = (computing(options.threads)?, Times::default());
    let mut targets: Vec<Option<Target>> = survey.trees.iter().map(|_| None).collect();
    let mut sets = Sets::default();
    for index in 0..inputs.len() {
        inputs.ahead(index);
        for (tree, slot) in survey.trees.iter_mut().zip(&mut targets) {
            let Some((position, &(_, cycle))) =
                tree.inputs.iter().enumerate().find(|(_, (input, _))| *input == index)
            else {
                continue;
            };
            let mut input = match tree.first.take() {
                Some(input) => input,
                None => {
                    let file = inputs.get(index, interrupt)?;
                    InputTree::open(&file, &tree.path, cycle, options.step(), interrupt)?
                }
            };
            let choice = options.choices.iter().find(|choice| choice.tree == tree.path);
            let ranges = choice.and_then(|choice| choice.entries.as_ref());
            if slot.is_none() {
                let apart = tree.cut || ranges.is_some() || tree.inputs.len() > 1;
                let parent = tree.path.strip_suffix(&input.name).unwrap_or("");
                let directory = output.directory(parent, None)?;
                *slot = Some(Target::new(&input, directory, &tree.wanted, apart, options));
            }
            let Some(target) = slot else { continue };
            let set = tree.inputs.len() > 1 && options.sets.contains(&tree.path);
            if set && !sets.insert(&tree.path, &input, options.step(), interrupt)? {
                continue;
            }
            let ranges = ranges.and_then(|inputs| inputs.get(position));
            let chosen = Chosen::new(ranges.map(Vec::as_slice), input.meta.entries);
            let places = target.places(&input);
            let used =
                places.iter().enumerate().filter(|(_, place)| place.is_some()).map(|(branch, _)| branch);
            input.open_elsewhere(used, options.step(), interrupt)?;
            target.begin(&input, &places, &chosen, tree.cut)?;
            let stream = Stream {
                input: &input,
                chosen: &chosen,
                places: &places,
                borders: target.borders(&input, &chosen),
                base: target.entries,
                cut: tree.cut,
                pid_shift: survey.shifts.get(index).copied().unwrap_or(0),
                pool: &pool,
                times: &times,
            };
            stream.run(target, output, report, options, interrupt)?;
            target.end(&input, &chosen)?;
        }
    }
    for (tree, target) in survey.trees.iter().zip(&mut targets) {
        let Some(target) = target else { continue };
        flush(target, output, report, &pool, &times, interrupt)?;
        target.finish(tree.cut, &mut output.file)?;
        output.hand_on()?;
        report.trees.push((tree.path.clone(), target.entries));
    }
    report.notes.extend(sets.notes());
    report.decompress_ns = times.decompress.load(Ordering::Relaxed);
    report.compress_ns = times.compress.load(Ordering::Relaxed);
    Ok(())
}
