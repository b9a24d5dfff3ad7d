//! `repack`: writes files from files.

use crate::arguments::{Target, cluster_size, compression, entry_ranges, job_deadline};
use crate::detached::detached_until;
use crate::fields::fields;
use crate::file::File;
use crate::options::{PyOpenOptions, open_options};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sapwood::repack::{Input, OutputFormat, RepackOptions, SchemaDrift, TreeSelection};
use std::time::Duration;

/// Path of the tree, paths of its branches, and for each input the ranges of entries.
type SelectionArgument = (String, Option<Vec<String>>, Option<Vec<Vec<(u64, u64)>>>);

/// Writes the contents of some files to a new one; returns what was done.
#[pyfunction]
#[pyo3(signature = (
    inputs, target, name, *, compression=None, basket_size=None, cluster=None, trees=None, choices=Vec::new(),
    intersection=false, sets=Vec::new(), format=None, split=None, threads=None, deadline=None, keep_every=None
))]
#[expect(clippy::too_many_arguments, reason = "they are the options of one call")]
pub(crate) fn repack<'py>(
    py: Python<'py>,
    inputs: Vec<Bound<'py, PyAny>>,
    target: &Bound<'py, PyAny>,
    name: &str,
    compression: Option<i32>,
    basket_size: Option<u32>,
    cluster: Option<(String, u64)>,
    trees: Option<Vec<String>>,
    choices: Vec<SelectionArgument>,
    intersection: bool,
    sets: Vec<String>,
    format: Option<&str>,
    split: Option<i32>,
    threads: Option<usize>,
    deadline: Option<f64>,
    keep_every: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let inputs = inputs.iter().map(|one| input(one, deadline)).collect::<PyResult<Vec<_>>>()?;
    let options = RepackOptions {
        format: match format {
            None => OutputFormat::Unchanged,
            Some("rntuple") => OutputFormat::RNTuple,
            Some(_) => OutputFormat::Tree,
        },
        compression: self::compression(compression)?,
        basket_size,
        cluster: cluster.map(cluster_size),
        split,
        trees,
        only_trees: false,
        selections: choices.into_iter().map(selection).collect(),
        drift: if intersection { SchemaDrift::Intersection } else { SchemaDrift::Strict },
        sets,
        threads,
        keep_every: keep_every.map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, 1e9))),
    };
    let (deadline, target) = (job_deadline(deadline)?, Target::new(target, name));
    let report = detached_until(py, deadline, |call| {
        sapwood::repack::repack(&inputs, target.sink()?, name, &options, call)
    })?;
    Ok(fields!(
        py,
        report,
        [
            bytes,
            trees,
            copied_baskets,
            recompressed_baskets,
            cut_baskets,
            objects,
            sums,
            decompress_ns,
            compress_ns,
            notes
        ]
    ))
}

/// An open file, or the URL and the options of one.
pub(crate) fn input(one: &Bound<'_, PyAny>, deadline: Option<f64>) -> PyResult<Input> {
    if let Ok(file) = one.cast::<File>() {
        return Ok(Input::Open(file.get().get()?));
    }
    let (url, options): (String, Bound<'_, PyOpenOptions>) = one.extract()?;
    let options = open_options(deadline, Some(&options))?;
    Ok(sapwood::input(&url, options.until(job_deadline(deadline)?)))
}

fn selection((tree, branches, entries): SelectionArgument) -> TreeSelection {
    TreeSelection { tree, branches, entries: entries.map(entry_ranges) }
}
