//! `chain`: runs the processing chain, to measure it.

use crate::arguments::{deadline, open_options};
use crate::error::{detached, exception};
use crate::file::File;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sapwood::dataset::DatasetLocation;
use sapwood::write::{Compression, create_sink};
use sapwood::{ChainOptions, ChainOutput, ChainSource, Deadline, Error, chain as run_chain};
use sapwood_stripe::LayoutOptions;

/// The options of a chain, as Python passes them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ChainArguments {
    full: bool,
    lanes: usize,
    threads: Option<usize>,
    batch: u64,
    entries: Option<u64>,
    compression: Option<i32>,
    stripe_size: Option<u64>,
    group: bool,
}

/// Runs a chain; returns what it did.
///
/// `source`: an open file and the path of its tree, `("flat", url)`, or a number of events without columns.
/// `output`: its kind (none, sink, stripes, root, flat), and where it is.
#[pyfunction]
#[pyo3(signature = (source, output, running, *, deadline=None, options=None))]
pub(crate) fn chain<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    output: (String, String),
    running: ChainArguments,
    deadline: Option<f64>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let open = open_options(deadline, options)?;
    let source = if let Ok(events) = source.extract::<u64>() {
        ChainSource::Empty(events)
    } else if let Ok((file, path)) = source.extract::<(Bound<'_, File>, String)>() {
        ChainSource::Tree(file.get().get()?, path)
    } else {
        let (_, url): (String, String) = source.extract()?;
        ChainSource::Flat(url, Box::new(open.clone()))
    };
    let compression = running.compression.map(Compression::from_number).transpose();
    let defaults = LayoutOptions::default();
    let layout = LayoutOptions {
        target: running.stripe_size.unwrap_or(defaults.target),
        group: running.group,
        ..defaults
    };
    let chain_options = ChainOptions {
        full: running.full,
        lanes: running.lanes,
        threads: running.threads,
        batch: running.batch,
        entries: running.entries,
        compression: compression.map_err(|error| exception(&error))?,
        layout,
    };
    let deadline = self::deadline(deadline.or(Some(Deadline::LONGEST.as_secs_f64())))?;
    let report = detached(py, deadline, |call| {
        let (kind, place) = output;
        let output = match kind.as_str() {
            "none" => ChainOutput::Nothing,
            "sink" => ChainOutput::Discard,
            "stripes" => ChainOutput::Stripes(DatasetLocation::new(&place, &open, None)?),
            "root" => {
                let name = place.rsplit('/').next().unwrap_or(&place).to_owned();
                ChainOutput::Root(create_sink(&place)?, name)
            }
            "flat" => ChainOutput::Flat(create_sink(&place)?),
            other => return Err(Error::usage(format!("unknown output '{other}'"))),
        };
        run_chain(&source, output, &chain_options, call)
    })?;
    let result = PyDict::new(py);
    result.set_item("events", report.events)?;
    result.set_item("batches", report.batches)?;
    result.set_item("columns", report.columns)?;
    result.set_item("decoded_columns", report.decoded_columns)?;
    result.set_item("encoded_columns", report.encoded_columns)?;
    result.set_item("read_bytes", report.read_bytes)?;
    result.set_item("entry_bytes", report.entry_bytes)?;
    result.set_item("value_bytes", report.value_bytes)?;
    result.set_item("written_bytes", report.written_bytes)?;
    result.set_item("written_objects", report.written_objects)?;
    result.set_item("seconds", report.seconds)?;
    result.set_item("decompress_seconds", report.decompress_seconds)?;
    result.set_item("deserialise_seconds", report.deserialise_seconds)?;
    result.set_item("serialise_seconds", report.serialise_seconds)?;
    result.set_item("compress_seconds", report.compress_seconds)?;
    Ok(result)
}
