//! Forwards messages of the core to Python's `logging`. Messages of all threads are kept until the main thread waits for
//! bytes, or until a call of any thread ends.

use log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::prelude::*;
use sapwood::printable;
use std::sync::{Mutex, PoisonError};

/// The name of Python's logger, and the prefix of its children: log targets for Python begin with it.
const NAME: &str = "sapwood";

/// Most messages to keep; further ones are dropped.
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
                // Messages quote files and servers: one message stays on one line, whatever they contain.
                let message = printable(&record.args().to_string()).into_owned();
                kept.push((record.level(), record.target().to_owned(), message));
            }
        }
    }

    fn flush(&self) {}
}

/// The environment variable that turns logging off: `off`.
const SWITCH: &str = "SAPWOOD_LOG";

/// Installs the logger.
pub(crate) fn install() {
    if std::env::var(SWITCH).is_ok_and(|value| value.eq_ignore_ascii_case("off")) {
        return;
    }
    // It fails if it was installed before.
    if log::set_logger(&MessageLog).is_ok() {
        log::set_max_level(LevelFilter::Info);
    }
}

/// Forwards the kept messages.
pub(crate) fn forward(py: Python<'_>) -> PyResult<()> {
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
