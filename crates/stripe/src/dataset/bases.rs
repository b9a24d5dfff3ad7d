//! Stores besides that of the dataset, where some of its objects lie.

use super::Home;
use crate::Snapshot;
use sapwood_core::{Error, Result};
use sapwood_source::OpenOptions;
use sapwood_store::{Store, open_store};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Those that were opened, and how others are.
#[derive(Debug, Default)]
pub(super) struct Bases(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// By URL.
    stores: BTreeMap<String, Arc<dyn Store>>,
    options: OpenOptions,
}

impl Bases {
    pub(super) fn give(&self, url: &str, store: Arc<dyn Store>) {
        self.known().stores.insert(url.to_owned(), store);
    }

    pub(super) fn open_with(&self, options: OpenOptions) {
        self.known().options = options;
    }

    fn get(&self, url: &str) -> Result<Arc<dyn Store>> {
        let mut known = self.known();
        if let Some(store) = known.stores.get(url) {
            return Ok(Arc::clone(store));
        }
        let store = open_store(url, &known.options.for_base(url))?;
        known.stores.insert(url.to_owned(), Arc::clone(&store));
        Ok(store)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Home {
    /// The store of a base of a snapshot, by number.
    pub(super) fn base(&self, snapshot: &Snapshot, base: u32) -> Result<Arc<dyn Store>> {
        let Some(number) = base.checked_sub(1) else { return Ok(Arc::clone(&self.store)) };
        let url =
            usize::try_from(number).ok().and_then(|number| snapshot.bases.get(number)).ok_or_else(|| {
                Error::corrupt(format!("the dataset has no base {base}, where an object is said to lie"))
                    .url(self.url())
            })?;
        self.bases.get(url)
    }
}
