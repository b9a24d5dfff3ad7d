//! `RawFile`: the bytes of any file.

use crate::detached::{detached, detached_until};
use crate::error::exception;
use crate::options::{PyOpenOptions, open_options};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sapwood::Counters;
use sapwood_core::{ByteRange, Error, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};

/// An open file of any format. Thread-safe.
#[pyclass(module = "sapwood._core", frozen)]
pub(crate) struct RawFile {
    file: Mutex<Option<sapwood::RawFile>>,
    /// Counters that stay available after closing.
    counters: Arc<Counters>,
    #[pyo3(get)]
    url: String,
    #[pyo3(get)]
    size: u64,
}

#[pymethods]
impl RawFile {
    /// Opens a path or URL.
    #[staticmethod]
    #[pyo3(signature = (url, *, deadline=None, options=None))]
    fn open(
        py: Python<'_>,
        url: &str,
        deadline: Option<f64>,
        options: Option<&Bound<'_, PyOpenOptions>>,
    ) -> PyResult<RawFile> {
        let options = open_options(deadline, options)?;
        let file =
            detached_until(py, options.source.deadline, |call| sapwood::RawFile::open(url, &options, call))?;
        Ok(RawFile::new(file))
    }

    /// The bytes of ranges (offset, bytes), fetched together.
    #[pyo3(signature = (ranges, *, deadline=None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        ranges: Vec<(u64, u64)>,
        deadline: Option<f64>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let file = self.get()?;
        let parts = detached(py, deadline, |call| {
            let ranges = ranges.iter().map(|&(start, len)| ByteRange::new(start, len));
            file.read(&ranges.collect::<sapwood::Result<Vec<_>>>()?, call)
        })?;
        Ok(parts.iter().map(|part| PyBytes::new(py, part)).collect())
    }

    /// The cost of reading the file so far.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.counters.snapshot().entries() {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// Closes the file.
    fn close(&self) {
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl RawFile {
    pub(crate) fn new(file: sapwood::RawFile) -> RawFile {
        let (counters, url, size) = (Arc::clone(file.counters()), file.url().to_owned(), file.size());
        RawFile { file: Mutex::new(Some(file)), counters, url, size }
    }

    fn get(&self) -> PyResult<sapwood::RawFile> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.clone().ok_or_else(|| {
            exception(
                &Error::new(ErrorKind::Closed, "the file is closed").url(&self.url).hint("open it again"),
            )
        })
    }
}
