//! The positions of the members of a tree and its branches in its record.

use bytes::Bytes;
use sapwood_core::Result;
use sapwood_tfile::{Outline, Pointer, Walker};
use std::ops::Range;

/// A tree's record with the positions of its members, so that it can be rewritten with other values. This
/// also works for branches that cannot be decoded.
#[derive(Debug, Clone)]
pub struct TreeOutline {
    /// The record, followed by those of grafted trees.
    pub(crate) payload: Bytes,
    /// Length of the tree's own record.
    pub(crate) len: usize,
    pub(crate) class_name: String,
    pub(crate) key_len: u32,
    pub(crate) outline: Outline,
    pub(crate) tree: TreePositions,
    pub(crate) grafted: Vec<TreePositions>,
    /// All branches, as in [`TTree::stored_branches`](crate::TTree::stored_branches).
    pub branches: Vec<BranchOutline>,
}

/// The positions of the members of a branch.
#[derive(Debug, Clone, Default)]
pub struct BranchOutline {
    /// `fMaximum` of the branch and of its leaves, if they have one: the largest number of items per entry of
    /// this branch, or of those that it counts. Of a leaf with texts, also `fLen`, the length of the longest.
    pub maxima: Vec<Maximum>,
    /// The position that references to the branch name.
    pub(crate) at: usize,
    pub(crate) compression: usize,
    /// `fBasketSize`, which `fEntryOffsetLen` follows.
    pub(crate) basket_size: usize,
    /// What `fEntryOffsetLen` must be, if the record says that there are no offsets although entries differ in size.
    pub(crate) offset_len: Option<i32>,
    pub(crate) write_basket: usize,
    pub(crate) entry_number: Option<NumberPosition>,
    pub(crate) entries: Option<NumberPosition>,
    pub(crate) first_entry: Option<NumberPosition>,
    pub(crate) total_bytes: Option<NumberPosition>,
    pub(crate) zip_bytes: Option<NumberPosition>,
    pub(crate) max_baskets: usize,
    pub(crate) children: PointerArray,
    pub(crate) leaves: PointerArray,
    pub(crate) baskets: PointerArray,
    /// `fBasketBytes`, `fBasketEntry` and `fBasketSeek`.
    pub(crate) tables: Range<usize>,
    pub(crate) table_layout: TableLayout,
    pub(crate) file_name: Range<usize>,
}

impl BranchOutline {
    /// True if the branch can have baskets.
    pub fn holds_baskets(&self) -> bool {
        self.table_layout != TableLayout::None
    }
}

/// An `fMaximum` or `fLen`, which limits the number of items that readers accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Maximum {
    pub(crate) at: usize,
    pub(crate) width: usize,
    /// Its value.
    pub value: i64,
}

/// The position and type of a number.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NumberPosition {
    I32(usize),
    I64(usize),
    F64(usize),
}

/// An array of pointers: the position of their count, and the pointers.
#[derive(Debug, Clone, Default)]
pub(crate) struct PointerArray {
    pub(crate) count_at: usize,
    /// Empty if the record was read without an outline.
    pub(crate) pointers: Vec<Pointer>,
}

impl PointerArray {
    /// Walks over a `TObjArray`; `each` reads one pointer and the object behind it.
    pub(super) fn read<'a>(
        walker: &mut Walker<'a>,
        each: impl FnMut(&mut Walker<'a>) -> Result<Pointer>,
    ) -> Result<PointerArray> {
        let (count_at, pointers) = walker.array(each)?;
        Ok(PointerArray { count_at, pointers })
    }
}

/// The positions of the members of a tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct TreePositions {
    pub(crate) entries: Option<NumberPosition>,
    pub(crate) total_bytes: Option<NumberPosition>,
    pub(crate) zip_bytes: Option<NumberPosition>,
    pub(crate) saved_bytes: Option<NumberPosition>,
    pub(crate) flushed_bytes: Option<NumberPosition>,
    pub(crate) auto_flush: Option<NumberPosition>,
    /// `fNClusterRange`, and the arrays that it counts.
    pub(crate) clusters: Option<(usize, Range<usize>)>,
    pub(crate) branches: PointerArray,
    pub(crate) leaves: PointerArray,
    /// `fTreeIndex`.
    pub(crate) index: Option<Pointer>,
    pub(crate) branch_ref: Option<Pointer>,
}

/// How the three tables of a branch are stored (root-io-spec TBranch §4, §13).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum TableLayout {
    /// No tables: the branch has no baskets of its own (`TBranchClones`).
    #[default]
    None,
    /// Class version 10 and later.
    Long,
    /// Class versions 6 to 9.
    Int,
    /// Earlier class versions, with `fBasketBytes` and `fBasketSeek` if the fields are true.
    First { bytes: bool, seek: bool },
}
