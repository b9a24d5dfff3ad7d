//! `describe_dataset`, `dataset_log`: what datasets say of themselves, as JSON.

use crate::arguments::open_options;
use crate::database_log::log_of;
use crate::error::{detached, exception};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sapwood::{Error, Result, dataset};
use sapwood_stripe::Version;
use serde::Serialize;

/// What a version holds.
#[pyfunction]
#[pyo3(signature = (url, version, sizes, deadline, options, log=None))]
pub(crate) fn describe_dataset(
    py: Python<'_>,
    url: &str,
    version: Option<&str>,
    sizes: bool,
    deadline: Option<f64>,
    options: Option<&Bound<'_, PyDict>>,
    log: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let options = open_options(deadline, options)?;
    let version: Version =
        version.map_or(Ok(Version::Latest), str::parse).map_err(|error| exception(&error))?;
    let log = log.map(log_of).transpose()?;
    detached(py, options.deadline, |call| {
        json(&dataset::describe(url, log, &version, sizes, &options, call)?)
    })
}

/// The entries of a log after a number.
#[pyfunction]
#[pyo3(signature = (url, after, deadline, options, log=None))]
pub(crate) fn dataset_log(
    py: Python<'_>,
    url: &str,
    after: u64,
    deadline: Option<f64>,
    options: Option<&Bound<'_, PyDict>>,
    log: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let options = open_options(deadline, options)?;
    let log = log.map(log_of).transpose()?;
    detached(py, options.deadline, |call| json(&dataset::log_after(url, log, after, &options, call)?))
}

fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::usage(format!("no JSON: {error}")))
}
