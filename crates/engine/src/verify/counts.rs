//! Baskets of count branches: cached while the baskets that need them are checked, so that they are read once.

use super::checked_tree::CheckedTree;
use super::index::FileIndex;
use bytes::Bytes;
use sapwood_core::{ByteRange, Column, Counters, Error, Result};
use sapwood_ttree::integers;
use sapwood_ttree::{BasketBytes, BasketRef, Interpretation, Layout, Meaning, decode};
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Most bytes of cached baskets, including their decoded counts.
const MOST_HELD: usize = 32 << 20;

/// A basket of a count branch.
#[derive(Debug)]
pub(super) struct CountBasket {
    /// Its number in the branch.
    number: usize,
    bytes: Bytes,
    /// Its counts, decoded on first use; none if they cannot be read.
    values: OnceLock<Option<Vec<i64>>>,
}

impl CountBasket {
    pub(super) fn new(number: usize, bytes: Bytes) -> CountBasket {
        CountBasket { number, bytes, values: OnceLock::new() }
    }
}

/// The available baskets of a count branch that hold the entries of a basket.
#[derive(Debug)]
pub(super) struct CountBaskets {
    /// The branch.
    pub(super) branch: usize,
    pub(super) baskets: Vec<Arc<CountBasket>>,
    /// True if the values of the basket cannot be found without them.
    pub(super) needed: bool,
}

impl CountBaskets {
    /// The counts of some entries.
    pub(super) fn decode(
        &self,
        tree: &CheckedTree,
        entries: &Range<u64>,
        counters: &Counters,
    ) -> Result<Column> {
        let missing = || Error::corrupt("the branch that counts its items cannot be read");
        let interpretation = column(tree, self.branch).ok_or_else(missing)?;
        let baskets = self.baskets.iter().filter_map(|count| {
            let basket = tree.basket(self.branch, count.number)?;
            Some(BasketBytes { basket, bytes: count.bytes.clone() })
        });
        decode(interpretation, &baskets.collect::<Vec<_>>(), entries.clone(), None, None, counters)
    }

    /// Compares the lengths of lists, beginning with that of the entry `first`, with the counts. Returns the first entry
    /// where they differ.
    pub(super) fn differ(
        &self,
        tree: &CheckedTree,
        first: u64,
        offsets: &[i64],
        counters: &Counters,
    ) -> Option<u64> {
        self.baskets.iter().find_map(|count| {
            let basket = tree.basket(self.branch, count.number)?;
            let values =
                count.values.get_or_init(|| values(tree, self.branch, basket, &count.bytes, counters));
            let values = values.as_deref()?;
            let from = first.max(basket.first_entry);
            let (lists, counts) = (from - first, from - basket.first_entry);
            let offsets = offsets.get(usize::try_from(lists).ok()?..)?;
            let counts = values.get(usize::try_from(counts).ok()?..)?;
            let mut lists = offsets.iter().zip(offsets.iter().skip(1)).zip(counts);
            let place = lists.position(|((start, end), count)| end - start != *count)?;
            Some(from + place as u64)
        })
    }
}

/// The counts in a basket, if it has one for each entry.
fn values(
    tree: &CheckedTree,
    branch: usize,
    basket: &BasketRef,
    bytes: &Bytes,
    counters: &Counters,
) -> Option<Vec<i64>> {
    let own = [BasketBytes { basket, bytes: bytes.clone() }];
    let entries = basket.first_entry..basket.end();
    let column = decode(column(tree, branch)?, &own, entries, None, None, counters).ok()?;
    integers(&column).filter(|(offsets, _)| offsets.is_none()).map(|(_, values)| values)
}

fn column(tree: &CheckedTree, branch: usize) -> Option<&Interpretation> {
    match &tree.table.branch_types().get(branch)?.meaning {
        Meaning::Column(interpretation) => Some(interpretation),
        Meaning::Group | Meaning::Unsupported(_) => None,
    }
}

/// The branch that counts the items of another, and whether the values of the other cannot be found without it.
pub(super) fn counted_by(tree: &CheckedTree, branch: usize) -> Option<(usize, bool)> {
    let interpretation = column(tree, branch)?;
    let features = tree.table.branches().get(branch)?.io_bits != 0;
    let needed = features || interpretation.counts_objects();
    let lists = matches!(interpretation.layout, Layout::Jagged { .. });
    let count = interpretation.count_branch.filter(|_| needed || lists)?;
    let file = |branch: usize| tree.table.branches().get(branch).map(|branch| branch.file_name.as_str());
    (file(count) == file(branch)).then_some((count, needed))
}

/// The baskets of a branch that hold some entries, with their numbers.
pub(super) fn baskets_of<'t>(
    tree: &'t CheckedTree,
    branch: usize,
    entries: &Range<u64>,
) -> impl Iterator<Item = (usize, &'t BasketRef)> + use<'t> {
    let entries = entries.clone();
    let baskets = tree.table.branches().get(branch).map_or(&[][..], |branch| &branch.baskets);
    let from = baskets.partition_point(|basket| basket.end() <= entries.start);
    baskets.iter().enumerate().skip(from).take_while(move |(_, basket)| basket.first_entry < entries.end)
}

/// Baskets that later ones may need, up to a number of bytes; the oldest are evicted.
#[derive(Debug)]
pub(super) struct CountBasketCache {
    /// Branches that others need, by tree.
    counting: HashSet<(u32, u32)>,
    bytes: usize,
    by_offset: HashMap<u64, Arc<CountBasket>>,
    order: VecDeque<(u64, usize)>,
}

impl CountBasketCache {
    pub(super) fn new(index: &FileIndex) -> CountBasketCache {
        let counting = index.trees.iter().zip(0..).flat_map(|(tree, number)| {
            let branches = 0..tree.table.branches().len();
            let counts = branches.filter_map(|branch| counted_by(tree, branch));
            counts.filter_map(move |(count, _)| Some((number, u32::try_from(count).ok()?)))
        });
        let counting = counting.collect();
        CountBasketCache { counting, bytes: 0, by_offset: HashMap::new(), order: VecDeque::new() }
    }

    /// True if no basket needs another one.
    pub(super) fn is_idle(&self) -> bool {
        self.counting.is_empty()
    }

    pub(super) fn is_wanted(&self, tree: u32, branch: u32) -> bool {
        self.counting.contains(&(tree, branch))
    }

    pub(super) fn hold(&mut self, basket: &BasketRef, number: usize, bytes: &Bytes) {
        // A copy, because a slice would keep the whole window in memory.
        let cached = Arc::new(CountBasket::new(number, Bytes::copy_from_slice(bytes)));
        if self.by_offset.insert(basket.offset, cached).is_none() {
            self.order.push_back((basket.offset, weight(basket)));
            self.bytes += weight(basket);
        }
        while self.bytes > MOST_HELD
            && self.order.len() > 1
            && let Some((oldest, weight)) = self.order.pop_front()
        {
            self.bytes -= weight;
            self.by_offset.remove(&oldest);
        }
    }

    pub(super) fn get(&self, offset: u64) -> Option<&Arc<CountBasket>> {
        self.by_offset.get(&offset)
    }
}

/// Bytes that a basket takes, including its decoded counts.
fn weight(basket: &BasketRef) -> usize {
    usize::try_from(basket.len.saturating_add(basket.entries.saturating_mul(8))).unwrap_or(usize::MAX / 2)
}

/// The bytes of a basket in the file.
pub(super) fn range_of(basket: &BasketRef) -> ByteRange {
    ByteRange { start: basket.offset, len: basket.len }
}
