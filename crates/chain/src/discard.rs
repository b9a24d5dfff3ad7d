//! A store that accepts every PUT and keeps nothing, to measure the time of everything else.

use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Error, ErrorKind, Result};
use sapwood_store::{CreateOutcome, ObjectInfo, Store};
use std::time::SystemTime;

/// The store.
#[derive(Debug)]
pub(super) struct DiscardStore;

impl Store for DiscardStore {
    fn url(&self) -> &'static str {
        "discard:"
    }

    fn get<'a>(&'a self, key: &'a str, _: Option<ByteRange>, _: Deadline) -> BoxFuture<'a, Result<Bytes>> {
        Box::pin(async move { Err(nothing(key)) })
    }

    fn put<'a>(&'a self, _: &'a str, _: Bytes, _: Deadline) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn create<'a>(&'a self, _: &'a str, _: Bytes, _: Deadline) -> BoxFuture<'a, Result<CreateOutcome>> {
        Box::pin(async { Ok(CreateOutcome::Done) })
    }

    fn list<'a>(&'a self, _: &'a str, _: Deadline) -> BoxFuture<'a, Result<Vec<ObjectInfo>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn stat<'a>(&'a self, key: &'a str, _: Deadline) -> BoxFuture<'a, Result<ObjectInfo>> {
        Box::pin(async move { Err(nothing(key)) })
    }

    fn delete<'a>(&'a self, _: &'a [String], _: Deadline) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn now(&self, _: Deadline) -> BoxFuture<'_, Result<SystemTime>> {
        Box::pin(async { Ok(SystemTime::now()) })
    }
}

fn nothing(key: &str) -> Error {
    Error::new(ErrorKind::NotFound, "nothing is kept").url(format!("discard:{key}"))
}
