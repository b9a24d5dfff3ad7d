//! A store that fails by script, for tests of what is left behind.

use super::store::{CreateOutcome, ObjectInfo, Store};
use crate::forward_store;
use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Error, ErrorKind, Result};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// What goes wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFault {
    /// It fails without effect. For `create`, the outcome is unclear.
    Before,
    /// It takes effect, but fails. For `create`, the outcome is unclear.
    After,
    /// It takes effect after this time.
    Delay(Duration),
    /// It never takes effect, and fails when its deadline passes. For `create`, the outcome is unclear.
    Hang,
}

/// Does what `inner` does, except for the calls in the script, numbered from 0 in the order in which they begin.
///
/// ```
/// use sapwood_core::Deadline;
/// use sapwood_store::{FaultyStore, MemoryStore, Store, StoreFault};
/// let store = FaultyStore::new(MemoryStore::new("memory:a"));
/// store.fail(0, StoreFault::After);
/// let put = futures::executor::block_on(store.put("k", "value".into(), Deadline::default()));
/// let got = futures::executor::block_on(store.get("k", None, Deadline::default()));
/// assert!(put.is_err() && got.is_ok());
/// ```
#[derive(Debug)]
pub struct FaultyStore<S> {
    inner: S,
    script: Mutex<Script>,
    calls: AtomicU64,
}

#[derive(Debug, Default)]
struct Script {
    faults: HashMap<u64, StoreFault>,
    /// From this call on, nothing has an effect.
    dead: Option<u64>,
}

impl<S: Store> FaultyStore<S> {
    /// Fails nothing yet.
    pub fn new(inner: S) -> Self {
        FaultyStore { inner, script: Mutex::default(), calls: AtomicU64::new(0) }
    }

    /// The store that does the work.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// Breaks the call with this number.
    pub fn fail(&self, call: u64, fault: StoreFault) {
        self.script.lock().unwrap_or_else(PoisonError::into_inner).faults.insert(call, fault);
    }

    /// Breaks the call with this number, and all later calls fail without effect, as if the process had died.
    pub fn die(&self, call: u64, fault: StoreFault) {
        self.fail(call, fault);
        self.script.lock().unwrap_or_else(PoisonError::into_inner).dead = Some(call + 1);
    }

    /// Number of calls so far.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    fn fault(&self) -> Option<StoreFault> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        match script.dead {
            Some(dead) if call >= dead => Some(StoreFault::Before),
            _ => script.faults.get(&call).copied(),
        }
    }

    fn broken<'a, T: Send + 'a>(
        &'a self,
        deadline: Deadline,
        call: BoxFuture<'a, Result<T>>,
    ) -> BoxFuture<'a, Result<T>> {
        Box::pin(async move {
            let error = |kind| Error::new(kind, "a fault of the test's script").url(self.inner.url());
            match self.fault() {
                None => call.await,
                Some(StoreFault::Before) => Err(error(ErrorKind::Network)),
                Some(StoreFault::After) => call.await.and_then(|_| Err(error(ErrorKind::Network))),
                Some(StoreFault::Delay(time)) => {
                    tokio::time::sleep(time).await;
                    call.await
                }
                Some(StoreFault::Hang) => {
                    tokio::time::sleep_until(deadline.instant().into()).await;
                    Err(error(ErrorKind::Timeout))
                }
            }
        })
    }
}

impl<S: Store> Store for FaultyStore<S> {
    forward_store!(self => self.inner; url, concurrency, round_trip);

    fn get<'a>(
        &'a self,
        key: &'a str,
        range: Option<ByteRange>,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Bytes>> {
        self.broken(deadline, self.inner.get(key, range, deadline))
    }

    fn put<'a>(&'a self, key: &'a str, content: Bytes, deadline: Deadline) -> BoxFuture<'a, Result<()>> {
        self.broken(deadline, self.inner.put(key, content, deadline))
    }

    fn create<'a>(
        &'a self,
        key: &'a str,
        content: Bytes,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<CreateOutcome>> {
        let created = self.inner.create(key, content, deadline);
        let broken = self.broken(deadline, Box::pin(async move { Ok(created.await) }));
        // An error here is a fault of the script: errors of the store are inside `Ok`.
        Box::pin(async move { broken.await.unwrap_or_else(|error| Ok(CreateOutcome::Unclear(error))) })
    }

    fn list<'a>(&'a self, prefix: &'a str, deadline: Deadline) -> BoxFuture<'a, Result<Vec<ObjectInfo>>> {
        self.broken(deadline, self.inner.list(prefix, deadline))
    }

    fn stat<'a>(&'a self, key: &'a str, deadline: Deadline) -> BoxFuture<'a, Result<ObjectInfo>> {
        self.broken(deadline, self.inner.stat(key, deadline))
    }

    fn delete<'a>(&'a self, keys: &'a [String], deadline: Deadline) -> BoxFuture<'a, Result<()>> {
        self.broken(deadline, self.inner.delete(keys, deadline))
    }

    fn now(&self, deadline: Deadline) -> BoxFuture<'_, Result<SystemTime>> {
        self.broken(deadline, self.inner.now(deadline))
    }
}
