//! Where further sources of a file come from.

use sapwood_core::{BoxFuture, Deadline, Result};
use sapwood_source::{Checksum, OpenedSource};
use std::fmt;

/// What is made of a source that was found before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is read from.
    Active,
    /// It is at hand, and not read from.
    Idle,
    /// It failed, and is left alone for a while.
    Resting,
    /// It has another file: nothing is read from it.
    Refused,
}

/// A source that was found before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its URL, without secrets.
    pub url: String,
    /// Its server, as `host:port`, if it has one that has a name.
    pub server: Option<String>,
    /// What is made of it.
    pub standing: Standing,
}

/// Finds sources of one file, one after the other.
///
/// # Contract
/// - `Some`: a source that was opened now, at another place than those that are `known`. It is kept: the finder need
///   not find it again.
/// - An error: a place where the file could not be opened. The next call tries another one.
/// - `None`: every place was tried since the last `None`. The next call begins anew with those that failed.
/// - It returns soon after the deadline. The future may be dropped at any time; the place counts as not tried then.
/// - While one call waits for a place that is slow, another may be made: it tries another place.
pub trait Finder: fmt::Debug + Send + Sync + 'static {
    /// Another source of the file.
    fn next<'a>(
        &'a self,
        known: &'a [Known],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Option<OpenedSource>>>;

    /// Checksums that are stated of the file by whoever named its places; by default none.
    fn checksums(&self) -> Vec<Checksum> {
        Vec::new()
    }
}
