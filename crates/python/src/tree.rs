//! `Tree`, `Scan` and `Entries`.

use crate::arguments::ranges;
use crate::branch::{Branch, find_all, find_baskets, stored_bytes, uncompressed_bytes};
use crate::column::columns;
use crate::detached::detached;
use crate::error::exception;
use crate::lazy::Lazy;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use sapwood::dataset::Extremes;
use sapwood::{EntryRead, ExcludedEntries, LazyOptions, Query, ReadOptions, Table, count_excluded};
use std::sync::{Arc, Mutex, PoisonError};

/// A tree of an open file.
#[pyclass(module = "sapwood._core", frozen)]
pub(crate) struct Tree(sapwood::Tree);

impl Tree {
    pub(crate) fn new(tree: sapwood::Tree) -> Tree {
        Tree(tree)
    }

    pub(crate) fn table(&self) -> Arc<dyn Table> {
        self.0.cached_table()
    }
}

/// What the values are (`i8`, `u8` or `f8` as NumPy has it), and columns of a row for each stripe.
type KnownColumns<'py> = (Option<&'static str>, Vec<Bound<'py, PyArray1<u64>>>);

/// Their NumPy type, and their bits.
fn extremes(extremes: Extremes) -> (&'static str, u64, u64) {
    match extremes {
        Extremes::Signed(low, high) => ("i8", low.cast_unsigned(), high.cast_unsigned()),
        Extremes::Unsigned(low, high) => ("u8", low, high),
        Extremes::Float(low, high) => ("f8", low.to_bits(), high.to_bits()),
    }
}

/// A branch, or a member of the objects in it.
#[derive(Clone, FromPyObject)]
pub(crate) enum QueryArgument {
    Branch(usize),
    Member(usize, String),
}

impl From<QueryArgument> for Query {
    fn from(argument: QueryArgument) -> Query {
        match argument {
            QueryArgument::Branch(branch) => Query::from(branch),
            QueryArgument::Member(column, member) => Query { column, member },
        }
    }
}

#[pymethods]
impl Tree {
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    #[getter]
    fn title(&self) -> &str {
        self.0.title()
    }

    #[getter]
    fn class_name(&self) -> &str {
        self.0.class_name()
    }

    #[getter]
    fn num_entries(&self) -> u64 {
        self.0.entries()
    }

    #[getter]
    fn branches(&self) -> Vec<Branch> {
        (0..self.0.column_count()).map(|index| Branch::whole(&self.0, index)).collect()
    }

    /// The branch at a path from the top.
    fn branch_at_path(&self, path: &str) -> Option<Branch> {
        let mut columns = (0..self.0.column_count()).rev();
        let found = columns.find(|column| self.0.branch_path(*column) == path)?;
        Some(Branch::whole(&self.0, found))
    }

    /// Path and type of every branch, a line each, in the order of the lines.
    fn schema_text(&self, py: Python<'_>) -> String {
        py.detach(|| {
            let columns = (0..self.0.column_count()).filter_map(|column| self.0.schema(column));
            let mut lines: Vec<String> =
                columns.map(|schema| format!("{}\t{}", schema.name, schema.typename)).collect();
            lines.sort_unstable();
            lines.join("\n")
        })
    }

    #[getter]
    fn aliases(&self) -> std::collections::HashMap<String, String> {
        self.0.ttree().map(|table| table.tree().aliases.iter().cloned().collect()).unwrap_or_default()
    }

    /// Name, file (empty for this one) and path of each friend.
    #[getter]
    fn friends(&self) -> Vec<(String, String, String)> {
        let friends = self.0.ttree().map_or(&[][..], |table| &table.tree().friends).iter();
        friends.map(|friend| (friend.name.clone(), friend.file.clone(), friend.tree.clone())).collect()
    }

    #[getter]
    fn cluster_starts(&self) -> Vec<u64> {
        self.0.cluster_starts().to_vec()
    }

    #[getter]
    fn compressed_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        find_all(py, &self.0)?;
        Ok(match (self.0.ttree(), self.0.file().dataset_tree()) {
            (Ok(table), None) => table.tree().zip_bytes,
            (Ok(_), Some(_)) => (0..self.0.column_count()).map(|column| stored_bytes(&self.0, column)).sum(),
            (Err(_), _) => self.0.chunks(0..self.0.column_count()).iter().map(|chunk| chunk.range.len).sum(),
        })
    }

    #[getter]
    fn uncompressed_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        match self.0.ttree() {
            Ok(table) => Ok(table.tree().total_bytes),
            Err(_) => uncompressed_bytes(py, &self.0, 0..self.0.column_count()),
        }
    }

    /// Stored bytes, uncompressed bytes and number of the pages of some fields, each page once; `None` for a tree whose
    /// branches share nothing.
    fn shared_sizes(&self, py: Python<'_>, fields: Vec<usize>) -> PyResult<Option<(u64, u64, usize)>> {
        if self.0.ttree().is_ok() {
            return Ok(None);
        }
        find_baskets(py, &self.0, &fields, None)?;
        let pages = self.0.chunks(fields);
        let stored = pages.iter().map(|page| page.range.len).sum();
        Ok(Some((stored, pages.iter().map(|page| page.uncompressed_bytes).sum(), pages.len())))
    }

    /// Finds the baskets of some branches of a dataset, in one round trip.
    #[pyo3(signature = (branches, deadline=None))]
    fn find_baskets(&self, py: Python<'_>, branches: Vec<usize>, deadline: Option<f64>) -> PyResult<()> {
        find_baskets(py, &self.0, &branches, deadline)
    }

    /// The statistics of a branch, stripe by stripe: first entries and ends, type, number of values (-1:
    /// unknown), how many are NaN, the bits of the least and of the greatest.
    #[pyo3(signature = (branch, deadline=None))]
    fn known_values<'py>(
        &self,
        py: Python<'py>,
        branch: usize,
        deadline: Option<f64>,
    ) -> PyResult<KnownColumns<'py>> {
        let known = detached(py, deadline, |call| self.0.known_values(branch, call))?;
        let kind = known.iter().find_map(|one| one.statistics?.extremes).map(|one| extremes(one).0);
        let mut columns: [Vec<u64>; 6] = Default::default();
        for one in known {
            let found = one.statistics.map(|found| (found, found.extremes.map(extremes)));
            // Statistics of another type than the others are dropped.
            let found = found.filter(|(_, ends)| ends.is_none_or(|(own, ..)| Some(own) == kind));
            let row = match found {
                None => [u64::MAX, 0, 0, 0],
                Some((found, ends)) => {
                    let (_, low, high) = ends.unwrap_or_default();
                    [found.count, found.nans, low, high]
                }
            };
            let row = [one.entries.start, one.entries.end].into_iter().chain(row);
            columns.iter_mut().zip(row).for_each(|(column, number)| column.push(number));
        }
        Ok((kind, columns.map(|column| PyArray1::from_vec(py, column)).to_vec()))
    }

    /// The product of a dataset that a branch belongs to.
    fn product(&self, branch: usize) -> Option<&str> {
        self.0.product(branch)
    }

    /// How many entries some ranges exclude, and how many whole clusters.
    fn count_excluded(&self, ranges: Vec<(u64, u64)>) -> (u64, u64) {
        let ExcludedEntries { entries, clusters } = count_excluded(&*self.0.table(), &self::ranges(ranges));
        (entries, clusters)
    }

    #[getter]
    fn attribute_sets(&self) -> Vec<&str> {
        self.0.attribute_sets().collect()
    }

    #[pyo3(signature = (name, deadline=None))]
    fn attribute_set(&self, py: Python<'_>, name: &str, deadline: Option<f64>) -> PyResult<Tree> {
        detached(py, deadline, |call| self.0.attribute_set(name, call)).map(Tree)
    }

    #[getter]
    fn is_distant(&self) -> bool {
        self.0.is_distant()
    }

    /// The tree that the keys name instead, if this one was only likely.
    #[pyo3(signature = (deadline=None))]
    fn settled(&self, py: Python<'_>, deadline: Option<f64>) -> PyResult<Option<Tree>> {
        detached(py, deadline, |call| self.0.file().settled(&self.0, call)).map(|tree| tree.map(Tree))
    }

    /// The entries of branches or of members in them.
    #[pyo3(signature = (queries, entry_start, entry_stop, *, threads=None, deadline=None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        queries: Vec<QueryArgument>,
        entry_start: u64,
        entry_stop: u64,
        threads: Option<usize>,
        deadline: Option<f64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let options = ReadOptions { threads };
        let read =
            detached(py, deadline, |call| self.0.read(&queries, entry_start..entry_stop, &options, call))?;
        columns(py, read)
    }

    /// The entries of branches or members, range by range.
    #[pyo3(signature = (queries, entry_ranges, *, threads=None, deadline=None))]
    fn scan(
        &self,
        py: Python<'_>,
        queries: Vec<QueryArgument>,
        entry_ranges: Vec<(u64, u64)>,
        threads: Option<usize>,
        deadline: Option<f64>,
    ) -> PyResult<Scan> {
        let options = ReadOptions { threads };
        let ranges = ranges(entry_ranges);
        let scan = detached(py, deadline, |call| self.0.scan(&queries, ranges, &options, call))?;
        Ok(Scan { scan: Mutex::new(scan), patience: deadline })
    }

    /// Begins to read some entries of branches or members.
    #[pyo3(signature = (queries, entries, within, *, threads=None, deadline=None))]
    fn start_entries(
        &self,
        py: Python<'_>,
        queries: Vec<QueryArgument>,
        entries: PyReadonlyArray1<'_, u64>,
        within: (u64, u64),
        threads: Option<usize>,
        deadline: Option<f64>,
    ) -> PyResult<Entries> {
        let options = ReadOptions { threads };
        let entries = entries.as_slice()?;
        let within = within.0..within.1;
        let read =
            detached(py, deadline, |call| self.0.start_entries(&queries, entries, within, &options, call))?;
        Ok(Entries(Mutex::new(Some(read))))
    }

    /// A reader that fetches what is touched, and learns what to prefetch.
    #[pyo3(signature = (
        queries, *, entry_start=None, entry_stop=None, trained=None, startup=true, learn=true, trigger=true,
        startup_bytes=None, startup_entries=None, memory_bytes=None, threads=None, deadline=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of one call")]
    fn lazy(
        &self,
        py: Python<'_>,
        queries: Vec<QueryArgument>,
        entry_start: Option<u64>,
        entry_stop: Option<u64>,
        trained: Option<Vec<(usize, f64)>>,
        startup: bool,
        learn: bool,
        trigger: bool,
        startup_bytes: Option<u64>,
        startup_entries: Option<u64>,
        memory_bytes: Option<u64>,
        threads: Option<usize>,
        deadline: Option<f64>,
    ) -> PyResult<Lazy> {
        let default = LazyOptions::default();
        let entries = entry_start.unwrap_or(0)..entry_stop.unwrap_or_else(|| self.0.entries());
        let options = LazyOptions {
            entries: Some(entries),
            trained,
            startup,
            learn,
            trigger,
            startup_bytes: startup_bytes.unwrap_or(default.startup_bytes),
            startup_entries: startup_entries.unwrap_or(default.startup_entries),
            memory_bytes: memory_bytes.unwrap_or(default.memory_bytes),
            threads,
            begin: None,
        };
        detached(py, deadline, |call| self.0.lazy(&queries, options, call)).map(Lazy::new)
    }
}

/// The URL of a file that the one at `origin` calls `name`.
#[pyfunction]
pub(crate) fn beside(origin: &str, name: &str) -> PyResult<String> {
    sapwood::sibling_url(origin, name).map_err(|error| exception(&error))
}

/// An iterator over entry ranges.
#[pyclass(module = "sapwood._core", frozen)]
pub(crate) struct Scan {
    scan: Mutex<sapwood::Scan>,
    /// How many seconds a wait for one range may take.
    patience: Option<f64>,
}

#[pymethods]
impl Scan {
    fn __iter__(scan: PyRef<'_, Self>) -> PyRef<'_, Self> {
        scan
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let next = detached(py, self.patience, |call| {
            let mut scan = self.scan.lock().unwrap_or_else(PoisonError::into_inner);
            scan.next(call).transpose()
        })?;
        next.map(|read| columns(py, read)).transpose()
    }
}

/// A read of some entries in progress.
#[pyclass(module = "sapwood._core", frozen)]
pub(crate) struct Entries(Mutex<Option<EntryRead>>);

#[pymethods]
impl Entries {
    /// The columns; can be called once.
    #[pyo3(signature = (deadline=None))]
    fn finish<'py>(&self, py: Python<'py>, deadline: Option<f64>) -> PyResult<Bound<'py, PyList>> {
        let read = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let read = read.ok_or_else(|| PyValueError::new_err("these entries were read before"))?;
        columns(py, detached(py, deadline, |call| read.finish(call))?)
    }
}
