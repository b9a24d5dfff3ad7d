//! `Lazy`: columns that are read when they are touched.

use crate::column::columns;
use crate::detached::detached;
use crate::fields::fields;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::time::Duration;

/// A reader that learns what to prefetch.
#[pyclass(module = "sapwood._core", frozen)]
pub(crate) struct Lazy(sapwood::Lazy);

impl Lazy {
    pub(crate) fn new(lazy: sapwood::Lazy) -> Lazy {
        Lazy(lazy)
    }
}

#[pymethods]
impl Lazy {
    /// First entry and end of each window.
    fn windows(&self) -> Vec<(u64, u64)> {
        self.0.windows().iter().map(|window| (window.start, window.end)).collect()
    }

    /// The entries of a window, of a query by its index.
    #[pyo3(signature = (query, window, *, deadline=None))]
    fn column<'py>(
        &self,
        py: Python<'py>,
        query: usize,
        window: usize,
        deadline: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let column = detached(py, deadline, |call| self.0.column(query, window, call))?;
        columns(py, vec![column])?.get_item(0)
    }

    /// Fetches some queries of a window together.
    #[pyo3(signature = (queries, window, *, deadline=None))]
    fn touch(
        &self,
        py: Python<'_>,
        queries: Vec<usize>,
        window: usize,
        deadline: Option<f64>,
    ) -> PyResult<()> {
        detached(py, deadline, |call| self.0.touch(&queries, window, call))
    }

    /// Marks a window as no longer needed.
    fn release(&self, window: usize) {
        self.0.release(window);
    }

    /// Declares which windows will be opened, each once, in order, and what share of their entries will be
    /// looked at; returns the number with which to withdraw this.
    fn expect(&self, windows: Vec<(usize, f64)>) -> u64 {
        self.0.expect(windows)
    }

    /// Withdraws a declaration.
    fn forget(&self, expected: u64) {
        self.0.forget(expected);
    }

    /// Request, windows touched, windows seen.
    fn learned(&self) -> Vec<(usize, u64, u64)> {
        self.0.learned()
    }

    /// Counts of touches and fetches.
    fn accounting<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let accounting = self.0.accounting();
        let by_column = PyDict::new(py);
        for (column, account) in &accounting.columns {
            let entry = fields!(py, account, [windows_touched, hits, misses, bytes_fetched, bytes_unused]);
            by_column.set_item(column, entry)?;
        }
        let by_kind = PyDict::new(py);
        for kind in sapwood::FetchKind::ALL {
            let account = accounting.kinds.get(&kind).copied().unwrap_or_default();
            by_kind.set_item(kind.name(), fields!(py, account, [fetches, requests, ranges, bytes]))?;
        }
        let whole = fields!(py, accounting, [windows_seen, held_bytes]);
        whole.set_item("columns", by_column)?;
        whole.set_item("kinds", by_kind)?;
        Ok(whole)
    }

    /// Every fetch, in order.
    fn fetches<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let fetches = self.0.fetches().into_iter().map(|fetch| {
            let entry = PyDict::new(py);
            let entries = self.0.windows().get(fetch.window).cloned().unwrap_or_default();
            let ranges: Vec<_> = fetch.ranges.iter().map(|(_, range)| (range.start, range.len)).collect();
            entry.set_item("kind", fetch.kind.name())?;
            entry.set_item("window", fetch.window)?;
            entry.set_item("entry_start", entries.start)?;
            entry.set_item("entry_stop", entries.end)?;
            entry.set_item("columns", fetch.columns)?;
            entry.set_item("ranges", ranges)?;
            entry.set_item("asked", fetch.asked.as_secs_f64())?;
            entry.set_item("answered", fetch.answered.as_ref().map(Duration::as_secs_f64))?;
            Ok(entry)
        });
        PyList::new(py, fetches.collect::<PyResult<Vec<_>>>()?)
    }
}
