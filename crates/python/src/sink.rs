//! A Python object that can write and seek, as the target of a new file.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sapwood::write::{FilePiece, Sink};
use sapwood::{Error, ErrorKind, Result};

/// Writes through `seek` and `write` of a Python object, under the GIL.
#[derive(Debug)]
pub(crate) struct ObjectSink {
    object: Py<PyAny>,
    name: String,
}

impl ObjectSink {
    pub(crate) fn new(object: &Bound<'_, PyAny>, name: &str) -> ObjectSink {
        ObjectSink { object: object.clone().unbind(), name: name.to_owned() }
    }

    fn failed(&self, error: PyErr) -> Error {
        Error::new(ErrorKind::Io, format!("writing to the object failed: {error}"))
            .url(&self.name)
            .caused_by(error)
    }
}

impl Sink for ObjectSink {
    fn url(&self) -> &str {
        &self.name
    }

    fn write(&mut self, piece: FilePiece) -> Result<()> {
        let written = Python::attach(|py| {
            let object = self.object.bind(py);
            object.call_method1("seek", (piece.offset,))?;
            object.call_method1("write", (PyBytes::new(py, &piece.bytes),)).map(|_| ())
        });
        written.map_err(|error| self.failed(error).at(piece.offset))
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let flushed = Python::attach(|py| {
            let object = self.object.bind(py);
            if object.hasattr("flush")? { object.call_method0("flush").map(|_| ()) } else { Ok(()) }
        });
        flushed.map_err(|error| self.failed(error))
    }
}
