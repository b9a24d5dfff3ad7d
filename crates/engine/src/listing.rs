//! What is in a directory of a server.

use sapwood_core::Interrupt;
use sapwood_core::Result;
use sapwood_fetch::wait;
use sapwood_source::{Entry, OpenOptions, list};
use sapwood_table::pool;

/// The entries of the directory at a URL, sorted by name.
///
/// # Errors
/// Those of [`sapwood_source::list`].
pub fn list_directory(url: &str, options: &OpenOptions, interrupt: Interrupt<'_>) -> Result<Vec<Entry>> {
    wait(&pool::runtime()?, list(url, options), options.deadline, interrupt)
}
