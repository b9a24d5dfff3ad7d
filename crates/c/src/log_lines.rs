//! Messages about retries and changes of server, as lines on standard error.

use log::{LevelFilter, Log, Metadata, Record};
use sapwood_core::printable;
use std::io::Write;

/// The environment variable that turns them off: `off`.
const SWITCH: &str = "SAPWOOD_LOG";

struct Lines;

impl Log for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("sapwood.")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            // A program without standard error goes on without the line.
            let _ = writeln!(std::io::stderr(), "sapwood: {}", printable(&record.args().to_string()));
        }
    }

    fn flush(&self) {}
}

/// Begins to write lines, once in the process.
pub(crate) fn begin() {
    if std::env::var(SWITCH).is_ok_and(|value| value.eq_ignore_ascii_case("off")) {
        return;
    }
    if log::set_logger(&Lines).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}
