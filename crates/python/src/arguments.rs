//! Arguments that several functions take: deadlines, times, compression, ranges of entries, targets.

use crate::error::exception;
use crate::sink::ObjectSink;
use pyo3::prelude::*;
use sapwood::write::{ClusterSize, Compression, Sink, create_sink};
use sapwood::{Deadline, Error, Result};
use sapwood_core::stated_time;
use std::ops::Range;
use std::time::Duration;

/// The deadline `seconds` from now; the default if `None`.
pub(crate) fn deadline(seconds: Option<f64>) -> PyResult<Deadline> {
    match seconds {
        None => Ok(Deadline::default()),
        Some(seconds) => match stated_time(seconds) {
            Some(time) => Ok(Deadline::after(time)),
            None => Err(exception(&Error::usage(format!("a deadline of {seconds} seconds is invalid")))),
        },
    }
}

/// The deadline of a job that may take days: without one, the longest.
pub(crate) fn job_deadline(seconds: Option<f64>) -> PyResult<Deadline> {
    deadline(seconds.or(Some(Deadline::LONGEST.as_secs_f64())))
}

/// A duration in seconds from an option.
pub(crate) fn seconds(name: &str, seconds: f64) -> PyResult<Duration> {
    stated_time(seconds)
        .ok_or_else(|| exception(&Error::usage(format!("the option {name}={seconds} is invalid"))))
}

/// A compression by ROOT's number.
pub(crate) fn compression(number: Option<i32>) -> PyResult<Option<Compression>> {
    number.map(Compression::from_number).transpose().map_err(|error| exception(&error))
}

/// The size of clusters: `("entries", number)` or `("bytes", number)`.
pub(crate) fn cluster_size((unit, size): (String, u64)) -> ClusterSize {
    if unit == "entries" { ClusterSize::Entries(size) } else { ClusterSize::Bytes(size) }
}

/// Ranges of entries.
pub(crate) fn ranges(pairs: Vec<(u64, u64)>) -> Vec<Range<u64>> {
    pairs.into_iter().map(|(start, stop)| start..stop).collect()
}

/// For each input, ranges of its entries.
pub(crate) fn entry_ranges(inputs: Vec<Vec<(u64, u64)>>) -> Vec<Vec<Range<u64>>> {
    inputs.into_iter().map(ranges).collect()
}

/// What a new file is written to: a path or URL, or a Python object with `write` and `seek`.
pub(crate) enum Target {
    Url(String),
    Object(ObjectSink),
}

impl Target {
    pub(crate) fn new(target: &Bound<'_, PyAny>, name: &str) -> Target {
        target.extract().map_or_else(|_| Target::Object(ObjectSink::new(target, name)), Target::Url)
    }

    pub(crate) fn sink(self) -> Result<Box<dyn Sink>> {
        match self {
            Target::Url(url) => create_sink(&url),
            Target::Object(object) => Ok(Box::new(object)),
        }
    }
}
