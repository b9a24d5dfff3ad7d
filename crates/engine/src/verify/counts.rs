//! Baskets of branches that count the items of others: held while those pass, so that they are read once.

use super::index::{CheckedTree, Index};
use bytes::Bytes;
use sapwood_core::{ByteRange, Column, Counters, Error, Result};
use sapwood_ttree::{BasketBytes, BasketRef, Interpretation, Meaning, decode};
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

/// Bytes of such baskets that are held.
const MOST_HELD: usize = 16 << 20;

/// The baskets of a count branch that hold the entries of a basket.
#[derive(Debug)]
pub(super) struct CountBaskets {
    /// The branch.
    pub(super) branch: usize,
    /// Number and bytes of each.
    pub(super) baskets: Vec<(usize, Bytes)>,
}

impl CountBaskets {
    /// What they say of some entries.
    pub(super) fn decode(&self, tree: &CheckedTree, entries: &Range<u64>, counters: &Counters) -> Result<Column> {
        let missing = || Error::corrupt("the branch that counts its items cannot be read");
        let interpretation = column(tree, self.branch).ok_or_else(missing)?;
        let baskets = self.baskets.iter().filter_map(|(number, bytes)| {
            Some(BasketBytes { basket: tree.basket(self.branch, *number)?, bytes: bytes.clone() })
        });
        decode(interpretation, &baskets.collect::<Vec<_>>(), entries.clone(), None, None, counters)
    }
}

fn column(tree: &CheckedTree, branch: usize) -> Option<&Interpretation> {
    match &tree.tree.outcomes().get(branch)?.meaning {
        Meaning::Column(interpretation) => Some(interpretation),
        Meaning::Group | Meaning::Unsupported(_) => None,
    }
}

/// The branch without which the values of another cannot be found.
pub(super) fn needed(tree: &CheckedTree, branch: usize) -> Option<usize> {
    let interpretation = column(tree, branch)?;
    let features = tree.tree.branches().get(branch)?.io_bits != 0;
    interpretation.count_branch.filter(|_| features || interpretation.counts_objects())
}

/// The baskets of a branch that hold some entries, with their numbers.
pub(super) fn baskets_of<'t>(
    tree: &'t CheckedTree,
    branch: usize,
    entries: &Range<u64>,
) -> impl Iterator<Item = (usize, &'t BasketRef)> + use<'t> {
    let entries = entries.clone();
    let baskets = tree.tree.branches().get(branch).map_or(&[][..], |branch| &branch.baskets);
    let from = baskets.partition_point(|basket| basket.end() <= entries.start);
    baskets.iter().enumerate().skip(from).take_while(move |(_, basket)| basket.first_entry < entries.end)
}

/// Baskets that passed and may be needed, up to a number of bytes; the oldest make room.
#[derive(Debug)]
pub(super) struct Held {
    /// Branches that others need.
    counting: HashSet<(u32, u32)>,
    bytes: usize,
    by_offset: HashMap<u64, Bytes>,
    order: VecDeque<u64>,
}

impl Held {
    pub(super) fn new(index: &Index) -> Held {
        let counting = index.trees.iter().zip(0..).flat_map(|(tree, number)| {
            let branches = 0..tree.tree.branches().len();
            let counts = branches.filter_map(|branch| needed(tree, branch));
            counts.filter_map(move |count| Some((number, u32::try_from(count).ok()?)))
        });
        let counting = counting.collect();
        Held { counting, bytes: 0, by_offset: HashMap::new(), order: VecDeque::new() }
    }

    /// True if nothing needs another basket than its own.
    pub(super) fn is_idle(&self) -> bool {
        self.counting.is_empty()
    }

    pub(super) fn is_wanted(&self, tree: u32, branch: u32) -> bool {
        self.counting.contains(&(tree, branch))
    }

    pub(super) fn hold(&mut self, offset: u64, bytes: &Bytes) {
        // A copy: a slice would hold on to all of the window.
        if self.by_offset.insert(offset, Bytes::copy_from_slice(bytes)).is_none() {
            self.order.push_back(offset);
            self.bytes += bytes.len();
        }
        while self.bytes > MOST_HELD
            && let Some(oldest) = self.order.pop_front()
        {
            self.bytes -= self.by_offset.remove(&oldest).map_or(0, |bytes| bytes.len());
        }
    }

    pub(super) fn get(&self, offset: u64) -> Option<&Bytes> {
        self.by_offset.get(&offset)
    }
}

/// Where a basket lies.
pub(super) fn range_of(basket: &BasketRef) -> ByteRange {
    ByteRange { start: basket.offset, len: basket.len }
}
