//! Runs work without the GIL, until its deadline or a signal such as Ctrl-C.

use crate::error::exception;
use crate::{arguments, logging};
use pyo3::prelude::*;
use sapwood::{Call, Deadline, Result};

/// Runs `work` without the GIL, for at most `deadline` seconds (by default, an hour): see [`detached_until`].
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    deadline: Option<f64>,
    work: impl FnOnce(&mut Call<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    detached_until(py, arguments::deadline(deadline)?, work)
}

/// Runs `work` without the GIL. A signal, such as Ctrl-C, ends it with the signal's own exception.
///
/// Only Python's main thread gets signals. Other threads must not wait for the GIL in the meantime: if the
/// interpreter ended at that moment, it would kill the thread in the middle of its work, and the process with
/// it.
pub(crate) fn detached_until<T: Send>(
    py: Python<'_>,
    deadline: Deadline,
    work: impl FnOnce(&mut Call<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let mut signal: Option<PyErr> = None;
    let is_main = is_main_thread(py)?;
    let result = py.detach(|| {
        let mut interrupt = || {
            // Python reports a signal once, but later checks in the same work must give up, too.
            if is_main && signal.is_none() {
                signal = Python::attach(|py| logging::forward(py).and_then(|()| py.check_signals())).err();
            }
            signal.is_some()
        };
        work(&mut Call::new(deadline, &mut interrupt))
    });
    let forwarded = logging::forward(py);
    match (signal, result) {
        (Some(raised), _) => Err(raised),
        (None, Ok(value)) => forwarded.map(|()| value),
        (None, Err(error)) => Err(exception(&error)),
    }
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    threading.call_method0("get_ident")?.eq(threading.call_method0("main_thread")?.getattr("ident")?)
}
