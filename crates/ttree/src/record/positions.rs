//! Where the members of a tree and its branches stand in its record.

use bytes::Bytes;
use sapwood_core::Result;
use sapwood_tfile::{Outline, Pointer, Walker};
use std::ops::Range;

/// A tree's record, and where its members stand in it, so that it can be written again with other numbers. This works for
/// branches that cannot be decoded, too.
#[derive(Debug, Clone)]
pub struct TreeOutline {
    /// The record, and behind it those of the trees whose branches were grafted on it.
    pub(crate) payload: Bytes,
    /// Length of its own record.
    pub(crate) len: usize,
    pub(crate) class_name: String,
    pub(crate) key_len: u32,
    pub(crate) outline: Outline,
    pub(crate) tree: TreePositions,
    pub(crate) grafted: Vec<TreePositions>,
    /// All branches, as in [`TTree::stored_branches`](crate::TTree::stored_branches).
    pub branches: Vec<BranchOutline>,
}

/// Where the members of a branch stand.
#[derive(Debug, Clone, Default)]
pub struct BranchOutline {
    /// `fMaximum` of the branch and of its leaves, where they have one: the largest number of items in an entry of this
    /// branch, or of those that it counts.
    pub maxima: Vec<Maximum>,
    /// Where references to the branch point.
    pub(crate) at: usize,
    pub(crate) compression: usize,
    pub(crate) basket_size: usize,
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

/// An `fMaximum`: readers take no more items than it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Maximum {
    pub(crate) at: usize,
    pub(crate) width: usize,
    /// Its value.
    pub value: i64,
}

/// Where a number stands.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NumberPosition {
    I32(usize),
    I64(usize),
    F64(usize),
}

/// An array of pointers: where the number of pointers stands, and the pointers.
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

/// Where the members of a tree stand.
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
