//! A store that records its calls, and fails by script.

use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Error, ErrorKind, Result};
use sapwood_store::{CreateOutcome, ObjectInfo, Store};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

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

/// One call of an operation; deleting several objects counts as one call for each.
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

/// A fault of a call.
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

/// Forwards calls to another store, records them, and injects the faults of a script.
///
/// ```
/// use sapwood_core::Deadline;
/// use sapwood_store::Store;
/// use sapwood_testkit::{InstrumentedStore, MemoryStore, StoreFault, StoreOperation};
/// use std::sync::Arc;
/// let store = InstrumentedStore::new(Arc::new(MemoryStore::new("memory:a")));
/// store.fail(0, StoreFault::After);
/// let put = futures::executor::block_on(store.put("k", "value".into(), Deadline::default()));
/// let got = futures::executor::block_on(store.get("k", None, Deadline::default()));
/// assert!(put.is_err() && got.is_ok());
/// assert_eq!((store.count(StoreOperation::Get, ""), store.take()[1].bytes), (1, 5));
/// ```
#[derive(Debug)]
pub struct InstrumentedStore {
    inner: Arc<dyn Store>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The calls that have ended.
    calls: Vec<StoreCall>,
    /// Number of calls that have begun.
    begun: u64,
    faults: HashMap<u64, StoreFault>,
    /// From this call on, nothing has an effect.
    dead: Option<u64>,
}

impl InstrumentedStore {
    /// Records the calls of `inner`; nothing fails yet.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        InstrumentedStore { inner, state: Mutex::default() }
    }

    /// Breaks the call with this number, counted from 0 in the order in which calls begin.
    pub fn fail(&self, call: u64, fault: StoreFault) {
        self.state().faults.insert(call, fault);
    }

    /// Breaks the call with this number; all later calls fail without effect, as if the process had died.
    pub fn die(&self, call: u64, fault: StoreFault) {
        self.fail(call, fault);
        self.state().dead = Some(call + 1);
    }

    /// Number of calls that have begun.
    pub fn begun(&self) -> u64 {
        self.state().begun
    }

    /// The calls since the last call of `take`, in the order in which they ended.
    pub fn take(&self) -> Vec<StoreCall> {
        std::mem::take(&mut self.state().calls)
    }

    /// Number of calls of an operation with keys that begin with `prefix`, since the last call of `take`.
    pub fn count(&self, operation: StoreOperation, prefix: &str) -> usize {
        let wanted = |call: &&StoreCall| call.operation == operation && call.key.starts_with(prefix);
        self.state().calls.iter().filter(wanted).count()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fault of the call that begins now.
    fn fault(&self) -> Option<StoreFault> {
        let mut state = self.state();
        let call = state.begun;
        state.begun += 1;
        match state.dead {
            Some(dead) if call >= dead => Some(StoreFault::Before),
            _ => state.faults.get(&call).copied(),
        }
    }

    /// Runs a call with the fault of the script, and records it; `bytes` are those of a successful call.
    fn run<'a, T: Send + 'a>(
        &'a self,
        operation: StoreOperation,
        keys: Vec<&'a str>,
        range: Option<ByteRange>,
        deadline: Deadline,
        call: BoxFuture<'a, Result<T>>,
        bytes: impl FnOnce(&T) -> usize + Send + 'a,
    ) -> BoxFuture<'a, Result<T>> {
        Box::pin(async move {
            let error = |kind| Error::new(kind, "a fault of the test's script").url(self.inner.url());
            let ended = match self.fault() {
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
            };
            let bytes = ended.as_ref().map_or(0, bytes) as u64;
            let call = |key: &str| StoreCall { operation, key: key.to_owned(), range, bytes };
            self.state().calls.extend(keys.into_iter().map(call));
            ended
        })
    }
}

impl Store for InstrumentedStore {
    fn url(&self) -> &str {
        self.inner.url()
    }

    fn concurrency(&self) -> usize {
        self.inner.concurrency()
    }

    fn round_trip(&self) -> Option<Duration> {
        self.inner.round_trip()
    }

    fn get<'a>(
        &'a self,
        key: &'a str,
        range: Option<ByteRange>,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Bytes>> {
        let get = self.inner.get(key, range, deadline);
        self.run(StoreOperation::Get, vec![key], range, deadline, get, Bytes::len)
    }

    fn put<'a>(&'a self, key: &'a str, content: Bytes, deadline: Deadline) -> BoxFuture<'a, Result<()>> {
        let len = content.len();
        let put = self.inner.put(key, content, deadline);
        self.run(StoreOperation::Put, vec![key], None, deadline, put, move |()| len)
    }

    fn create<'a>(
        &'a self,
        key: &'a str,
        content: Bytes,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<CreateOutcome>> {
        let len = content.len();
        let create = self.inner.create(key, content, deadline);
        // Errors of the store are inside `Ok`, so that an outer error is a fault of the script.
        let create = Box::pin(async move { Ok(create.await) });
        let bytes = move |created: &Result<CreateOutcome>| match created {
            Ok(CreateOutcome::Done) => len,
            _ => 0,
        };
        let create = self.run(StoreOperation::Create, vec![key], None, deadline, create, bytes);
        Box::pin(async move { create.await.unwrap_or_else(|error| Ok(CreateOutcome::Unclear(error))) })
    }

    fn list<'a>(&'a self, prefix: &'a str, deadline: Deadline) -> BoxFuture<'a, Result<Vec<ObjectInfo>>> {
        let list = self.inner.list(prefix, deadline);
        self.run(StoreOperation::List, vec![prefix], None, deadline, list, |_| 0)
    }

    fn stat<'a>(&'a self, key: &'a str, deadline: Deadline) -> BoxFuture<'a, Result<ObjectInfo>> {
        let stat = self.inner.stat(key, deadline);
        self.run(StoreOperation::Stat, vec![key], None, deadline, stat, |_| 0)
    }

    fn delete<'a>(&'a self, keys: &'a [String], deadline: Deadline) -> BoxFuture<'a, Result<()>> {
        let delete = self.inner.delete(keys, deadline);
        let keys = keys.iter().map(String::as_str).collect();
        self.run(StoreOperation::Delete, keys, None, deadline, delete, |()| 0)
    }

    fn now(&self, deadline: Deadline) -> BoxFuture<'_, Result<SystemTime>> {
        self.run(StoreOperation::Now, vec![""], None, deadline, self.inner.now(deadline), |_| 0)
    }
}
