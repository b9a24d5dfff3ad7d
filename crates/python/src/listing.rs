//! `list_directory`, `redact`.

use crate::arguments::open_options;
use crate::error::detached;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Name, and whether it is a directory, of all that is in the directory at a URL.
#[pyfunction]
#[pyo3(signature = (url, *, deadline=None, options=None))]
pub(crate) fn list_directory(
    py: Python<'_>,
    url: &str,
    deadline: Option<f64>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<(String, bool)>> {
    let options = open_options(deadline, options)?;
    let entries = detached(py, options.deadline, |call| sapwood::list_directory(url, &options, call))?;
    Ok(entries.into_iter().map(|entry| (entry.name, entry.is_directory)).collect())
}

/// A URL without user name, password, query values and fragment.
#[pyfunction]
pub(crate) fn redact(url: &str) -> String {
    sapwood_source::redact(url)
}
