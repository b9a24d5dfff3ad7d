//! A store in memory with a clock that tests move.

use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Error, ErrorKind, Result};
use sapwood_store::{CreateOutcome, ObjectInfo, Store, check_key, check_prefix};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// The initial time of its clock.
const BEGIN: Duration = Duration::from_secs(1_700_000_000);

/// Objects in memory. Its clock stands still until it is moved.
///
/// ```
/// use sapwood_core::Deadline;
/// use sapwood_store::{CreateOutcome, Store};
/// use sapwood_testkit::MemoryStore;
/// let store = MemoryStore::new("memory:a");
/// let create = || futures::executor::block_on(store.create("k", "v".into(), Deadline::default()));
/// assert!(matches!(create()?, CreateOutcome::Done));
/// assert!(matches!(create()?, CreateOutcome::Exists));
/// # Ok::<(), sapwood_core::Error>(())
/// ```
pub struct MemoryStore {
    url: String,
    inner: Mutex<Inner>,
    atomic: bool,
}

struct Inner {
    objects: BTreeMap<String, (Bytes, SystemTime)>,
    clock: SystemTime,
}

impl MemoryStore {
    /// An empty store that errors call `url`.
    pub fn new(url: impl Into<String>) -> Self {
        let inner = Inner { objects: BTreeMap::new(), clock: SystemTime::UNIX_EPOCH + BEGIN };
        MemoryStore { url: url.into(), inner: Mutex::new(inner), atomic: true }
    }

    /// The same, with a faulty `create`, which checks whether an object exists before it writes, not atomically.
    #[must_use]
    pub fn without_atomic_create(self) -> Self {
        MemoryStore { atomic: false, ..self }
    }

    /// Moves the clock forward.
    pub fn advance(&self, time: Duration) {
        self.lock().clock += time;
    }

    /// Sets the clock, forward or back.
    pub fn set_clock(&self, moment: SystemTime) {
        self.lock().clock = moment;
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the objects, if the key is `legal` and the deadline has not passed.
    fn act<'a, T: Send + 'a>(
        &'a self,
        place: &'a str,
        legal: Result<()>,
        deadline: Deadline,
        act: impl FnOnce(&mut Inner) -> Result<T> + Send + 'a,
    ) -> BoxFuture<'a, Result<T>> {
        Box::pin(async move {
            let done = legal.and_then(|()| in_time(deadline)).and_then(|()| act(&mut self.lock()));
            done.map_err(|error| error.url(format!("{}/{place}", self.url)))
        })
    }
}

impl Inner {
    fn write(&mut self, key: &str, content: Bytes) {
        self.objects.insert(key.to_owned(), (content, self.clock));
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("url", &self.url).finish_non_exhaustive()
    }
}

fn in_time(deadline: Deadline) -> Result<()> {
    match deadline.has_passed() {
        true => Err(Error::new(ErrorKind::Timeout, "the deadline passed before the operation began")),
        false => Ok(()),
    }
}

fn missing() -> Error {
    Error::new(ErrorKind::NotFound, "there is no such object")
}

/// A range of the content of an object.
fn slice(content: &Bytes, range: Option<ByteRange>) -> Result<Bytes> {
    let Some(range) = range else { return Ok(content.clone()) };
    let bounds = usize::try_from(range.start).ok().zip(range.start.checked_add(range.len));
    let end = bounds.and_then(|(_, end)| usize::try_from(end).ok()).filter(|end| *end <= content.len());
    match bounds.zip(end) {
        Some(((start, _), end)) => Ok(content.slice(start..end)),
        None => Err(range.beyond(content.len() as u64)),
    }
}

impl Store for MemoryStore {
    fn url(&self) -> &str {
        &self.url
    }

    fn get<'a>(
        &'a self,
        key: &'a str,
        range: Option<ByteRange>,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Bytes>> {
        self.act(key, check_key(key), deadline, move |inner| {
            inner.objects.get(key).ok_or_else(missing).and_then(|(content, _)| slice(content, range))
        })
    }

    fn put<'a>(&'a self, key: &'a str, content: Bytes, deadline: Deadline) -> BoxFuture<'a, Result<()>> {
        self.act(key, check_key(key), deadline, move |inner| {
            inner.write(key, content);
            Ok(())
        })
    }

    fn create<'a>(
        &'a self,
        key: &'a str,
        content: Bytes,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<CreateOutcome>> {
        let atomic = self.act(key, check_key(key), deadline, {
            let content = content.clone();
            move |inner| {
                if inner.objects.contains_key(key) {
                    return Ok(CreateOutcome::Exists);
                }
                if self.atomic {
                    inner.write(key, content);
                }
                Ok(CreateOutcome::Done)
            }
        });
        Box::pin(async move {
            let outcome = atomic.await?;
            if !self.atomic && matches!(outcome, CreateOutcome::Done) {
                tokio::task::yield_now().await;
                self.lock().write(key, content);
            }
            Ok(outcome)
        })
    }

    fn list<'a>(&'a self, prefix: &'a str, deadline: Deadline) -> BoxFuture<'a, Result<Vec<ObjectInfo>>> {
        self.act(prefix, check_prefix(prefix), deadline, move |inner| {
            let from = (Bound::Included(prefix.to_owned()), Bound::Unbounded);
            let below = inner.objects.range(from).take_while(|(key, _)| key.starts_with(prefix));
            Ok(below.map(|(key, object)| stored(key, object)).collect())
        })
    }

    fn stat<'a>(&'a self, key: &'a str, deadline: Deadline) -> BoxFuture<'a, Result<ObjectInfo>> {
        self.act(key, check_key(key), deadline, move |inner| {
            inner.objects.get(key).map(|object| stored(key, object)).ok_or_else(missing)
        })
    }

    fn delete<'a>(&'a self, keys: &'a [String], deadline: Deadline) -> BoxFuture<'a, Result<()>> {
        let legal = keys.iter().try_for_each(|key| check_key(key));
        self.act("", legal, deadline, move |inner| {
            keys.iter().for_each(|key| drop(inner.objects.remove(key)));
            Ok(())
        })
    }

    fn now(&self, deadline: Deadline) -> BoxFuture<'_, Result<SystemTime>> {
        self.act("", Ok(()), deadline, move |inner| Ok(inner.clock))
    }
}

fn stored(key: &str, (content, modified): &(Bytes, SystemTime)) -> ObjectInfo {
    ObjectInfo { key: key.to_owned(), size: content.len() as u64, modified: *modified }
}
