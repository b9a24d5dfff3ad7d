//! The trait of sources: one verb for bytes, and what a source states about itself.

use crate::{Checksum, CostModel};
use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Result, Segments, server_of};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// An object, and its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The URL without user names, passwords, tokens and query values, for logs and errors.
    pub url: String,
    /// Size in bytes.
    pub size: u64,
    /// A value that changes with the content: an ETag, or a modification time. `None` if nothing is known.
    pub version: Option<String>,
}

/// A readable object of known size that answers byte ranges.
///
/// # Contract
/// - `read_ranges` answers all ranges, in order, each with exactly the requested bytes, or fails; it never returns
///   fewer bytes. A range beyond the end is an error of kind `Truncated`.
/// - Ranges may be unordered, overlap, and be empty.
/// - All answers belong to one version of the object: if it changed, the error is of kind `Changed`.
/// - It returns, with an answer or an error of kind `Timeout`, soon after the deadline.
/// - The future may be dropped at any time; the source then frees its resources.
/// - Errors name the URL (without secrets) and, where one range is to blame, its offset.
///
/// # Wrappers
/// A decorator forwards `identity`, `cost_model`, `server`, `round_trip`, `is_cold`, `announce` and `checksums` unless
/// changing them is its purpose: see [`forward_source`](crate::forward_source).
pub trait Source: fmt::Debug + Send + Sync + 'static {
    /// The object and its version.
    fn identity(&self) -> &Identity;

    /// What requests cost.
    fn cost_model(&self) -> CostModel;

    /// The server that sends the bytes, as `host:port`; `None` if there is none, or if it is not known just now.
    /// Default: the server of the URL.
    fn server(&self) -> Option<String> {
        server_of(&self.identity().url)
    }

    /// An upper bound on the round trip to the server, measured while opening; `None`, the default, if nothing is
    /// known.
    fn round_trip(&self) -> Option<Duration> {
        None
    }

    /// True if most of these bytes have to come from a disk first, so that reading much of them pays in the order of the
    /// file, and ahead of their use. Default: false.
    fn is_cold(&self, _ranges: &[ByteRange]) -> bool {
        false
    }

    /// Says that these ranges, in the order of the file, will probably be read soon. A source may begin to read them into
    /// a cache of its system, and ignores them otherwise, which is the default: what is announced is not counted.
    fn announce(&self, _ranges: &[ByteRange]) {}

    /// Checksums of the whole object, as its server states them. Empty, the default, if there are none, if they
    /// cannot be obtained, or if they do not come before the deadline: a server may have to read the whole object
    /// first.
    fn checksums(&self, _deadline: Deadline) -> BoxFuture<'_, Vec<Checksum>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// The bytes of all ranges. It merges nothing: that is the planner's work.
    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>>;
}

/// Implements methods of [`Source`] by those of an inner source, in decorators:
/// `forward_source!(self => self.inner; identity, server);`.
#[macro_export]
macro_rules! forward_source {
    (@identity $self:ident $inner:expr) => {
        fn identity(&$self) -> &$crate::Identity { $inner.identity() }
    };
    (@cost_model $self:ident $inner:expr) => {
        fn cost_model(&$self) -> $crate::CostModel { $inner.cost_model() }
    };
    (@server $self:ident $inner:expr) => {
        fn server(&$self) -> ::std::option::Option<::std::string::String> { $inner.server() }
    };
    (@round_trip $self:ident $inner:expr) => {
        fn round_trip(&$self) -> ::std::option::Option<::std::time::Duration> { $inner.round_trip() }
    };
    (@is_cold $self:ident $inner:expr) => {
        fn is_cold(&$self, ranges: &[::sapwood_core::ByteRange]) -> bool { $inner.is_cold(ranges) }
    };
    (@announce $self:ident $inner:expr) => {
        fn announce(&$self, ranges: &[::sapwood_core::ByteRange]) { $inner.announce(ranges) }
    };
    (@checksums $self:ident $inner:expr) => {
        fn checksums(
            &$self,
            deadline: ::sapwood_core::Deadline,
        ) -> ::sapwood_core::BoxFuture<'_, ::std::vec::Vec<$crate::Checksum>> {
            $inner.checksums(deadline)
        }
    };
    ($self:ident => $inner:expr; $($method:ident),+) => { $($crate::forward_source!(@$method $self $inner);)+ };
}

#[deny(clippy::missing_trait_methods)]
impl<S: Source + ?Sized> Source for Arc<S> {
    forward_source!(self => (**self); identity, cost_model, server, round_trip, is_cold, announce, checksums);

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        (**self).read_ranges(ranges, deadline)
    }
}

/// A source that was just opened, with the bytes that opening read: usually the head and the tail.
#[derive(Debug)]
pub struct OpenedSource {
    /// The source.
    pub source: Arc<dyn Source>,
    /// The bytes that opening read, so that they need not be requested again.
    pub known: Segments,
}
