//! `list_directory`.

use crate::arguments;
use crate::error::detached;
use pyo3::prelude::*;

/// Name, and whether it is a directory, of all that is in the directory at a URL.
#[pyfunction]
#[pyo3(signature = (url, *, deadline=None))]
pub(crate) fn list_directory(
    py: Python<'_>,
    url: &str,
    deadline: Option<f64>,
) -> PyResult<Vec<(String, bool)>> {
    let deadline = arguments::deadline(deadline)?;
    let entries = detached(py, |interrupt| sapwood::list_directory(url, deadline, interrupt))?;
    Ok(entries.into_iter().map(|entry| (entry.name, entry.is_directory)).collect())
}
