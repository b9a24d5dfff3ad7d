//! Totals of all passes of a verification, and failures that are judged when their whole group was tried.

use super::index::IndexItem;
use super::report::FindingList;
use sapwood_core::Error;
use std::collections::BTreeMap;
use std::ops::Range;

/// Most failures of one group that are kept.
const MOST_FAILURES: usize = 1000;

/// The totals of all passes of a verification.
#[derive(Debug)]
pub(super) struct VerifyTally {
    pub(super) findings: FindingList,
    pub(super) lost: Vec<LostEntries>,
    pub(super) not_decoded: Vec<(String, String)>,
    pub(super) attempts: AttemptsByGroup,
    pub(super) checked_bytes: u64,
    pub(super) checksummed_bytes: u64,
    pub(super) records: u64,
    pub(super) baskets: u64,
}

impl VerifyTally {
    pub(super) fn new(most: usize) -> VerifyTally {
        VerifyTally {
            findings: FindingList::new(most),
            lost: Vec::new(),
            not_decoded: Vec::new(),
            attempts: AttemptsByGroup::default(),
            checked_bytes: 0,
            checksummed_bytes: 0,
            records: 0,
            baskets: 0,
        }
    }
}

/// Entries that cannot be read.
#[derive(Debug)]
pub(super) struct LostEntries {
    pub(super) item: LostItem,
    pub(super) entries: Range<u64>,
}

/// What lacks them. Numbers are indices.
#[derive(Debug, Clone, Copy)]
pub(super) enum LostItem {
    /// A tree and its branch.
    Branch(u32, u32),
    /// An RNTuple and its field.
    Field(u32, usize),
}

/// Items of one type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ItemGroup {
    /// The baskets of a branch, by tree and branch.
    Branch(u32, u32),
    /// The objects of a class.
    Class(String),
}

/// An attempt to decode an item.
#[derive(Debug)]
pub(super) struct DecodeAttempt {
    pub(super) item: IndexItem,
    /// True if a checksum covers its bytes.
    pub(super) covered: bool,
    /// Why it failed.
    pub(super) error: Option<Error>,
}

/// The attempts of one group.
#[derive(Debug, Default)]
pub(super) struct GroupAttempts {
    /// True if one succeeded.
    pub(super) decoded: bool,
    pub(super) failed: Vec<DecodeAttempt>,
}

/// The attempts of all groups.
#[derive(Debug, Default)]
pub(super) struct AttemptsByGroup(BTreeMap<ItemGroup, GroupAttempts>);

impl AttemptsByGroup {
    pub(super) fn add(&mut self, group: ItemGroup, attempt: DecodeAttempt) {
        let tried = self.0.entry(group).or_default();
        if attempt.error.is_none() {
            tried.decoded = true;
        } else if tried.failed.len() < MOST_FAILURES {
            tried.failed.push(attempt);
        }
    }

    /// The groups with failures.
    pub(super) fn failed(self) -> impl Iterator<Item = (ItemGroup, GroupAttempts)> {
        self.0.into_iter().filter(|(_, tried)| !tried.failed.is_empty())
    }
}
