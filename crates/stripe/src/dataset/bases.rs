//! Additional stores that hold objects of a dataset.

use sapwood_core::Result;
use sapwood_source::SourceOptions;
use sapwood_store::Store;
use sapwood_store::open_store;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The opened stores, and how others are opened.
#[derive(Debug, Default)]
pub(super) struct Bases(Mutex<OpenBases>);

#[derive(Debug, Default)]
struct OpenBases {
    /// By URL.
    stores: BTreeMap<String, Arc<dyn Store>>,
    options: SourceOptions,
}

impl Bases {
    pub(super) fn give(&self, url: &str, store: Arc<dyn Store>) {
        self.known().stores.insert(url.to_owned(), store);
    }

    pub(super) fn open_with(&self, options: SourceOptions) {
        self.known().options = options;
    }

    pub(super) fn get(&self, url: &str) -> Result<Arc<dyn Store>> {
        let mut known = self.known();
        if let Some(store) = known.stores.get(url) {
            return Ok(Arc::clone(store));
        }
        let store = open_store(url, &known.options.for_url(url))?;
        known.stores.insert(url.to_owned(), Arc::clone(&store));
        Ok(store)
    }

    fn known(&self) -> MutexGuard<'_, OpenBases> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
