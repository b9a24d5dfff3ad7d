//! `diagnose`.

use crate::arguments::seconds;
use crate::detached::detached_until;
use crate::error::exception;
use crate::options::{PyOpenOptions, open_options};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sapwood_source::{DiagnosisStep, StepOutcome};

/// Name, outcome, seconds, message, facts and exception of each step; none takes longer than `longest`
/// seconds.
#[pyfunction]
#[pyo3(signature = (url, *, longest, deadline=None, options=None))]
pub(crate) fn diagnose<'py>(
    py: Python<'py>,
    url: &str,
    longest: f64,
    deadline: Option<f64>,
    options: Option<&Bound<'py, PyOpenOptions>>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let (options, longest) = (open_options(deadline, options)?, seconds("longest", longest)?);
    let steps =
        detached_until(py, options.source.deadline, |call| sapwood::diagnose(url, &options, longest, call))?;
    steps.iter().map(|step| step_dict(py, step)).collect()
}

fn step_dict<'py>(py: Python<'py>, step: &DiagnosisStep) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", step.name)?;
    let (outcome, detail, error) = match &step.outcome {
        StepOutcome::Passed(detail) => ("passed", detail.clone(), None),
        StepOutcome::Noted(detail) => ("noted", detail.clone(), None),
        StepOutcome::Failed(error) => ("failed", error.to_string(), Some(exception(error))),
        StepOutcome::Skipped(detail) => ("skipped", detail.clone(), None),
    };
    dict.set_item("outcome", outcome)?;
    dict.set_item("seconds", step.time.as_secs_f64())?;
    dict.set_item("detail", detail)?;
    let facts = PyDict::new(py);
    for (name, value) in &step.facts {
        facts.set_item(name, value)?;
    }
    dict.set_item("facts", facts)?;
    dict.set_item("error", error.map(|error| error.into_value(py)))?;
    Ok(dict)
}
