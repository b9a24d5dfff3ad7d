//! The interface through which further replicas of a file are found.

use sapwood_core::{BoxFuture, Deadline, Result};
use sapwood_source::{Checksum, OpenedSource};
use std::fmt;

/// The standing of a replica that was found before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicaStanding {
    /// It is read from.
    Active,
    /// It is available, and not read from.
    Idle,
    /// It failed, and is not used for a while.
    Resting,
    /// It holds a different file: nothing is read from it.
    Refused,
}

/// A replica that was found before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownReplica {
    /// Its URL, without secrets.
    pub url: String,
    /// Its server, as `host:port`, if it has a name.
    pub server: Option<String>,
    /// Its standing.
    pub standing: ReplicaStanding,
}

/// Finds replicas of one file, one after the other.
///
/// # Contract
/// - `Some`: a source that was just opened, at another location than the `known` ones. The caller keeps it:
///   the finder need not find it again.
/// - An error: a location where the file could not be opened. The next call tries another one.
/// - `None`: every candidate was tried since the last `None`. The next call starts over with those that
///   failed.
/// - It returns soon after the deadline. The future may be dropped at any time; the candidate then counts as
///   not tried.
/// - While one call waits for a slow candidate, another call may be made: it tries a different one.
pub trait Finder: fmt::Debug + Send + Sync + 'static {
    /// Another source of the file.
    fn next<'a>(
        &'a self,
        known: &'a [KnownReplica],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Option<OpenedSource>>>;

    /// Stated checksums of the file; by default none.
    fn checksums(&self) -> Vec<Checksum> {
        Vec::new()
    }
}
