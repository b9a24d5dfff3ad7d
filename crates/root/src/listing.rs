//! Lists a directory of a server.

use sapwood_core::{Call, Result};
use sapwood_source::{ListingEntry, SourceOptions, list};
use sapwood_table::pool;

/// The entries of the directory at a URL, sorted by name.
///
/// # Errors
/// Those of [`sapwood_source::list`].
pub fn list_directory(url: &str, options: &SourceOptions, call: &mut Call<'_>) -> Result<Vec<ListingEntry>> {
    pool::wait(list(url, options), call)
}
