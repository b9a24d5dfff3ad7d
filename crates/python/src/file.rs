//! `File` and `Key`.

use crate::column::columns;
use crate::database_log::log_of;
use crate::detached::{detached, detached_until};
use crate::error::{EventRow, event_row, exception};
use crate::fields::fields;
use crate::object::ObjectSource;
use crate::options::{PyOpenOptions, open_options};
use crate::raw::RawFile;
use crate::tree::Tree;
use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{IntoPyDict, PyDict, PyList};
use sapwood::{Counters, Error, ErrorKind, FileItem, Source, StreamerElement, Trace, TraceRecord};
use sapwood_core::MessagesTo;
use sapwood_source::{MemorySource, ServerReads, ServerUse};
use std::sync::{Arc, Mutex, PoisonError};

/// One key of a directory.
#[pyclass(module = "sapwood._core", frozen, get_all)]
pub(crate) struct Key {
    name: String,
    cycle: u16,
    class_name: String,
    title: String,
    path: String,
    offset: u64,
    nbytes: u32,
    object_bytes: u32,
    datime: u32,
    is_directory: bool,
}

/// An object of a file that is not a tree.
#[pyclass(module = "sapwood._core", frozen, get_all)]
pub(crate) struct Object {
    class_name: String,
    column: Py<PyAny>,
    skipped: Vec<(String, String)>,
}

impl Object {
    fn new(py: Python<'_>, object: sapwood::Object) -> PyResult<Object> {
        let column = columns(py, vec![object.column])?.get_item(0)?.unbind();
        Ok(Object { class_name: object.class_name, column, skipped: object.skipped })
    }
}

/// A range that was fetched: see [`File::trace`].
type TraceRow = (f64, f64, u64, u64, u64, Option<String>);

/// The traffic of a server: see [`File::uses`].
type UsageRow = (Option<String>, Sums, Sums, f64);
type Sums = (u64, u64, u64, u64, u64);

fn sums(reads: ServerReads) -> Sums {
    (reads.requests, reads.bytes, reads.byte_squares, reads.ranges, reads.range_squares)
}

/// An open ROOT file.
#[pyclass(module = "sapwood._core", frozen)]
pub(crate) struct File {
    file: Mutex<Option<sapwood::File>>,
    /// Counters that stay available after closing.
    counters: Arc<Counters>,
    trace: Trace,
    #[pyo3(get)]
    url: String,
    #[pyo3(get)]
    size: u64,
}

impl File {
    fn new(file: sapwood::File) -> File {
        File {
            url: file.url().to_owned(),
            size: file.size(),
            counters: Arc::clone(file.counters()),
            trace: file.trace(),
            file: Mutex::new(Some(file)),
        }
    }

    pub(crate) fn get(&self) -> PyResult<sapwood::File> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.clone().ok_or_else(|| {
            exception(
                &Error::new(ErrorKind::Closed, "the file is closed").url(&self.url).hint("open it again"),
            )
        })
    }
}

#[pymethods]
impl File {
    /// Opens a path or URL; that of a dataset, if its log is given.
    #[staticmethod]
    #[pyo3(signature = (url, *, deadline=None, options=None, log=None))]
    fn open(
        py: Python<'_>,
        url: &str,
        deadline: Option<f64>,
        options: Option<&Bound<'_, PyOpenOptions>>,
        log: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<File> {
        let options = open_options(deadline, options)?;
        let log = log.map(log_of).transpose()?;
        let opened = detached_until(py, options.source.deadline, |call| match log {
            Some(log) => sapwood::dataset::open_dataset(url, log, &options, call),
            None => sapwood::open(url, options, call),
        });
        opened.map(File::new)
    }

    /// Opens a Python object that holds bytes, or that can `read` and `seek`.
    #[staticmethod]
    #[pyo3(signature = (obj, name, *, deadline=None))]
    fn open_object(
        py: Python<'_>,
        obj: &Bound<'_, PyAny>,
        name: String,
        deadline: Option<f64>,
    ) -> PyResult<File> {
        let source: Arc<dyn Source> = match obj.extract::<PyBackedBytes>() {
            Ok(bytes) => Arc::new(MemorySource::named(name, None, Bytes::from_owner(bytes))),
            Err(_) => Arc::new(ObjectSource::new(obj, name)?),
        };
        detached(py, deadline, |call| sapwood::File::from_source(source, call)).map(File::new)
    }

    /// The bytes of the file, over the same connection.
    fn raw(&self) -> PyResult<RawFile> {
        Ok(RawFile::new(sapwood::RawFile::of(&self.get()?)))
    }

    #[getter]
    fn uuid(&self) -> PyResult<String> {
        let hex: String = self.get()?.header().uuid.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
    }

    /// The path of the tree, if it is a dataset.
    #[getter]
    fn dataset_tree(&self) -> PyResult<Option<String>> {
        Ok(self.get()?.dataset_tree().map(str::to_owned))
    }

    #[getter]
    fn root_version(&self) -> PyResult<u32> {
        Ok(self.get()?.header().version % 1_000_000)
    }

    #[getter]
    fn compression(&self) -> PyResult<i64> {
        Ok(self.get()?.header().compression.into())
    }

    /// All keys; without `recursive`, those of the root directory.
    #[pyo3(signature = (recursive=true, deadline=None))]
    fn keys(&self, py: Python<'_>, recursive: bool, deadline: Option<f64>) -> PyResult<Vec<Key>> {
        let file = self.get()?;
        let keys = detached(py, deadline, |call| match recursive {
            true => file.keys(call),
            false => file.root_keys(call),
        })?;
        Ok(keys
            .into_iter()
            .map(|entry| Key {
                cycle: entry.key.cycle,
                title: entry.key.title.clone(),
                path: entry.path,
                offset: entry.key.offset,
                nbytes: entry.key.nbytes,
                object_bytes: entry.key.object_len,
                datime: entry.key.datime,
                is_directory: entry.key.is_directory(),
                name: entry.key.name,
                class_name: entry.key.class_name,
            })
            .collect())
    }

    /// The tree or the object at a path, and its cycle.
    #[pyo3(signature = (path, cycle=None, deadline=None))]
    fn item<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        cycle: Option<u16>,
        deadline: Option<f64>,
    ) -> PyResult<(Bound<'py, PyAny>, u16)> {
        let file = self.get()?;
        let (item, cycle) = detached(py, deadline, |call| file.item(path, cycle, call))?;
        let item = match item {
            FileItem::Tree(tree) => Tree::new(tree).into_pyobject(py)?.into_any(),
            FileItem::Object(object) => Object::new(py, object)?.into_pyobject(py)?.into_any(),
        };
        Ok((item, cycle))
    }

    /// The tree that is likely the one with this name, while the keys are still missing.
    fn likely_tree(&self, py: Python<'_>, name: &str) -> PyResult<Option<Tree>> {
        let file = self.get()?;
        Ok(py.detach(|| file.likely_tree(name)).map(Tree::new))
    }

    /// The class descriptions in the file.
    #[pyo3(signature = (deadline=None))]
    fn streamers<'py>(&self, py: Python<'py>, deadline: Option<f64>) -> PyResult<Bound<'py, PyList>> {
        let file = self.get()?;
        let streamers = detached(py, deadline, |call| file.streamers(call))?;
        let infos = streamers.iter().map(|info| {
            let dict = fields!(py, info, [name, version, checksum]);
            let elements = info.elements.iter().map(|element| element_dict(py, element));
            dict.set_item("elements", elements.collect::<PyResult<Vec<_>>>()?)?;
            Ok(dict)
        });
        PyList::new(py, infos.collect::<PyResult<Vec<_>>>()?)
    }

    /// The cost of reading the file so far.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.counters.snapshot().entries() {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }

    /// The cost of each column that was read: table, column, figures.
    fn column_costs<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, String, Bound<'py, PyDict>)>> {
        let columns = self.counters.columns.entries().into_iter();
        columns.map(|(table, column, cost)| Ok((table, column, cost.entries().into_py_dict(py)?))).collect()
    }

    /// Every fetched range: seconds of request and answer since opening began, offset, bytes, number of the
    /// request, server.
    fn trace(&self) -> Vec<TraceRow> {
        let records = self.trace.records().into_iter();
        records
            .filter_map(|TraceRecord { asked, answered, range, request, server }| {
                let server = server.map(|server| server.to_string());
                let answered = answered?.as_secs_f64();
                Some((asked.as_secs_f64(), answered, range.start, range.len, request, server))
            })
            .collect()
    }

    /// The traffic of each server so far: server, requests for one range (number, bytes, squares of bytes,
    /// ranges, squares of ranges), the same for requests for several, seconds in which it was busy.
    fn uses(&self, py: Python<'_>) -> Vec<UsageRow> {
        let uses = py.detach(|| ServerUse::of(&self.trace.records())).into_iter();
        uses.map(|one| {
            let server = one.server.map(|server| server.to_string());
            (server, sums(one.single), sums(one.vector), one.busy.as_secs_f64())
        })
        .collect()
    }

    /// The messages to each server so far, and the ranges in them: server, requests, ranges.
    fn messages(&self) -> Vec<(Option<String>, u64, u64)> {
        let messages = self.counters.servers.entries().into_iter();
        messages.map(|MessagesTo { server, requests, ranges }| (server, requests, ranges)).collect()
    }

    /// The events at the sources so far; and how many events were dropped.
    fn event_log(&self) -> (Vec<EventRow>, u64) {
        (self.counters.events.entries().iter().map(event_row).collect(), self.counters.events.dropped())
    }

    /// Closes the file. Trees in use stay readable.
    fn close(&self) {
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn element_dict<'py>(py: Python<'py>, element: &StreamerElement) -> PyResult<Bound<'py, PyDict>> {
    let dict = fields!(py, element, [name, title, type_name, array_dims]);
    dict.set_item("type", element.type_code)?;
    let kind = format!("{:?}", element.kind);
    let kind = kind.split([' ', '(', '{']).next().unwrap_or_default();
    dict.set_item("class", format!("TStreamer{kind}"))?;
    Ok(dict)
}
