//! The location of a dataset: its store, its log, and the options to reach them.

use sapwood_core::{Call, Result};
use sapwood_source::SourceOptions;
use sapwood_store::{Store, open_store};
use sapwood_stripe::{Dataset, Log};
use sapwood_table::pool::wait;
use std::sync::Arc;

/// The location of a dataset, which need not exist yet.
#[derive(Debug, Clone)]
pub struct DatasetLocation {
    store: Arc<dyn Store>,
    log: Option<Arc<dyn Log>>,
    options: Arc<SourceOptions>,
}

impl DatasetLocation {
    /// The location at a path or URL. `log` is given if the log is not in the store.
    ///
    /// # Errors
    /// Those of [`open_store`].
    pub fn new(url: &str, options: &SourceOptions, log: Option<Arc<dyn Log>>) -> Result<DatasetLocation> {
        Ok(DatasetLocation { store: open_store(url, options)?, log, options: Arc::new(options.clone()) })
    }

    /// The URL, without secrets.
    pub fn url(&self) -> &str {
        self.store.url()
    }

    /// Store and log.
    pub fn parts(&self) -> (Arc<dyn Store>, Option<Arc<dyn Log>>) {
        (Arc::clone(&self.store), self.log.clone())
    }

    /// Opens a version: `v12`, `latest`, or a tag.
    ///
    /// # Errors
    /// Those of [`Dataset::open`].
    pub fn open(&self, version: &str, call: &mut Call<'_>) -> Result<Dataset> {
        let ((store, log), version) = (self.parts(), version.parse()?);
        let dataset = wait(Dataset::open(store, log, &version, call.deadline()), call)?;
        dataset.open_bases_with(SourceOptions::clone(&self.options));
        Ok(dataset)
    }

    /// Waits for an operation on the dataset.
    ///
    /// # Errors
    /// Those of the operation; `Timeout` and `Cancelled`.
    pub fn wait<T>(&self, operation: impl Future<Output = Result<T>>, call: &mut Call<'_>) -> Result<T> {
        wait(operation, call)
    }
}
