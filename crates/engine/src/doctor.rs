//! Why a file can or cannot be read: the steps to its bytes, and whether they are a ROOT file.

use sapwood_core::{Call, Deadline, Result};
use sapwood_dataset::{DatasetUrl, view_of};
use sapwood_root::File;
use sapwood_source::{Diagnosis, DiagnosisStep, OpenOptions, StepOutcome};
use sapwood_table::pool;
use std::time::{Duration, Instant};

/// Tries step by step what reading a file needs; no step takes longer than `longest`.
///
/// A step that fails is no error here, but says so itself: see [`StepOutcome`].
///
/// # Errors
/// `Cancelled`; `Io` if there can be no threads.
pub fn diagnose(
    url: &str,
    options: &OpenOptions,
    longest: Duration,
    call: &mut Call<'_>,
) -> Result<Vec<DiagnosisStep>> {
    let mut diagnosis = reached(url, options, longest, call)?;
    if diagnosis.opened.is_none()
        && let Some(mark) = DatasetUrl::mark(url, options)
    {
        let other = reached(&mark, options, longest, call)?;
        if other.opened.is_some() {
            let begin = Instant::now();
            let options = OpenOptions { deadline: options.deadline.within(longest), ..options.clone() };
            let (outcome, facts) = match crate::open(url, options, call) {
                Ok(file) => told(&file),
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
            Ok(file) => described(&file, &mut call.within(longest)),
            Err(error) => (StepOutcome::Failed(error), Vec::new()),
        },
    };
    diagnosis.steps.push(DiagnosisStep { name: "ROOT file", time: begin.elapsed(), outcome, facts });
    Ok(diagnosis.steps)
}

/// The steps to the bytes at a URL.
fn reached(url: &str, options: &OpenOptions, longest: Duration, call: &mut Call<'_>) -> Result<Diagnosis> {
    let diagnosis = async { Ok(sapwood_source::diagnose(url, options, longest).await) };
    // The steps keep the deadline themselves, so that those before the one that failed are told.
    let patience = Deadline::after(options.deadline.remaining() + Duration::from_secs(1));
    pool::wait(diagnosis, &mut call.until(patience))
}

/// What a dataset says of itself.
fn told(file: &File) -> (StepOutcome, Vec<(String, String)>) {
    let Some(dataset) = view_of(file) else {
        return (StepOutcome::Passed("a file has come in its place".to_owned()), Vec::new());
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

fn described(file: &File, call: &mut Call<'_>) -> (StepOutcome, Vec<(String, String)>) {
    let version = file.header().version % 1_000_000;
    let version = format!("{}.{:02}/{:02}", version / 10_000, version / 100 % 100, version % 100);
    let keys = match file.root_keys(call) {
        Ok(keys) => keys.len(),
        Err(error) => return (StepOutcome::Failed(error), Vec::new()),
    };
    let facts = vec![("keys".to_owned(), keys.to_string())];
    (StepOutcome::Passed(format!("written by ROOT {version}")), facts)
}
