//! Errors and interruptions: the core's error as one exception, Ctrl-C as Python's own.

use crate::logging;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use sapwood::{Error, ErrorKind, Interrupt, Result};

create_exception!(
    sapwood._core,
    CoreError,
    PyException,
    "Raised by the core for every failure: (code, message, url, offset, branch, hint)."
);

/// The codes of all kinds of errors.
pub(crate) fn codes() -> Vec<&'static str> {
    ErrorKind::ALL.iter().map(|kind| kind.code()).collect()
}

/// The exception for an error.
pub(crate) fn exception(error: &Error) -> PyErr {
    CoreError::new_err((
        error.kind().code(),
        error.to_string(),
        error.url_str().map(str::to_owned),
        error.offset(),
        error.branch_name().map(str::to_owned),
        error.hint_text().map(str::to_owned),
    ))
}

/// Runs `work` without the GIL. A signal, such as Ctrl-C, ends it with the signal's own exception.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(Interrupt<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let mut signal: Option<PyErr> = None;
    let result = py.detach(|| {
        let mut interrupt =
            || match Python::attach(|py| logging::hand_on(py).and_then(|()| py.check_signals())) {
                Ok(()) => false,
                Err(raised) => {
                    signal = Some(raised);
                    true
                }
            };
        work(&mut interrupt)
    });
    let handed_on = logging::hand_on(py);
    match result {
        Ok(value) => handed_on.map(|()| value),
        Err(error) => Err(signal.unwrap_or_else(|| exception(&error))),
    }
}
