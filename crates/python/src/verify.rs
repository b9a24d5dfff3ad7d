//! `verify`: checks whole files.

use crate::arguments::seconds;
use crate::detached::detached;
use crate::error::exception;
use crate::fields::fields;
use crate::options::{PyOpenOptions, open_options};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sapwood::verify::{Severity, TreeReport, VerifyFinding, VerifyOptions, VerifyProgress, VerifyReport};
use std::time::{Duration, Instant};

/// How often progress is reported to Python.
const EVERY: Duration = Duration::from_millis(100);

/// Checks a file, or some of its trees; returns the findings. `progress` is called with the bytes checked,
/// the bytes to check, and the number of findings of damage.
#[pyfunction]
#[pyo3(signature = (url, *, trees=None, threads=None, longest=None, most_findings=1000, progress=None, options=None))]
#[expect(clippy::too_many_arguments, reason = "they are the options of one call")]
pub(crate) fn verify<'py>(
    py: Python<'py>,
    url: &str,
    trees: Option<Vec<String>>,
    threads: Option<usize>,
    longest: Option<f64>,
    most_findings: usize,
    progress: Option<Py<PyAny>>,
    options: Option<&Bound<'py, PyOpenOptions>>,
) -> PyResult<Bound<'py, PyDict>> {
    let open = open_options(None, options)?;
    let longest = longest.map(|longest| seconds("deadline", longest)).transpose()?;
    let longest = longest.unwrap_or(VerifyOptions::default().longest);
    let options = VerifyOptions { trees, threads, longest, most_findings };
    let mut raised: Option<PyErr> = None;
    let report = detached(py, None, |call| {
        let mut reported: Option<Instant> = None;
        let mut report_progress = |now: VerifyProgress| {
            let due = now.done == now.total || reported.is_none_or(|reported| reported.elapsed() >= EVERY);
            if let (Some(callable), true, None) = (&progress, due, &raised) {
                reported = Some(Instant::now());
                let arguments = (now.done, now.total, now.damage);
                raised = Python::attach(|py| callable.call1(py, arguments)).err();
            }
        };
        sapwood::verify::verify(url, open, &options, &mut report_progress, call)
    });
    match raised {
        Some(error) => Err(error),
        None => report_dict(py, &report?),
    }
}

fn report_dict<'py>(py: Python<'py>, report: &VerifyReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = fields!(
        py,
        report,
        [
            url,
            size,
            checked_bytes,
            checksummed_bytes,
            fetched_bytes,
            records,
            baskets,
            damage_count,
            note_count,
            not_decoded
        ]
    );
    let findings = report.findings.iter().map(|finding| finding_dict(py, finding));
    dict.set_item("findings", findings.collect::<PyResult<Vec<_>>>()?)?;
    let trees = report.trees.iter().map(|tree| tree_dict(py, tree));
    dict.set_item("trees", trees.collect::<PyResult<Vec<_>>>()?)?;
    dict.set_item("error", report.error.as_ref().map(|error| exception(error).into_value(py)))?;
    Ok(dict)
}

fn finding_dict<'py>(py: Python<'py>, finding: &VerifyFinding) -> PyResult<Bound<'py, PyDict>> {
    let dict = fields!(py, finding.location, [path, branch, basket, page]);
    dict.set_item("damage", finding.severity == Severity::Damage)?;
    dict.set_item("code", finding.kind.code())?;
    dict.set_item("offset", finding.range.map(|range| range.start))?;
    dict.set_item("length", finding.range.map(|range| range.len))?;
    dict.set_item("entries", finding.entries.as_ref().map(|entries| (entries.start, entries.end)))?;
    dict.set_item("message", &finding.message)?;
    Ok(dict)
}

fn tree_dict<'py>(py: Python<'py>, tree: &TreeReport) -> PyResult<Bound<'py, PyDict>> {
    let pairs = |ranges: &[std::ops::Range<u64>]| {
        ranges.iter().map(|range| (range.start, range.end)).collect::<Vec<_>>()
    };
    let dict = fields!(py, tree, [path, cycle, entries, is_rntuple, branches, baskets, not_decoded]);
    let lost = PyDict::new(py);
    for (branch, ranges) in &tree.lost {
        lost.set_item(branch, pairs(ranges))?;
    }
    dict.set_item("lost", lost)?;
    dict.set_item("lost_in_any", pairs(&tree.lost_in_any()))?;
    Ok(dict)
}
