//! A store that records its calls, for tests that count them.

use super::store::{CreateOutcome, ObjectInfo, Store};
use crate::forward_store;
use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Result};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// An operation of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are the methods of the trait")]
pub enum StoreOperation {
    Get,
    Put,
    Create,
    List,
    Stat,
    Delete,
    Now,
}

/// One call of an operation; removing several objects counts as one call for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreCall {
    /// The operation.
    pub operation: StoreOperation,
    /// The key or prefix.
    pub key: String,
    /// The range, if one was given.
    pub range: Option<ByteRange>,
    /// Bytes read or written; 0 if the call failed.
    pub bytes: u64,
}

/// Does what `inner` does, and records each call.
///
/// ```
/// use sapwood_core::Deadline;
/// use sapwood_store::{CountingStore, MemoryStore, Store, StoreOperation};
/// let store = CountingStore::new(MemoryStore::new("memory:a"));
/// futures::executor::block_on(store.put("d/k", "value".into(), Deadline::default()))?;
/// assert_eq!(store.count(StoreOperation::Put, "d/"), 1);
/// assert_eq!(store.take()[0].bytes, 5);
/// # Ok::<(), sapwood_core::Error>(())
/// ```
#[derive(Debug)]
pub struct CountingStore<S> {
    inner: S,
    calls: Mutex<Vec<StoreCall>>,
}

impl<S: Store> CountingStore<S> {
    /// No calls yet.
    pub fn new(inner: S) -> Self {
        CountingStore { inner, calls: Mutex::default() }
    }

    /// The store that does the work.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// The calls that have ended, in the order in which they ended.
    pub fn calls(&self) -> Vec<StoreCall> {
        self.lock().clone()
    }

    /// The same; the calls are then forgotten.
    pub fn take(&self) -> Vec<StoreCall> {
        std::mem::take(&mut self.lock())
    }

    /// Number of calls of an operation with keys that begin with `prefix`.
    pub fn count(&self, operation: StoreOperation, prefix: &str) -> usize {
        self.lock().iter().filter(|call| call.operation == operation && call.key.starts_with(prefix)).count()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<StoreCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, operation: StoreOperation, key: &str, range: Option<ByteRange>, bytes: u64) {
        self.lock().push(StoreCall { operation, key: key.to_owned(), range, bytes });
    }
}

impl<S: Store> Store for CountingStore<S> {
    forward_store!(self => self.inner; url, concurrency, round_trip);

    fn get<'a>(
        &'a self,
        key: &'a str,
        range: Option<ByteRange>,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Bytes>> {
        Box::pin(async move {
            let got = self.inner.get(key, range, deadline).await;
            let bytes = got.as_ref().map_or(0, Bytes::len) as u64;
            self.note(StoreOperation::Get, key, range, bytes);
            got
        })
    }

    fn put<'a>(&'a self, key: &'a str, content: Bytes, deadline: Deadline) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let len = content.len() as u64;
            let put = self.inner.put(key, content, deadline).await;
            self.note(StoreOperation::Put, key, None, put.as_ref().map_or(0, |()| len));
            put
        })
    }

    fn create<'a>(
        &'a self,
        key: &'a str,
        content: Bytes,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<CreateOutcome>> {
        Box::pin(async move {
            let len = content.len() as u64;
            let created = self.inner.create(key, content, deadline).await;
            let done = matches!(created, Ok(CreateOutcome::Done));
            self.note(StoreOperation::Create, key, None, if done { len } else { 0 });
            created
        })
    }

    fn list<'a>(&'a self, prefix: &'a str, deadline: Deadline) -> BoxFuture<'a, Result<Vec<ObjectInfo>>> {
        Box::pin(async move {
            let listed = self.inner.list(prefix, deadline).await;
            self.note(StoreOperation::List, prefix, None, 0);
            listed
        })
    }

    fn stat<'a>(&'a self, key: &'a str, deadline: Deadline) -> BoxFuture<'a, Result<ObjectInfo>> {
        Box::pin(async move {
            let stat = self.inner.stat(key, deadline).await;
            self.note(StoreOperation::Stat, key, None, 0);
            stat
        })
    }

    fn delete<'a>(&'a self, keys: &'a [String], deadline: Deadline) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let deleted = self.inner.delete(keys, deadline).await;
            keys.iter().for_each(|key| self.note(StoreOperation::Delete, key, None, 0));
            deleted
        })
    }

    fn now(&self, deadline: Deadline) -> BoxFuture<'_, Result<SystemTime>> {
        Box::pin(async move {
            let now = self.inner.now(deadline).await;
            self.note(StoreOperation::Now, "", None, 0);
            now
        })
    }
}
