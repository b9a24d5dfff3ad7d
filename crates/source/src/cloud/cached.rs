//! A value that is found once, until it is forgotten.

use sapwood_core::Result;
use std::sync::{Mutex, PoisonError};

/// A value that is found when it is first needed.
#[derive(Debug)]
pub(super) struct CachedValue<T>(Mutex<Option<T>>);

impl<T> Default for CachedValue<T> {
    fn default() -> Self {
        CachedValue(Mutex::new(None))
    }
}

impl<T: Clone> CachedValue<T> {
    /// The value; `find` finds it if it is not known.
    pub(super) fn get(&self, find: impl FnOnce() -> Result<T>) -> Result<T> {
        let mut value = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*value {
            Some(known) => Ok(known.clone()),
            None => Ok(value.insert(find()?).clone()),
        }
    }

    /// Forgets the value, so that it is found again.
    pub(super) fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
