//! `list_directory`, `redact`.

use crate::detached::detached_until;
use crate::options::{PyOpenOptions, open_options};
use pyo3::prelude::*;

/// Name, and whether it is a directory, of all entries of the directory at a URL.
#[pyfunction]
#[pyo3(signature = (url, *, deadline=None, options=None))]
pub(crate) fn list_directory(
    py: Python<'_>,
    url: &str,
    deadline: Option<f64>,
    options: Option<&Bound<'_, PyOpenOptions>>,
) -> PyResult<Vec<(String, bool)>> {
    let options = open_options(deadline, options)?;
    let entries = detached_until(py, options.source.deadline, |call| {
        sapwood::list_directory(url, &options.source, call)
    })?;
    Ok(entries.into_iter().map(|entry| (entry.name, entry.is_directory)).collect())
}

/// A URL without user name, password, query values and fragment.
#[pyfunction]
pub(crate) fn redact(url: &str) -> String {
    sapwood_core::redact(url)
}
