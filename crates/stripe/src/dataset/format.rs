//! The description of a dataset, which is written once.

use crate::record::{self, found, from_json, to_json};
use crate::{Id, ObjectKind, keys, seal, unseal};
use sapwood_core::{Deadline, Error, Result};
use sapwood_store::{CreateOutcome, Store};
use serde::{Deserialize, Serialize};

/// The description of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Format {
    /// Its name, which no other dataset has; copies keep it.
    pub dataset: Id,
    /// Path of the tree.
    pub tree: String,
    /// The log is not in the store of the dataset.
    pub log_elsewhere: bool,
    /// Name and version of the tool that created it.
    pub tool: String,
}

impl Format {
    /// Reads the description from a store, if there is one.
    ///
    /// # Errors
    /// Those of the store, and of an object that is damaged.
    pub async fn read(store: &dyn Store, deadline: Deadline) -> Result<Option<Format>> {
        let Some(object) = found(store.get(keys::FORMAT, None, deadline).await)? else { return Ok(None) };
        let read = unseal(ObjectKind::Format, &object)
            .and_then(|json| from_json(&json, "a description of a dataset"));
        read.map(Some).map_err(|error| error.url(record::url_of(store, keys::FORMAT)))
    }

    /// Writes it; returns the existing one, if there is one.
    pub(super) async fn write(&self, store: &dyn Store, deadline: Deadline) -> Result<Format> {
        let object = seal(ObjectKind::Format, &to_json(self)?);
        for _ in 0..4 {
            if let CreateOutcome::Done = store.create(keys::FORMAT, object.clone(), deadline).await? {
                return Ok(self.clone());
            }
            if let Some(format) = Format::read(store, deadline).await? {
                return Ok(format);
            }
        }
        Err(Error::unsupported("the store neither wrote the description of the dataset nor refused to")
            .url(store.url()))
    }
}
