//! `CutRead`, and the stages that it delivers.

use crate::column::columns;
use crate::detached::detached;
use crate::tree::{QueryArgument, Tree};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyList;
use sapwood::{CutCosts, CutOptions, CutQuery, CutStage, EntrySelection};
use std::sync::{Mutex, PoisonError};

/// A read of steps in two stages: what a cut needs, then what else the passing entries need.
#[pyclass(module = "sapwood._core", frozen)]
pub(crate) struct CutRead {
    /// The queries that the first stage delivers, in its order.
    #[pyo3(get)]
    first: Vec<usize>,
    /// The same of the second stage.
    #[pyo3(get)]
    second: Vec<usize>,
    read: Mutex<sapwood::CutRead>,
    /// How many seconds a wait for one stage may take.
    patience: Option<f64>,
}

/// The columns of the first stage of a step.
#[pyclass(module = "sapwood._core", frozen, get_all)]
pub(crate) struct FirstStage {
    entry_start: u64,
    entry_stop: u64,
    /// The entries of the step that are read, if these are not all.
    chosen: Option<Py<PyArray1<u64>>>,
    columns: Py<PyList>,
}

/// The columns of the second stage of a step.
#[pyclass(module = "sapwood._core", frozen, get_all)]
pub(crate) struct SecondStage {
    columns: Py<PyList>,
    /// Whether they hold the passing entries only.
    passing: bool,
}

#[pymethods]
impl CutRead {
    #[new]
    #[pyo3(signature = (
        trees, queries, cut, groups, ranges, *, chosen=None, excluded=Vec::new(), least_bytes=None,
        many_percent=None, threads=None, deadline=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of one call")]
    fn new(
        py: Python<'_>,
        trees: Vec<Py<Tree>>,
        queries: Vec<(usize, QueryArgument)>,
        cut: Vec<usize>,
        groups: Vec<Vec<usize>>,
        ranges: Vec<(u64, u64)>,
        chosen: Option<PyReadonlyArray1<'_, u64>>,
        excluded: Vec<(u64, u64)>,
        least_bytes: Option<u64>,
        many_percent: Option<u64>,
        threads: Option<usize>,
        deadline: Option<f64>,
    ) -> PyResult<CutRead> {
        let tables = trees.iter().map(|tree| tree.get().table()).collect();
        let columns = queries.into_iter().map(|(tree, query)| (tree, query.into())).collect();
        let query = CutQuery { tables, columns, cut, groups };
        let chosen = chosen.map(|chosen| chosen.as_slice().map(<[u64]>::to_vec)).transpose()?;
        let step = |(start, stop)| EntrySelection { within: start..stop, chosen: chosen.clone() };
        let steps = ranges.into_iter().map(step).collect();
        let default = CutCosts::default();
        let costs = CutCosts {
            least_bytes: least_bytes.unwrap_or(default.least_bytes),
            many_percent: many_percent.unwrap_or(default.many_percent),
        };
        let excluded = crate::arguments::ranges(excluded);
        let options = CutOptions { threads, excluded, costs };
        let read = detached(py, deadline, |call| sapwood::CutRead::new(&query, steps, options, call))?;
        Ok(CutRead { first: read.first(), second: read.second(), read: Mutex::new(read), patience: deadline })
    }

    /// The first stage of the next step, or the second of the earliest that lacks it; None after the last.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let stage = detached(py, self.patience, |call| {
            let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            read.next(call).transpose()
        })?;
        Ok(match stage {
            None => None,
            Some(CutStage::First { entries, columns: read }) => {
                let columns = columns(py, read)?.unbind();
                let chosen = entries.chosen.map(|chosen| PyArray1::from_vec(py, chosen).unbind());
                let (entry_start, entry_stop) = (entries.within.start, entries.within.end);
                let stage = FirstStage { entry_start, entry_stop, chosen, columns };
                Some(Bound::new(py, stage)?.into_any())
            }
            Some(CutStage::Second { columns: read, passing }) => {
                let columns = columns(py, read)?.unbind();
                Some(Bound::new(py, SecondStage { columns, passing })?.into_any())
            }
        })
    }

    /// Takes the mask of the step whose first stage came last.
    fn cut(&self, py: Python<'_>, mask: Option<PyReadonlyArray1<'_, bool>>) -> PyResult<()> {
        let mask = mask.as_ref().map(|mask| mask.as_slice()).transpose()?;
        detached(py, self.patience, |call| {
            let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            read.cut(mask, call)
        })
    }
}
