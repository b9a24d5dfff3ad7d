//! `cache_contents`, `cache_verify`, `cache_clear`: maintenance of a cache.

use crate::detached::detached;
use crate::error::exception;
use pyo3::prelude::*;
use sapwood::{Cache, CacheOptions, Error, ErrorKind};
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

/// URL, size, numbers of blocks and of columns, bytes on the disk, time of the last use in seconds since 1970.
type Row = (String, u64, u64, u64, u64, Option<f64>);

/// The contents of a cache, the most recently used file first.
#[pyfunction]
pub(crate) fn cache_contents(py: Python<'_>, directory: PathBuf) -> PyResult<Vec<Row>> {
    let kept = detached(py, None, |_| Ok(open(directory)?.contents()))?;
    let row = |kept: sapwood::CachedFile| {
        let used = kept.used.and_then(|used| used.duration_since(UNIX_EPOCH).ok());
        (kept.url, kept.size, kept.blocks, kept.columns, kept.bytes, used.map(|used| used.as_secs_f64()))
    };
    Ok(kept.into_iter().map(row).collect())
}

/// Number and bytes of intact files, and the paths of damaged ones, which are removed.
#[pyfunction]
pub(crate) fn cache_verify(py: Python<'_>, directory: PathBuf) -> PyResult<(u64, u64, Vec<PathBuf>)> {
    let verified = detached(py, None, |_| Ok(open(directory)?.verify()))?;
    Ok((verified.sound, verified.bytes, verified.damaged))
}

/// Removes what is kept of one file, or of all; returns the freed bytes.
#[pyfunction]
#[pyo3(signature = (directory, url=None))]
pub(crate) fn cache_clear(py: Python<'_>, directory: PathBuf, url: Option<&str>) -> PyResult<u64> {
    let url = url.map(sapwood_core::redact);
    let cleared = py.detach(|| open(directory).map(|cache| cache.clear(url.as_deref())));
    let failed = |error| Error::new(ErrorKind::Io, "cannot clear the cache").caused_by(error);
    cleared.and_then(|cleared| cleared.map_err(failed)).map_err(|error| exception(&error))
}

fn open(directory: PathBuf) -> sapwood::Result<Cache> {
    Cache::open(directory, CacheOptions::SIZE)
}
