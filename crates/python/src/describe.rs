//! `describe_dataset`, `dataset_log`: descriptions of datasets, as JSON.

use crate::database_log::log_of;
use crate::detached::detached_until;
use crate::error::exception;
use crate::options::{PyOpenOptions, open_options};
use pyo3::prelude::*;
use sapwood::{Error, Result, dataset};
use sapwood_stripe::Version;
use serde::Serialize;

/// The contents of a version.
#[pyfunction]
#[pyo3(signature = (url, version, sizes, deadline, options, log=None))]
pub(crate) fn describe_dataset(
    py: Python<'_>,
    url: &str,
    version: Option<&str>,
    sizes: bool,
    deadline: Option<f64>,
    options: Option<&Bound<'_, PyOpenOptions>>,
    log: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let options = open_options(deadline, options)?;
    let version: Version =
        version.map_or(Ok(Version::Latest), str::parse).map_err(|error| exception(&error))?;
    let log = log.map(log_of).transpose()?;
    detached_until(py, options.source.deadline, |call| {
        json(&dataset::describe(url, log, &version, sizes, &options.source, call)?)
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
    options: Option<&Bound<'_, PyOpenOptions>>,
    log: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let options = open_options(deadline, options)?;
    let log = log.map(log_of).transpose()?;
    detached_until(py, options.source.deadline, |call| {
        json(&dataset::log_after(url, log, after, &options.source, call)?)
    })
}

fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::usage(format!("cannot be written as JSON: {error}")))
}
