//! The trait of stores: objects by key.

use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Error, Result};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// What is known of an object without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its key.
    pub key: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was written last, by the clock of the store; to the second, in some.
    pub modified: SystemTime,
}

/// How it ended to create an object.
#[derive(Debug)]
pub enum CreateOutcome {
    /// The object is there, and it is ours.
    Done,
    /// There was one already; it is as it was.
    Exists,
    /// The answer did not come, or does not say it. The object may be there or not, now or a little later: read it to
    /// see whose it is.
    Unclear(Error),
}

/// Objects by key.
///
/// # Contract
/// - A key has parts of letters, digits and `._=+@-`, none of which begins with a dot, with `/` between them; anything
///   else is an error of kind `Usage`.
/// - An object is seen whole or not at all, and once it is written, everybody sees it, in lists, too.
/// - What fails for a reason that may pass is tried again within the deadline, except by `create`.
/// - Every operation returns soon after its deadline, with an error of kind `Timeout` if it was not done.
/// - Errors name the URL of the object, without secrets.
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// The URL that keys are below, without secrets.
    fn url(&self) -> &str;

    /// Requests that pay when in flight together. Default: a few, as of a disk.
    fn concurrency(&self) -> usize {
        8
    }

    /// How far the server is, at most, as its answers showed; `None`, as by default, if nothing is known.
    fn round_trip(&self) -> Option<Duration> {
        None
    }

    /// The bytes of an object, or those of a range of it: all of them, or an error.
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

    /// All bytes of an object that has so many: as the range of all of them, which some servers send with more work.
    ///
    /// # Errors
    /// As [`get`](Store::get); `Truncated` or `Server` if it has another size.
    fn get_whole<'a>(&'a self, key: &'a str, size: u64, deadline: Deadline) -> BoxFuture<'a, Result<Bytes>> {
        self.get(key, Some(ByteRange { start: 0, len: size }), deadline)
    }

    /// Writes an object, in place of one that is there.
    ///
    /// # Errors
    /// As [`get`](Store::get); after one it may have been written, or may still be.
    fn put<'a>(&'a self, key: &'a str, content: Bytes, deadline: Deadline) -> BoxFuture<'a, Result<()>>;

    /// Writes an object if there is none. It is tried once, since a second try could find what the first one wrote.
    ///
    /// # Errors
    /// As [`get`](Store::get). After an error the object was not written; see [`CreateOutcome`] for all else.
    fn create<'a>(
        &'a self,
        key: &'a str,
        content: Bytes,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<CreateOutcome>>;

    /// The objects whose keys begin with these characters, sorted by key. A part may be cut: `log/000` is a prefix.
    ///
    /// # Errors
    /// As [`get`](Store::get), but it is no error if there are none.
    fn list<'a>(&'a self, prefix: &'a str, deadline: Deadline) -> BoxFuture<'a, Result<Vec<ObjectInfo>>>;

    /// Size and time of an object.
    ///
    /// # Errors
    /// As [`get`](Store::get).
    fn stat<'a>(&'a self, key: &'a str, deadline: Deadline) -> BoxFuture<'a, Result<ObjectInfo>>;

    /// Removes objects. Those that are not there are no error.
    ///
    /// # Errors
    /// As [`get`](Store::get); some may have been removed.
    fn delete<'a>(&'a self, keys: &'a [String], deadline: Deadline) -> BoxFuture<'a, Result<()>>;

    /// The time by the clock that [`ObjectInfo::modified`] is told by; to the second, in some.
    ///
    /// # Errors
    /// As [`get`](Store::get).
    fn now(&self, deadline: Deadline) -> BoxFuture<'_, Result<SystemTime>>;
}

/// Implements methods of [`Store`] by those of an inner store, in decorators:
/// `forward_store!(self => self.inner; url, concurrency);`.
#[macro_export]
macro_rules! forward_store {
    (@url $self:ident $inner:expr) => {
        fn url(&$self) -> &str { $inner.url() }
    };
    (@concurrency $self:ident $inner:expr) => {
        fn concurrency(&$self) -> usize { $inner.concurrency() }
    };
    (@round_trip $self:ident $inner:expr) => {
        fn round_trip(&$self) -> ::std::option::Option<::std::time::Duration> { $inner.round_trip() }
    };
    (@get $self:ident $inner:expr) => {
        $crate::forward_store!(@async $self $inner, ::bytes::Bytes,
            get(key: &'a str, range: ::std::option::Option<::sapwood_core::ByteRange>));
    };
    (@get_whole $self:ident $inner:expr) => {
        $crate::forward_store!(@async $self $inner, ::bytes::Bytes, get_whole(key: &'a str, size: u64));
    };
    (@put $self:ident $inner:expr) => {
        $crate::forward_store!(@async $self $inner, (), put(key: &'a str, content: ::bytes::Bytes));
    };
    (@create $self:ident $inner:expr) => {
        $crate::forward_store!(@async $self $inner, $crate::CreateOutcome,
            create(key: &'a str, content: ::bytes::Bytes));
    };
    (@list $self:ident $inner:expr) => {
        $crate::forward_store!(@async $self $inner, ::std::vec::Vec<$crate::ObjectInfo>, list(prefix: &'a str));
    };
    (@stat $self:ident $inner:expr) => {
        $crate::forward_store!(@async $self $inner, $crate::ObjectInfo, stat(key: &'a str));
    };
    (@delete $self:ident $inner:expr) => {
        $crate::forward_store!(@async $self $inner, (), delete(keys: &'a [::std::string::String]));
    };
    (@now $self:ident $inner:expr) => {
        fn now(
            &$self,
            deadline: ::sapwood_core::Deadline,
        ) -> ::sapwood_core::BoxFuture<'_, ::sapwood_core::Result<::std::time::SystemTime>> {
            $inner.now(deadline)
        }
    };
    (@async $self:ident $inner:expr, $answer:ty, $method:ident($($argument:ident: $kind:ty),+)) => {
        fn $method<'a>(
            &'a $self,
            $($argument: $kind,)+
            deadline: ::sapwood_core::Deadline,
        ) -> ::sapwood_core::BoxFuture<'a, ::sapwood_core::Result<$answer>> {
            $inner.$method($($argument,)+ deadline)
        }
    };
    ($self:ident => $inner:expr; $($method:ident),+) => { $($crate::forward_store!(@$method $self $inner);)+ };
}

#[deny(clippy::missing_trait_methods)]
impl<S: Store + ?Sized> Store for Arc<S> {
    forward_store!(
        self => (**self);
        url, concurrency, round_trip, get, get_whole, put, create, list, stat, delete, now
    );
}
