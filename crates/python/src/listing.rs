//! `list_directory`, `is_on_network`, `redact`.

use crate::detached::detached_until;
use crate::options::{PyOpenOptions, open_options};
use pyo3::prelude::*;
use std::path::PathBuf;

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

/// Whether a local path lies on a file system of another machine; it is not touched.
#[pyfunction]
pub(crate) fn is_on_network(path: PathBuf) -> bool {
    sapwood_source::is_on_network(&path)
}

/// A URL without user name, password, query values and fragment.
#[pyfunction]
pub(crate) fn redact(url: &str) -> String {
    sapwood_core::redact(url)
}
