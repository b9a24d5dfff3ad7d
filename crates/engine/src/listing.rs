//! What is in a directory of a server.

use crate::{Interrupt, pool};
use sapwood_core::Result;
use sapwood_fetch::wait;
use sapwood_source::{ListingEntry, OpenOptions, list};

/// The entries of the directory at a URL, sorted by name.
///
/// # Errors
/// Those of [`sapwood_source::list`].
pub fn list_directory(
    url: &str,
    options: &OpenOptions,
    interrupt: Interrupt<'_>,
) -> Result<Vec<ListingEntry>> {
    wait(&pool::runtime()?, list(url, options), options.deadline, interrupt)
}
