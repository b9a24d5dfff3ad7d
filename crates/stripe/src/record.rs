//! Small JSON objects: log entries, tags, leases, marks of jobs.

use crate::{ObjectKind, seal, unseal};
use bytes::Bytes;
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use sapwood_store::{CreateOutcome, Store};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// How often to create an object again while it is unknown whether it was created.
const TRIES: u32 = 4;

/// A value as JSON.
pub(crate) fn to_json(value: &impl Serialize) -> Result<Bytes> {
    serde_json::to_vec(value)
        .map(Bytes::from)
        .map_err(|error| Error::usage(format!("cannot be written as JSON: {error}")))
}

/// Parses a value from JSON.
pub(crate) fn from_json<T: DeserializeOwned>(json: &[u8], what: &str) -> Result<T> {
    serde_json::from_slice(json).map_err(|error| Error::corrupt(format!("{what} cannot be read: {error}")))
}

/// An object that holds JSON.
pub(crate) fn sealed(value: &impl Serialize) -> Result<Bytes> {
    to_json(value).map(|json| seal(ObjectKind::Record, &json))
}

/// The object at `key`, if it exists.
pub(crate) async fn read<T: DeserializeOwned>(
    store: &dyn Store,
    key: &str,
    deadline: Deadline,
) -> Result<Option<T>> {
    match found(store.get(key, None, deadline).await)? {
        Some(object) => {
            let opened = unseal(ObjectKind::Record, &object).and_then(|json| from_json(&json, "a record"));
            opened.map(Some).map_err(|error| error.url(url_of(store, key)))
        }
        None => Ok(None),
    }
}

/// Creates an object that must exist once; false if a different one exists.
///
/// # Errors
/// Those of the store; `Network` if it is unknown whether it was written.
pub(crate) async fn create<T: Serialize + DeserializeOwned + PartialEq>(
    store: &dyn Store,
    key: &str,
    value: &T,
    deadline: Deadline,
) -> Result<bool> {
    let object = sealed(value)?;
    let mut tries = 0;
    loop {
        let unclear = match store.create(key, object.clone(), deadline).await? {
            CreateOutcome::Done => return Ok(true),
            CreateOutcome::Exists => None,
            CreateOutcome::Unclear(error) => Some(error),
        };
        if let Some(found) = read::<T>(store, key, deadline).await? {
            return Ok(found == *value);
        }
        tries += 1;
        if tries == TRIES {
            let message = "the store neither wrote an object nor refused to";
            return Err(
                unclear.unwrap_or_else(|| Error::new(ErrorKind::Server, message).url(url_of(store, key)))
            );
        }
    }
}

/// `None` for an object that does not exist.
pub(crate) fn found<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The URL of an object, for errors.
pub(crate) fn url_of(store: &dyn Store, key: &str) -> String {
    format!("{}/{key}", store.url().trim_end_matches('/'))
}
