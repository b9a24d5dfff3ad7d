//! The trait of stores: objects by key.

use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Error, Result};
use std::fmt;
use std::time::{Duration, SystemTime};

/// What is known about an object without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its key.
    pub key: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written, by the clock of the store; some stores state only seconds.
    pub modified: SystemTime,
}

/// The outcome of creating an object.
#[derive(Debug)]
pub enum CreateOutcome {
    /// The object was created.
    Done,
    /// An object existed already; it is unchanged.
    Exists,
    /// The answer was lost or is ambiguous. The object may exist or not, now or a little later: read it to find out who
    /// wrote it.
    Unclear(Error),
}

/// Objects by key.
///
/// # Contract
/// - A key consists of parts of letters, digits and `._=+@-`, none of which begins with a dot, separated by `/`;
///   anything else is an error of kind `Usage`.
/// - An object is visible whole or not at all, and once it is written, every reader sees it, in lists as well.
/// - Failures that may pass are retried within the deadline, except by `create`.
/// - Every operation returns soon after its deadline, with an error of kind `Timeout` if it was not done.
/// - Errors name the URL of the object, without secrets.
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// The URL of the store, without secrets.
    fn url(&self) -> &str;

    /// How many requests are worth having in flight together. Default: a few, as for a disk.
    fn concurrency(&self) -> usize {
        8
    }

    /// An upper bound on the round trip to the server, from its answers; `None`, the default, if nothing is known.
    fn round_trip(&self) -> Option<Duration> {
        None
    }

    /// The bytes of an object, or of a range of it: all of them, or an error.
    ///
    /// # Errors
    /// `NotFound` if there is none, `Truncated` if it ends before the range does, `Permission`, `Timeout`, `Network`,
    /// `Server`, `Io`.
    fn get<'a>(
        &'a self,
        key: &'a str,
        range: Option<ByteRange>,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Bytes>>;

    /// All bytes of an object of known size: requested as a range, unless the server sends whole objects with less
    /// work.
    ///
    /// # Errors
    /// As [`get`](Store::get); `Truncated` or `Server` if it has another size.
    fn get_whole<'a>(&'a self, key: &'a str, size: u64, deadline: Deadline) -> BoxFuture<'a, Result<Bytes>> {
        self.get(key, Some(ByteRange { start: 0, len: size }), deadline)
    }

    /// Writes an object, replacing one that exists.
    ///
    /// # Errors
    /// As [`get`](Store::get); after an error it may have been written, or may still be.
    fn put<'a>(&'a self, key: &'a str, content: Bytes, deadline: Deadline) -> BoxFuture<'a, Result<()>>;

    /// Writes an object unless it exists. It is tried only once, since a second try could find what the first one
    /// wrote.
    ///
    /// # Errors
    /// As [`get`](Store::get). After an error the object was not written; see [`CreateOutcome`] for everything else.
    fn create<'a>(
        &'a self,
        key: &'a str,
        content: Bytes,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<CreateOutcome>>;

    /// The objects whose keys begin with `prefix`, sorted by key. The prefix may end within a part, as in `log/000`.
    ///
    /// # Errors
    /// As [`get`](Store::get); an empty list is not an error.
    fn list<'a>(&'a self, prefix: &'a str, deadline: Deadline) -> BoxFuture<'a, Result<Vec<ObjectInfo>>>;

    /// Size and time of an object.
    ///
    /// # Errors
    /// As [`get`](Store::get).
    fn stat<'a>(&'a self, key: &'a str, deadline: Deadline) -> BoxFuture<'a, Result<ObjectInfo>>;

    /// Removes objects. Objects that do not exist are not an error.
    ///
    /// # Errors
    /// As [`get`](Store::get); some may have been removed.
    fn delete<'a>(&'a self, keys: &'a [String], deadline: Deadline) -> BoxFuture<'a, Result<()>>;

    /// The time by the clock of [`ObjectInfo::modified`]; some stores state only seconds.
    ///
    /// # Errors
    /// As [`get`](Store::get).
    fn now(&self, deadline: Deadline) -> BoxFuture<'_, Result<SystemTime>>;
}
