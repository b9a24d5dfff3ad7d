//! `repack`: writes files from files.

use crate::arguments::{deadline, open_options};
use crate::error::{detached, exception};
use crate::file::File;
use crate::sink::ObjectSink;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sapwood::repack::{Input, RepackOptions, SchemaDrift, TreeSelection};
use sapwood::write::{ClusterSize, Compression, create_sink};
use sapwood::{Deadline, Error, OpenOptions};
use std::time::Duration;

/// Path of the tree, paths of its branches, and for each input the ranges of entries.
type SelectionArgument = (String, Option<Vec<String>>, Option<Vec<Vec<(u64, u64)>>>);

/// Writes the contents of some files to a new one; returns what was done.
#[pyfunction]
#[pyo3(signature = (
    inputs, target, name, *, compression=None, basket_size=None, cluster=None, trees=None, choices=Vec::new(),
    intersection=false, sets=Vec::new(), threads=None, deadline=None, keep_every=None
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
    threads: Option<usize>,
    deadline: Option<f64>,
    keep_every: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let inputs = inputs.iter().map(|one| input(one, deadline)).collect::<PyResult<Vec<_>>>()?;
    let compression =
        compression.map(Compression::from_number).transpose().map_err(|error| exception(&error))?;
    let options = RepackOptions {
        compression,
        basket_size,
        cluster: cluster.map(|(unit, size)| match unit.as_str() {
            "entries" => ClusterSize::Entries(size),
            _ => ClusterSize::Bytes(size),
        }),
        trees,
        only_trees: false,
        selections: choices.into_iter().map(selection).collect(),
        drift: if intersection { SchemaDrift::Intersection } else { SchemaDrift::Strict },
        sets,
        threads,
        keep_every: keep_every.map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, 1e9))),
    };
    let deadline = whole(deadline)?;
    let url: Option<String> = target.extract().ok();
    let object = if url.is_none() { Some(ObjectSink::new(target, name)) } else { None };
    let report = detached(py, deadline, |call| {
        let sink = match (url, object) {
            (Some(url), _) => create_sink(&url)?,
            (None, Some(object)) => Box::new(object),
            (None, None) => return Err(Error::usage("there is no target to write to")),
        };
        sapwood::repack::repack(&inputs, sink, name, &options, call)
    })?;
    let result = PyDict::new(py);
    result.set_item("bytes", report.bytes)?;
    result.set_item("trees", report.trees)?;
    result.set_item("copied_baskets", report.copied_baskets)?;
    result.set_item("recompressed_baskets", report.recompressed_baskets)?;
    result.set_item("cut_baskets", report.cut_baskets)?;
    result.set_item("objects", report.objects)?;
    result.set_item("sums", report.sums)?;
    result.set_item("decompress_ns", report.decompress_ns)?;
    result.set_item("compress_ns", report.compress_ns)?;
    result.set_item("notes", report.notes)?;
    Ok(result)
}

/// An open file, or the URL and the options of one.
pub(crate) fn input(one: &Bound<'_, PyAny>, deadline: Option<f64>) -> PyResult<Input> {
    if let Ok(file) = one.cast::<File>() {
        return Ok(Input::Open(file.get().get()?));
    }
    let (url, options): (String, Bound<'_, PyDict>) = one.extract()?;
    let options = open_options(deadline, Some(&options))?;
    Ok(sapwood::input(&url, OpenOptions { deadline: whole(deadline)?, ..options }))
}

/// The deadline of the whole job: it may take days, where each of its steps may not.
fn whole(seconds: Option<f64>) -> PyResult<Deadline> {
    deadline(seconds.or(Some(Deadline::LONGEST.as_secs_f64())))
}

fn selection((tree, branches, entries): SelectionArgument) -> TreeSelection {
    let ranges = |input: Vec<(u64, u64)>| input.into_iter().map(|(start, stop)| start..stop).collect();
    TreeSelection { tree, branches, entries: entries.map(|inputs| inputs.into_iter().map(ranges).collect()) }
}
