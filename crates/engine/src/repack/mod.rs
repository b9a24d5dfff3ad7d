//! Files out of files: copied, compressed anew, cut anew, merged; without understanding what is in the entries.
//!
//! ```text
//! survey: what is in the inputs ─▶ objects, as bytes ─▶ of each input, tree by tree: baskets ─▶ records of the trees
//! ```
//! Baskets are fetched ahead in the order of the file. Where nothing else is asked for, they are copied whole; else
//! they are compressed anew, or taken apart into entries, which are bytes, and cut anew.

mod baskets;
mod chosen;
mod input;
mod options;
mod stream;
mod survey;
mod target;
mod writing;

pub use options::{Choice, Drift, Input, RepackOptions, RepackReport};

use crate::pool::{computing, runtime};
use crate::{File, Interrupt, KeyEntry};
use baskets::Times;
use chosen::Chosen;
use input::InputTree;
use sapwood_codec::{Algorithm, Compression};
use sapwood_core::{ByteRange, Error, Result};
use sapwood_fetch::{Ahead, Job, ReadAhead};
use sapwood_source::sink::Sink;
use sapwood_tfile::Key;
use sapwood_tfile::write::{FileWriter, Origin};
use std::sync::atomic::Ordering;
use stream::{Stream, flush};
use survey::{Inputs, Survey};
use target::Target;
use writing::Output;

/// Bytes of objects that are fetched together.
const OBJECTS: u64 = 8 << 20;

/// Writes what is in some files to a new one, `name` being what ROOT shows as its name. Trees of the same path are
/// joined, in the order of the inputs; of other objects that are in several files, the first is kept.
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
    let survey = Survey::new(&mut inputs, options, &mut report.notes, interrupt)?;
    let first = inputs.get(0, interrupt)?;
    let own = Compression::from_number(first.header().compression);
    let own = own.or_else(|_| Compression::new(Algorithm::Zlib, 1)).unwrap_or_default();
    let file = FileWriter::new(name, "", options.compression.unwrap_or(own), Origin::now())?;
    let mut output = Output::new(file, sink);
    output.file.descriptions().unite(&survey.descriptions);
    for (path, title) in &survey.directories {
        output.directory(path, Some(title))?;
    }
    copy_objects(&survey.objects, &mut inputs, &mut output, options, &mut report, interrupt)?;
    copy_trees(&survey, &mut inputs, &mut output, options, &mut report, interrupt)?;
    report.bytes = output.commit()?;
    Ok(report)
}

/// Copies what is no tree, as bytes.
fn copy_objects(
    objects: &[(KeyEntry, Vec<usize>)],
    inputs: &mut Inputs<'_>,
    output: &mut Output,
    options: &RepackOptions,
    report: &mut RepackReport,
    interrupt: Interrupt<'_>,
) -> Result<()> {
    let mut of_input: Vec<Vec<&KeyEntry>> = vec![Vec::new(); inputs.len()];
    for (entry, sources) in objects {
        if let Some(first) = sources.first().and_then(|first| of_input.get_mut(*first)) {
            first.push(entry);
        }
        if sources.len() > 1 {
            let (path, class) = (&entry.path, &entry.key.class_name);
            report.notes.push(format!("'{path}' ({class}) is in {} files: the first is kept", sources.len()));
        }
    }
    for (index, entries) in of_input.into_iter().enumerate().filter(|(_, entries)| !entries.is_empty()) {
        let file = inputs.get(index, interrupt)?;
        copy_objects_of(&file, &entries, output, options, interrupt)?;
        report.objects += entries.len() as u64;
    }
    Ok(())
}

fn copy_objects_of(
    file: &File,
    entries: &[&KeyEntry],
    output: &mut Output,
    options: &RepackOptions,
    interrupt: Interrupt<'_>,
) -> Result<()> {
    let mut jobs: Vec<Job<std::ops::Range<usize>>> = Vec::new();
    let mut bytes = u64::MAX;
    for (index, entry) in entries.iter().enumerate() {
        let range = ByteRange::new(entry.key.offset, u64::from(entry.key.nbytes))?;
        if bytes.saturating_add(range.len) > OBJECTS {
            jobs.push(Job { wanted: Vec::new(), tag: index..index });
            bytes = 0;
        }
        bytes += range.len;
        if let Some(job) = jobs.last_mut() {
            job.wanted.push(range);
            job.tag.end = index + 1;
        }
    }
    let ahead = Ahead { jobs: 2, bytes: 2 * OBJECTS };
    let mut ahead = ReadAhead::new(jobs, file.0.fetcher.clone(), runtime()?, ahead);
    while let Some(answer) = ahead.next(options.deadline, interrupt) {
        let (range, records) = answer?;
        for (entry, record) in entries.get(range).unwrap_or_default().iter().zip(records) {
            let own = Key::parse_at(&record, entry.key.offset).map_err(|error| error.url(file.url()))?;
            if (own.nbytes, own.key_len) != (entry.key.nbytes, entry.key.key_len) {
                let message = format!("the key of '{}' disagrees with the record that it names", entry.path);
                return Err(Error::corrupt(message).at(entry.key.offset).url(file.url()));
            }
            // The name of an object may have slashes: its directory is what stands before it.
            let parent = entry.path.strip_suffix(&entry.key.name).unwrap_or("");
            let directory = output.directory(parent, None)?;
            let key_len = own.key_len as usize;
            let (key, payload) = (record.slice(..key_len), record.slice(key_len..));
            output.file.copied_and_listed(directory, &key, payload, 0)?;
        }
        output.hand_on()?;
    }
    Ok(())
}

/// Writes the trees: input by input, so that each is open once.
fn copy_trees(
    survey: &Survey,
    inputs: &mut Inputs<'_>,
    output: &mut Output,
    options: &RepackOptions,
    report: &mut RepackReport,
    interrupt: Interrupt<'_>,
) -> Result<()> {
    let (pool, times) = (computing(options.threads)?, Times::default());
    let mut targets: Vec<Option<Target>> = survey.trees.iter().map(|_| None).collect();
    for index in 0..inputs.len() {
        for (tree, slot) in survey.trees.iter().zip(&mut targets) {
            let Some((position, &(_, cycle))) =
                tree.inputs.iter().enumerate().find(|(_, (input, _))| *input == index)
            else {
                continue;
            };
            let file = inputs.get(index, interrupt)?;
            let mut input = InputTree::open(&file, &tree.path, cycle, options.deadline, interrupt)?;
            if slot.is_none() {
                let parent = tree.path.strip_suffix(&input.name).unwrap_or("");
                let directory = output.directory(parent, None)?;
                *slot = Some(Target::new(&input, directory, &tree.wanted, tree.cut, options));
            }
            let Some(target) = slot else { continue };
            let choice = options.choices.iter().find(|choice| choice.tree == tree.path);
            let ranges = choice.and_then(|choice| choice.entries.as_ref()?.get(position));
            let chosen = Chosen::new(ranges.map(Vec::as_slice), input.meta.entries);
            let places = target.places(&input);
            let used =
                places.iter().enumerate().filter(|(_, place)| place.is_some()).map(|(branch, _)| branch);
            input.open_elsewhere(used, options.deadline, interrupt)?;
            target.begin(&input, &places, &chosen, tree.cut)?;
            let stream = Stream {
                input: &input,
                chosen: &chosen,
                places: &places,
                borders: target.borders(&input, &chosen),
                base: target.entries,
                cut: tree.cut,
                pool: &pool,
                times: &times,
            };
            stream.run(target, output, report, options.deadline, interrupt)?;
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
    report.decompress_ns = times.decompress.load(Ordering::Relaxed);
    report.compress_ns = times.compress.load(Ordering::Relaxed);
    Ok(())
}
