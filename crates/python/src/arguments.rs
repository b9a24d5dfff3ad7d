//! Arguments from Python: deadlines and options.

use crate::error::exception;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sapwood::{Deadline, Error, OpenOptions};
use std::time::Duration;

/// The deadline that lies `seconds` from now; the default if none is given.
pub(crate) fn deadline(seconds: Option<f64>) -> PyResult<Deadline> {
    match seconds {
        None => Ok(Deadline::default()),
        Some(seconds) => match Duration::try_from_secs_f64(seconds) {
            Ok(time) => Ok(Deadline::after(time)),
            Err(_) => {
                Err(exception(&Error::usage(format!("a deadline of {seconds} seconds makes no sense"))))
            }
        },
    }
}

/// The options of opening a file.
pub(crate) fn open_options(
    seconds: Option<f64>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<OpenOptions> {
    let mut result = OpenOptions { deadline: deadline(seconds)?, ..OpenOptions::default() };
    for (name, value) in options.into_iter().flat_map(|options| options.iter()) {
        let name: String = name.extract()?;
        match name.as_str() {
            "headers" => {
                for (header, value) in value.cast::<PyDict>()?.iter() {
                    result.headers.push((header.extract()?, value.extract()?));
                }
            }
            "tail" => result.tail = value.extract()?,
            "stall" => {
                let seconds: f64 = value.extract()?;
                result.stall = Duration::try_from_secs_f64(seconds).map_err(|_| {
                    exception(&Error::usage(format!("the option stall={seconds} makes no sense")))
                })?;
            }
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "unknown option '{name}': known are headers, stall, tail"
                )));
            }
        }
    }
    Ok(result)
}
