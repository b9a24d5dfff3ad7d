//! Arguments from Python: deadlines and options.

use crate::error::exception;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sapwood::{BlockOptions, CacheOptions, Deadline, Error, OpenOptions};
use sapwood_credentials::{Secret, StorageOptions};
use std::path::PathBuf;
use std::time::Duration;

/// The deadline `seconds` from now; the default if `None`.
pub(crate) fn deadline(seconds: Option<f64>) -> PyResult<Deadline> {
    match seconds {
        None => Ok(Deadline::default()),
        Some(seconds) => match Duration::try_from_secs_f64(seconds) {
            Ok(time) => Ok(Deadline::after(time)),
            Err(_) => Err(exception(&Error::usage(format!("a deadline of {seconds} seconds is invalid")))),
        },
    }
}

/// The options of opening a file.
pub(crate) fn open_options(
    deadline: Option<f64>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<OpenOptions> {
    let mut result = OpenOptions { deadline: self::deadline(deadline)?, ..OpenOptions::default() };
    for (name, value) in options.into_iter().flat_map(|options| options.iter()) {
        let name: String = name.extract()?;
        match name.as_str() {
            "headers" => {
                for (header, value) in value.cast::<PyDict>()?.iter() {
                    result.headers.push((header.extract()?, value.extract()?));
                }
            }
            "replicas" => result.replicas.urls = value.extract()?,
            "documents" => result.replicas.documents = value.extract()?,
            "sources" => result.replicas.sources = value.extract()?,
            "blocks" => result.blocks = Some(block_options(value.cast::<PyDict>()?)?),
            "tail" => result.tail = value.extract()?,
            "stall" => result.read_timeout = seconds("stall", value.extract()?)?,
            "bases" => {
                for (rule, options) in value.cast::<PyDict>()?.iter() {
                    let mut storage = StorageOptions::default();
                    for (name, value) in options.cast::<PyDict>()?.iter() {
                        storage_option(&mut storage, name.extract()?, &value)?;
                    }
                    result.bases.push((rule.extract()?, storage));
                }
            }
            name => storage_option(&mut result.storage, name, &value)?,
        }
    }
    Ok(result)
}

/// An option of object stores.
fn storage_option(storage: &mut StorageOptions, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    match name {
        "endpoint" => storage.endpoint = value.extract()?,
        "region" => storage.region = value.extract()?,
        "anonymous" => storage.anonymous = value.extract()?,
        "profile" => storage.profile = value.extract()?,
        "path_style" => storage.path_style = value.extract()?,
        "account" => storage.account = value.extract()?,
        "access_key_id" => storage.access_key_id = value.extract()?,
        "secret_access_key" => storage.secret_access_key = secret(value)?,
        "session_token" => storage.session_token = secret(value)?,
        _ => return Err(PyTypeError::new_err(format!("unknown option '{name}'"))),
    }
    Ok(())
}

/// The options of reading in blocks.
fn block_options(options: &Bound<'_, PyDict>) -> PyResult<BlockOptions> {
    let mut result = BlockOptions::default();
    let cache = options.get_item("cache")?.map(|directory| directory.extract::<PathBuf>()).transpose()?;
    let mut cache = cache.map(CacheOptions::new);
    for (name, value) in options.iter() {
        let name: String = name.extract()?;
        match (name.as_str(), &mut cache) {
            ("block", _) => result.block = value.extract()?,
            ("scratch", _) => result.scratch = value.extract()?,
            ("cache_size", Some(cache)) => cache.size = value.extract()?,
            ("cache_max_age", Some(cache)) => cache.max_age = seconds("cache_max_age", value.extract()?)?,
            ("cache" | "cache_size" | "cache_max_age", _) => {}
            _ => return Err(PyTypeError::new_err(format!("unknown option '{name}' of blocks"))),
        }
    }
    result.cache = cache;
    Ok(result)
}

/// A duration in seconds from an option.
pub(crate) fn seconds(name: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| exception(&Error::usage(format!("the option {name}={seconds} is invalid"))))
}

fn secret(value: &Bound<'_, PyAny>) -> PyResult<Option<Secret>> {
    Ok(value.extract::<Option<String>>()?.map(Secret::from))
}
