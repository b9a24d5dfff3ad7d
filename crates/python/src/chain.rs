//! `chain`: runs the processing chain, to measure it.

use crate::arguments::{compression, job_deadline};
use crate::detached::detached_until;
use crate::fields::fields;
use crate::file::File;
use crate::options::{PyOpenOptions, open_options};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sapwood::dataset::DatasetLocation;
use sapwood::write::create_sink;
use sapwood::{ChainOptions, ChainOutput, ChainSource, Error, chain as run_chain};
use sapwood_stripe::LayoutOptions;

/// What a chain does, and in which layout it writes.
#[pyclass(name = "ChainOptions", module = "sapwood._core", frozen)]
pub(crate) struct PyChainOptions(ChainOptions);

#[pymethods]
impl PyChainOptions {
    #[new]
    #[pyo3(signature = (
        *, full, lanes, batch, threads=None, entries=None, compression=None, stripe_size=None, group=true
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn new(
        full: bool,
        lanes: usize,
        batch: u64,
        threads: Option<usize>,
        entries: Option<u64>,
        compression: Option<i32>,
        stripe_size: Option<u64>,
        group: bool,
    ) -> PyResult<PyChainOptions> {
        let compression = self::compression(compression)?;
        let default = LayoutOptions::default();
        let layout = LayoutOptions { target: stripe_size.unwrap_or(default.target), group, ..default };
        Ok(PyChainOptions(ChainOptions { full, lanes, threads, batch, entries, compression, layout }))
    }
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
    running: &Bound<'py, PyChainOptions>,
    deadline: Option<f64>,
    options: Option<&Bound<'py, PyOpenOptions>>,
) -> PyResult<Bound<'py, PyDict>> {
    let open = open_options(deadline, options)?;
    let source = if let Ok(events) = source.extract::<u64>() {
        ChainSource::Empty(events)
    } else if let Ok((file, path)) = source.extract::<(Bound<'_, File>, String)>() {
        ChainSource::Tree(file.get().get()?, path)
    } else {
        let (_, url): (String, String) = source.extract()?;
        ChainSource::Flat(url, Box::new(open.source.clone()))
    };
    let (running, deadline) = (&running.get().0, job_deadline(deadline)?);
    let report = detached_until(py, deadline, |call| {
        let (kind, place) = output;
        let output = match kind.as_str() {
            "none" => ChainOutput::Nothing,
            "sink" => ChainOutput::Discard,
            "stripes" => ChainOutput::Stripes(DatasetLocation::new(&place, &open.source, None)?),
            "root" => {
                let name = place.rsplit('/').next().unwrap_or(&place).to_owned();
                ChainOutput::Root(create_sink(&place)?, name)
            }
            "flat" => ChainOutput::Flat(create_sink(&place)?),
            other => return Err(Error::usage(format!("unknown output '{other}'"))),
        };
        run_chain(&source, output, running, call)
    })?;
    Ok(fields!(
        py,
        report,
        [
            events,
            batches,
            columns,
            decoded_columns,
            encoded_columns,
            read_bytes,
            entry_bytes,
            value_bytes,
            written_bytes,
            written_objects,
            seconds,
            decompress_seconds,
            deserialise_seconds,
            serialise_seconds,
            compress_seconds
        ]
    ))
}
