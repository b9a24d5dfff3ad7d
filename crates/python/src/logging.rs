//! What the core logs, for Python's `logging`: kept until it can be handed on. That is while the main thread waits
//! for bytes, for whatever thread the message came from, and at the end of every call of any thread.

use log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::prelude::*;
use sapwood::printable;
use std::sync::{Mutex, PoisonError};

/// The name of Python's logger, or what those of its children begin with; so the targets of what is meant for them.
const NAME: &str = "sapwood";

/// Messages that are kept; more are not.
const MOST: usize = 1000;

static KEPT: Mutex<Vec<(Level, String, String)>> = Mutex::new(Vec::new());

struct MessageLog;

impl Log for MessageLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().strip_prefix(NAME).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() < MOST {
                // Messages quote files and servers: one message stays one line, whatever these say.
                let message = printable(&record.args().to_string()).into_owned();
                kept.push((record.level(), record.target().to_owned(), message));
            }
        }
    }

    fn flush(&self) {}
}

/// The variable of the environment by which nothing is logged: `off`.
const SWITCH: &str = "SAPWOOD_LOG";

/// Keeps what is logged from now on.
pub(crate) fn install() {
    if std::env::var(SWITCH).is_ok_and(|value| value.eq_ignore_ascii_case("off")) {
        return;
    }
    // It fails if it was done before.
    if log::set_logger(&MessageLog).is_ok() {
        log::set_max_level(LevelFilter::Info);
    }
}

/// Hands on what was kept.
pub(crate) fn hand_on(py: Python<'_>) -> PyResult<()> {
    let kept = std::mem::take(&mut *KEPT.lock().unwrap_or_else(PoisonError::into_inner));
    if kept.is_empty() {
        return Ok(());
    }
    let logging = py.import("logging")?;
    for (level, name, message) in kept {
        let logger = logging.call_method1("getLogger", (name,))?;
        let method = match level {
            Level::Error => "error",
            Level::Warn => "warning",
            Level::Info => "info",
            Level::Debug | Level::Trace => "debug",
        };
        logger.call_method1(method, ("%s", message))?;
    }
    Ok(())
}
