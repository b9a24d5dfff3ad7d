//! Describes a dataset: the contents of a version, and the log.

use sapwood_core::{Call, Result};
use sapwood_source::SourceOptions;
use sapwood_store::open_store;
use sapwood_stripe::{Dataset, Description, Log, LogEntry, Version};
use sapwood_table::pool::wait;
use std::sync::Arc;

/// Describes a version of a dataset; with `sizes`, also its bytes and objects.
///
/// # Errors
/// `NotFound` if there is no dataset, `Missing` if the version does not exist or has expired; those of the store.
pub fn describe(
    url: &str,
    log: Option<Arc<dyn Log>>,
    version: &Version,
    sizes: bool,
    options: &SourceOptions,
    call: &mut Call<'_>,
) -> Result<Description> {
    let (store, deadline) = (open_store(url, options)?, call.deadline());
    let described = async {
        let dataset = Dataset::open(store, log, version, deadline).await?;
        dataset.open_bases_with(options.clone());
        dataset.describe(sizes, deadline).await
    };
    wait(described, call)
}

/// The entries of the log of a dataset after number `after`.
///
/// # Errors
/// `NotFound` if there is no dataset; those of the store.
pub fn log_after(
    url: &str,
    log: Option<Arc<dyn Log>>,
    after: u64,
    options: &SourceOptions,
    call: &mut Call<'_>,
) -> Result<Vec<LogEntry>> {
    let (store, deadline) = (open_store(url, options)?, call.deadline());
    let entries = async {
        let dataset = Dataset::open(store, log, &Version::Latest, deadline).await?;
        dataset.log(after, deadline).await
    };
    wait(entries, call)
}
