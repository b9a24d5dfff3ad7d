//! Writes new files from existing ones: copies, recompresses, re-splits, merges and skims, without decoding entries.
//!
//! ```text
//! plan: which inputs have what ─▶ objects, as bytes ─▶ for each input, tree by tree: baskets ─▶ records of the trees
//! ```
//! Baskets are fetched ahead in file order. They are copied whole unless the options ask for more; otherwise they are
//! recompressed, or parsed into entries (kept as bytes) and re-split into new baskets.

mod attribute_sets;
pub mod baskets;
pub mod entry_ranges;
pub mod input;
mod input_table;
pub mod inputs;
mod journal;
pub mod objects;
mod options;
pub mod output;
mod output_branch;
mod output_tree;
mod pages;
mod placing;
pub mod plan;
mod rntuples;
mod sets;
mod splitting;
mod stream;
mod trees;
mod ttrees;
mod values;

pub use options::{
    Input, InputFile, OpenFile, OutputFormat, RepackOptions, RepackReport, SchemaDrift, TreeSelection,
};

use inputs::Inputs;
use journal::RepackJournal;
use objects::{copy_objects, copy_process_ids};
use output::OutputFile;
use plan::{RepackPlan, TableTreatment, TreePlan};
use sapwood_codec::{Algorithm, Compression};
use sapwood_core::{Call, Result};
use sapwood_sink::Sink;
use sapwood_tfile::write::FileWriter;
use trees::copy_trees;

/// Writes the content of some files to a new file; `name` is the name that ROOT shows. Trees of the same path are
/// concatenated in the order of the inputs, and histograms are added. If several inputs have another object of the same
/// path, the first one is kept.
///
/// # Errors
/// Errors of opening and reading the inputs, and of the sink; `Unsupported` for content that cannot be copied, and if
/// the trees to merge differ; `Missing` if a selected tree or branch does not exist; `Corrupt` if baskets do not hold
/// the entries that the tree states. The target then stays as it was. If the sink keeps a journal, the same call resumes
/// from there.
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
    // Only copies are kept for a later run.
    let is_copied = |tree: &TreePlan| {
        let treatment = tree.treatment(options.format);
        options.split.is_none() && matches!(treatment, TableTreatment::Baskets | TableTreatment::Pages)
    };
    let job = plan.job(name, options).filter(|_| plan.trees.iter().all(is_copied));
    let journal = match job {
        Some(job) => RepackJournal::begin(&mut *sink, job, options.keep_every, &mut report.notes)?,
        None => RepackJournal::none(),
    };
    let compression = options.compression.unwrap_or(own);
    let file = FileWriter::new(name, "", compression, journal.origin())?;
    let mut output = OutputFile::with_journal(file, sink, journal);
    match write(&mut plan, &mut inputs, &mut output, options, &mut report, call) {
        Ok(()) => report.bytes = output.commit()?,
        Err(error) => return Err(output.abandon(error)),
    }
    Ok(report)
}

/// Writes everything but the end of the file.
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
    copy_process_ids(&plan.process_ids, inputs, output, call)?;
    copy_objects(&plan.objects, inputs, output, report, call)?;
    copy_tables(plan, inputs, output, options, report, call)
}

/// Copies all planned trees and RNTuples, or writes them in another format.
///
/// # Errors
/// Those of [`repack`].
pub fn copy_tables(
    plan: &mut RepackPlan,
    inputs: &mut Inputs<'_>,
    output: &mut OutputFile,
    options: &RepackOptions,
    report: &mut RepackReport,
    call: &mut Call<'_>,
) -> Result<()> {
    copy_trees(plan, inputs, output, options, report, call)?;
    for (number, tree) in plan.trees.iter().enumerate() {
        let entries = match tree.treatment(options.format) {
            TableTreatment::Baskets => continue,
            TableTreatment::Pages => pages::copy((number, tree), inputs, output, options, report, call)?,
            TableTreatment::ToRNTuple => rntuples::write(tree, inputs, output, options, call)?,
            TableTreatment::ToTree => {
                attribute_sets::note_lost(tree, inputs, report, call)?;
                ttrees::write(tree, inputs, output, options, call)?
            }
        };
        report.trees.push((tree.path.clone(), entries));
    }
    Ok(())
}
