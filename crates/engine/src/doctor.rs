//! Diagnoses why a file can or cannot be read: the steps to its bytes, and whether they are a ROOT file.

use sapwood_core::{Call, Deadline, Result};
use sapwood_dataset::{DatasetUrl, view_of};
use sapwood_root::{File, OpenOptions};
use sapwood_source::{Diagnosis, DiagnosisStep, SourceOptions, StepOutcome};
use sapwood_table::pool;
use std::time::{Duration, Instant};

/// Tries the steps of reading a file one by one; none takes longer than `longest`.
///
/// A step that fails is not an error: see [`StepOutcome`].
///
/// # Errors
/// `Cancelled`; `Io` if no threads can be started.
pub fn diagnose(
    url: &str,
    options: &OpenOptions,
    longest: Duration,
    call: &mut Call<'_>,
) -> Result<Vec<DiagnosisStep>> {
    let mut diagnosis = reach(url, &options.source, longest, call)?;
    if diagnosis.opened.is_none()
        && let Some(mark) = DatasetUrl::mark(url, options)
    {
        let other = reach(&mark, &options.source, longest, call)?;
        if other.opened.is_some() {
            let begin = Instant::now();
            let options = options.until(options.source.deadline.within(longest));
            let (outcome, facts) = match crate::open(url, options, call) {
                Ok(file) => dataset_facts(&file),
                Err(error) => (StepOutcome::Failed(error), Vec::new()),
            };
            let mut steps = other.steps;
            steps.push(DiagnosisStep { name: "dataset", time: begin.elapsed(), outcome, facts });
            return Ok(steps);
        }
    }
    let begin = Instant::now();
    let (outcome, facts) = match diagnosis.opened.take() {
        None => (StepOutcome::Skipped("there are no bytes".to_owned()), Vec::new()),
        Some(opened) => match File::from_source(opened.source, &mut call.within(longest)) {
            Ok(file) => file_facts(&file, &mut call.within(longest)),
            Err(error) => (StepOutcome::Failed(error), Vec::new()),
        },
    };
    diagnosis.steps.push(DiagnosisStep { name: "ROOT file", time: begin.elapsed(), outcome, facts });
    Ok(diagnosis.steps)
}

/// The steps to the bytes at a URL.
fn reach(url: &str, options: &SourceOptions, longest: Duration, call: &mut Call<'_>) -> Result<Diagnosis> {
    let diagnosis = async { Ok(sapwood_source::diagnose(url, options, longest).await) };
    // Each step keeps the deadline itself, so that the steps before a failed one are reported.
    let patience = Deadline::after(options.deadline.remaining() + Duration::from_secs(1));
    pool::wait(diagnosis, &mut call.until(patience))
}

/// The facts about a dataset.
fn dataset_facts(file: &File) -> (StepOutcome, Vec<(String, String)>) {
    let Some(dataset) = view_of(file) else {
        return (StepOutcome::Passed("a file has replaced it".to_owned()), Vec::new());
    };
    let snapshot = &dataset.snapshot;
    let entries = file.contents().virtual_entries().unwrap_or_default();
    let facts = [
        ("tree", snapshot.tree.clone()),
        ("entries", entries.to_string()),
        ("products", snapshot.products.len().to_string()),
        ("segments", snapshot.segments.len().to_string()),
    ];
    let facts = facts.map(|(name, value)| (name.to_owned(), value)).into();
    (StepOutcome::Passed(format!("opened as {}", dataset.url())), facts)
}

/// The facts about a file.
fn file_facts(file: &File, call: &mut Call<'_>) -> (StepOutcome, Vec<(String, String)>) {
    let version = file.header().version % 1_000_000;
    let version = format!("{}.{:02}/{:02}", version / 10_000, version / 100 % 100, version % 100);
    let keys = match file.root_keys(call) {
        Ok(keys) => keys.len(),
        Err(error) => return (StepOutcome::Failed(error), Vec::new()),
    };
    let facts = vec![("keys".to_owned(), keys.to_string())];
    (StepOutcome::Passed(format!("written by ROOT {version}")), facts)
}
