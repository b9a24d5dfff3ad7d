//! What all passes of one verification add up, and what could not be decoded until all of its kind were tried.

use super::index::Item;
use super::report::Findings;
use sapwood_core::Error;
use std::collections::BTreeMap;
use std::ops::Range;

/// Failures that are kept of one group; further ones are of the same kind.
const MOST_FAILURES: usize = 1000;

/// What all passes of one verification add to.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) findings: Findings,
    /// Tree, branch and entries.
    pub(super) lost: Vec<(u32, u32, Range<u64>)>,
    pub(super) not_decoded: Vec<(String, String)>,
    pub(super) attempts: Attempts,
    pub(super) checked_bytes: u64,
    pub(super) checksummed_bytes: u64,
    pub(super) records: u64,
    pub(super) baskets: u64,
}

impl Found {
    pub(super) fn new(most: usize) -> Found {
        Found {
            findings: Findings::new(most),
            lost: Vec::new(),
            not_decoded: Vec::new(),
            attempts: Attempts::default(),
            checked_bytes: 0,
            checksummed_bytes: 0,
            records: 0,
            baskets: 0,
        }
    }
}

/// Things of one type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    /// The baskets of a branch, by tree and branch.
    Branch(u32, u32),
    /// The objects of a class.
    Class(String),
}

/// An attempt to decode something.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) item: Item,
    /// True if a checksum covers its bytes.
    pub(super) covered: bool,
    /// Why it failed.
    pub(super) error: Option<Error>,
}

/// The attempts of one group.
#[derive(Debug, Default)]
pub(super) struct Tried {
    /// True if one succeeded.
    pub(super) decoded: bool,
    pub(super) failed: Vec<Attempt>,
}

/// The attempts of all groups.
#[derive(Debug, Default)]
pub(super) struct Attempts(BTreeMap<Group, Tried>);

impl Attempts {
    pub(super) fn add(&mut self, group: Group, attempt: Attempt) {
        let tried = self.0.entry(group).or_default();
        if attempt.error.is_none() {
            tried.decoded = true;
        } else if tried.failed.len() < MOST_FAILURES {
            tried.failed.push(attempt);
        }
    }

    /// The groups with failures.
    pub(super) fn failed(self) -> impl Iterator<Item = (Group, Tried)> {
        self.0.into_iter().filter(|(_, tried)| !tried.failed.is_empty())
    }
}
