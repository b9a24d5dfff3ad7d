//! A Python object that can read and seek, as a source of bytes.

use bytes::Bytes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use sapwood::{Deadline, Error, ErrorKind, Result, Source};
use sapwood_core::{BoxFuture, ByteRange};
use sapwood_source::{CostModel, Identity};
use std::sync::{Mutex, PoisonError};

/// Reads through `seek` and `read` of a Python object, under the GIL and one range at a time.
#[derive(Debug)]
pub(crate) struct ObjectSource {
    object: Mutex<Py<PyAny>>,
    identity: Identity,
}

impl ObjectSource {
    pub(crate) fn new(object: &Bound<'_, PyAny>, name: String) -> PyResult<ObjectSource> {
        object.call_method1("seek", (0, 2))?;
        let size: i64 = object.call_method0("tell")?.extract()?;
        let size =
            u64::try_from(size).map_err(|_| PyValueError::new_err("tell() of the object is negative"))?;
        let identity = Identity { url: name, size, version: None };
        Ok(ObjectSource { object: Mutex::new(object.clone().unbind()), identity })
    }

    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        // The lock comes before the GIL, everywhere: callers of the core have released the GIL.
        let object = self.object.lock().unwrap_or_else(PoisonError::into_inner);
        Python::attach(|py| {
            let object = object.bind(py);
            ranges
                .iter()
                .map(|range| {
                    let bytes = read_range(object, *range).map_err(|error| self.failed(*range, error))?;
                    if bytes.len() as u64 == range.len {
                        return Ok(bytes);
                    }
                    Err(Error::new(
                        ErrorKind::Truncated,
                        format!("read() gave {} bytes of {}", bytes.len(), range.len),
                    )
                    .at(range.start)
                    .url(&self.identity.url))
                })
                .collect()
        })
    }

    fn failed(&self, range: ByteRange, error: PyErr) -> Error {
        Error::new(ErrorKind::Io, format!("reading from the object failed: {error}"))
            .at(range.start)
            .url(&self.identity.url)
            .caused_by(error)
    }
}

fn read_range(object: &Bound<'_, PyAny>, range: ByteRange) -> PyResult<Bytes> {
    object.call_method1("seek", (range.start,))?;
    let mut all = Vec::new();
    // read() may return fewer bytes than requested; at the end, it returns none.
    while (all.len() as u64) < range.len {
        let part: PyBackedBytes = object.call_method1("read", (range.len - all.len() as u64,))?.extract()?;
        if part.is_empty() {
            break;
        }
        if all.is_empty() && part.len() as u64 == range.len {
            return Ok(Bytes::from_owner(part));
        }
        all.extend_from_slice(&part);
    }
    Ok(all.into())
}

impl Source for ObjectSource {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn cost_model(&self) -> CostModel {
        CostModel { tied: true, ..CostModel::LOCAL }
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        _deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        let result = self.read(ranges);
        Box::pin(std::future::ready(result))
    }
}
