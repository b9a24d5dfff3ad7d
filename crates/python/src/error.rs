//! Errors and interruptions: the core's error as one exception, Ctrl-C as Python's own.

use crate::logging;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use sapwood::{Call, Deadline, Error, ErrorKind, Result, Told};

create_exception!(
    sapwood._core,
    CoreError,
    PyException,
    "Raised by the core for every failure: (code, message, url, offset, branch, hint, story)."
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
        error.story().iter().map(happening).collect::<Vec<_>>(),
    ))
}

/// An event at a source: seconds since the story began, server, what happened, in words, times in a row.
pub(crate) type Happening = (f64, Option<String>, &'static str, String, u64);

/// An event as Python gets it.
pub(crate) fn happening(told: &Told) -> Happening {
    (told.when.as_secs_f64(), told.server.clone(), told.event.name(), told.text.clone(), told.times)
}

/// Runs `work` without the GIL. A signal, such as Ctrl-C, ends it with the signal's own exception.
///
/// Signals come to Python's main thread alone. Any other must not ask for the GIL while it waits: should the interpreter
/// end meanwhile, that would end the thread in the middle of its work, and the process with it.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    deadline: Deadline,
    work: impl FnOnce(&mut Call<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let mut signal: Option<PyErr> = None;
    let is_main = is_main_thread(py)?;
    let result = py.detach(|| {
        let mut interrupt = || {
            // Python tells of a signal once; whoever asks again, in the same work, is to give up, too.
            if is_main && signal.is_none() {
                signal = Python::attach(|py| logging::hand_on(py).and_then(|()| py.check_signals())).err();
            }
            signal.is_some()
        };
        work(&mut Call::new(deadline, &mut interrupt))
    });
    let handed_on = logging::hand_on(py);
    match (signal, result) {
        (Some(raised), _) => Err(raised),
        (None, Ok(value)) => handed_on.map(|()| value),
        (None, Err(error)) => Err(exception(&error)),
    }
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    threading.call_method0("get_ident")?.eq(threading.call_method0("main_thread")?.getattr("ident")?)
}
