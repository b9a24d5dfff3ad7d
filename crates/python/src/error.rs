//! Errors of the core as one exception, and the events that led to them.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use sapwood::{Error, ErrorKind, LoggedEvent};

create_exception!(
    sapwood._core,
    CoreError,
    PyException,
    "Raised by the core for every failure: (code, message, url, offset, branch, hint, event log)."
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
        error.events().iter().map(event_row).collect::<Vec<_>>(),
    ))
}

/// An event at a source: seconds since the log began, server, event, message, repetitions.
pub(crate) type EventRow = (f64, Option<String>, &'static str, String, u64);

/// An event, as passed to Python.
pub(crate) fn event_row(event: &LoggedEvent) -> EventRow {
    let LoggedEvent { when, server, event, text, times } = event;
    (when.as_secs_f64(), server.clone(), event.name(), text.clone(), *times)
}
