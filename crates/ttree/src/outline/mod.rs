//! The outline of a tree's record: where what must change stands when its baskets are written to another place.
//!
//! A record is kept as it is, but for its numbers: so every branch that exists can be carried, also one that nobody
//! can decode.

mod branch;
mod described;
mod edit;
mod graft;
mod tree;

pub use edit::{BranchChange, ClusterChange, TreeChange};

use crate::meta::baskets::BasketTable;
use crate::{BasketRef, BranchKind};
use bytes::Bytes;
use sapwood_core::Result;
use sapwood_tfile::{Marker, Outline, PointerSlot, PointerTarget, StreamerInfos};
use std::collections::HashMap;
use std::ops::Range;

/// A tree's record, and where its members stand in it.
#[derive(Debug, Clone)]
pub struct TreeOutline {
    /// The record, and behind it those of the trees whose branches were grafted on it.
    payload: Bytes,
    /// Length of its own record.
    len: usize,
    class_name: String,
    key_len: u32,
    outline: Outline,
    tree: TreePlaces,
    grafted: Vec<TreePlaces>,
    /// All branches: depth first, as in [`Tree::branches`](crate::Tree::branches), then that of `fBranchRef`.
    pub branches: Vec<BranchOutline>,
}

/// A branch in a tree's record.
#[derive(Debug, Clone)]
pub struct BranchOutline {
    /// Name.
    pub name: String,
    /// Class.
    pub class_name: String,
    /// Places in [`TreeOutline::branches`] of the sub-branches.
    pub children: Vec<usize>,
    /// Place in [`TreeOutline::branches`] of the branch that holds it.
    pub parent: Option<usize>,
    /// Places in [`TreeOutline::branches`] of the branches that are needed to read this one: those that count.
    pub needs: Vec<usize>,
    /// `fCompress`.
    pub compression: i32,
    /// `fBasketSize`.
    pub basket_size: i32,
    /// `fEntryOffsetLen`: 0 if all entries have one size.
    pub entry_offset_len: i32,
    /// Entries.
    pub entries: u64,
    /// The baskets that hold entries.
    pub baskets: Vec<BasketRef>,
    /// `fFileName`: not empty if the baskets lie in another file.
    pub file_name: String,
    /// Number of leaves.
    pub leaf_count: usize,
    /// `fMaximum` of the branch and of its leaves, where they have one: the most items that an entry can have by it, or
    /// that one of those has that it counts.
    pub maxima: Vec<Maximum>,
    places: BranchPlaces,
}

/// An `fMaximum`: readers take no more items than it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Maximum {
    at: usize,
    width: usize,
    /// What it says.
    pub value: i64,
}

/// Where a number stands.
#[derive(Debug, Clone, Copy)]
enum Number {
    I32(usize),
    I64(usize),
    F64(usize),
}

/// An array of pointers: where their number stands, and they.
#[derive(Debug, Clone, Default)]
struct Slots {
    count_at: usize,
    slots: Vec<PointerSlot>,
}

/// Where the members of a tree stand.
#[derive(Debug, Clone, Default)]
struct TreePlaces {
    entries: Option<Number>,
    total_bytes: Option<Number>,
    zip_bytes: Option<Number>,
    saved_bytes: Option<Number>,
    flushed_bytes: Option<Number>,
    auto_flush: Option<Number>,
    /// `fNClusterRange`, and the arrays that it counts.
    clusters: Option<(usize, Range<usize>)>,
    branches: Slots,
    leaves: Slots,
    /// `fTreeIndex`.
    index: Option<PointerSlot>,
    branch_ref: Option<PointerSlot>,
}

/// Where the members of a branch stand.
#[derive(Debug, Clone, Default)]
struct BranchPlaces {
    /// Where references to the branch point.
    at: usize,
    compression: usize,
    basket_size: usize,
    write_basket: usize,
    entry_number: Option<Number>,
    entries: Option<Number>,
    first_entry: Option<Number>,
    total_bytes: Option<Number>,
    zip_bytes: Option<Number>,
    max_baskets: usize,
    children: Slots,
    leaves: Slots,
    baskets: Slots,
    /// What stands for `fBasketBytes`, `fBasketEntry` and `fBasketSeek`.
    tables: Range<usize>,
    tables_form: Tables,
    file_name: Range<usize>,
}

/// How the three tables of a branch are stored (root-io-spec TBranch §4, §13).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Tables {
    /// There are none: the branch has no baskets of its own (`TBranchClones`).
    #[default]
    None,
    /// Class version 10 and later.
    Long,
    /// Class versions 6 to 9.
    Int,
    /// Before; with `fBasketBytes`, and with `fBasketSeek`, if so.
    First { bytes: bool, seek: bool },
}

/// What is known of the branches and leaves while a record is walked over.
#[derive(Debug)]
struct Walk<'a> {
    payload: &'a Bytes,
    file_size: u64,
    streamers: &'a StreamerInfos,
    nodes: Vec<Node>,
    /// By the position of a branch's slot: its place in `nodes`.
    node_of: HashMap<usize, usize>,
    /// By the position of a leaf's slot: that of the leaf that counts it.
    leaves: HashMap<usize, Option<usize>>,
    /// By the position of a leaf's slot: its `fMaximum`.
    maxima: HashMap<usize, Maximum>,
}

/// A branch that was met.
#[derive(Debug, Default)]
struct Node {
    name: String,
    class_name: String,
    kind: Option<BranchKind>,
    children: Vec<usize>,
    leaves: Vec<usize>,
    /// Positions of the slots of the branches that count.
    counts: Vec<usize>,
    maximum: Option<Maximum>,
    compression: i32,
    basket_size: i32,
    entry_offset_len: i32,
    entries: u64,
    baskets: Vec<BasketRef>,
    file_name: String,
    places: BranchPlaces,
}

impl TreeOutline {
    /// Outlines the payload of a tree's record; the arguments are those of [`Tree::parse`](crate::Tree::parse).
    ///
    /// # Errors
    /// `Unsupported` if it holds objects of which nobody says how they are stored; `Corrupt` or `Truncated` if it
    /// contradicts itself.
    pub fn parse(
        class_name: &str,
        payload: &Bytes,
        key_len: u32,
        file_size: u64,
        streamers: &StreamerInfos,
    ) -> Result<TreeOutline> {
        tree::parse(class_name, payload, 0, key_len, file_size, streamers)
    }
}

/// Walks over a `TObjArray`; `each` walks over what a pointer that was met points at.
fn array<'a>(
    marker: &mut Marker<'a>,
    mut each: impl FnMut(&mut Marker<'a>, &PointerSlot, &'a str) -> Result<()>,
) -> Result<Slots> {
    let header = marker.open()?;
    if header.version > 2 {
        marker.cursor.tobject()?;
    }
    if header.version > 1 {
        marker.cursor.tstring_bytes()?;
    }
    let count_at = marker.position();
    // The lower bound stands between the number and the pointers, of at least four bytes each.
    let count = marker.cursor.count(4)?;
    marker.cursor.skip(4)?;
    let mut slots = Vec::with_capacity(count);
    for _ in 0..count {
        let (mut slot, class) = marker.slot()?;
        each(marker, &slot, class)?;
        if let PointerTarget::Object { .. } = slot.target {
            slot = marker.leave(&slot, class)?;
        }
        slots.push(slot);
    }
    marker.close(&header, "TObjArray")?;
    Ok(Slots { count_at, slots })
}

/// What stands in the three tables of a branch: the baskets that hold entries.
fn baskets(table: &BasketTable<'_>, file_name: &str, file_size: u64) -> Result<Vec<BasketRef>> {
    table.baskets(file_name.is_empty().then_some(file_size))
}
