//! The record of a new tree: `TTree`, its branches and leaves (root-io-spec WritingTrees §3-4).

use super::shape::BranchShape;
use sapwood_core::Result;
use sapwood_tfile::write::RecordBuffer;
use std::collections::{HashMap, HashSet};

/// `TObject::kMustCleanup`, which trees have.
const MUST_CLEANUP: u32 = 1 << 3;
/// `TBranch::kDoNotUseBufferMap`.
const NO_BUFFER_MAP: u32 = 1 << 22;
/// ROOT's defaults.
const DEFAULT_AUTO_SAVE: i64 = -300_000_000;
const DEFAULT_AUTO_FLUSH: i64 = -30_000_000;
const MANY_ENTRIES: i64 = 1_000_000_000_000;
/// Minimum length of the lists of baskets.
const MIN_BASKETS: usize = 10;

/// A basket in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedBasket {
    pub(super) offset: u64,
    /// Bytes of the record.
    pub(super) bytes: u32,
    pub(super) first_entry: u64,
}

/// The state of one branch, as stored in the record.
#[derive(Debug)]
pub(super) struct BranchState<'a> {
    pub(super) shape: BranchShape,
    pub(super) baskets: &'a [PlacedBasket],
    /// Bytes of all baskets with their keys, before and after compression.
    pub(super) total_bytes: u64,
    pub(super) zip_bytes: u64,
    /// The largest count, or the length of the longest string plus 1.
    pub(super) maximum: u64,
    /// True if it counts the items of other branches.
    pub(super) counts: bool,
}

/// The state of the tree, as stored in the record.
#[derive(Debug)]
pub(super) struct TreeState<'a> {
    pub(super) name: &'a str,
    pub(super) title: &'a str,
    pub(super) entries: u64,
    /// Entries per cluster, if a cluster has ended.
    pub(super) cluster: Option<u64>,
    pub(super) branches: Vec<BranchState<'a>>,
}

/// The IDs of branches and leaves in the record, by index of the branch.
struct ObjectIds {
    branches: Vec<u32>,
    leaves: Vec<Option<u32>>,
    /// The branches directly under each, and at the top.
    below: HashMap<Option<usize>, Vec<usize>>,
}

/// Writes the payload of the tree's record.
pub(super) fn put(buffer: &mut RecordBuffer, tree: &TreeState<'_>) {
    let sum = |bytes: fn(&BranchState<'_>) -> u64| tree.branches.iter().map(bytes).sum::<u64>();
    let (total, zipped) = (sum(|branch| branch.total_bytes), sum(|branch| branch.zip_bytes));
    buffer.object(20, |buffer| {
        buffer.tnamed(tree.name, tree.title, MUST_CLEANUP);
        buffer.object(2, |buffer| [602, 1, 1].into_iter().for_each(|value| buffer.i16(value))); // TAttLine
        fill_attributes(buffer);
        buffer.object(3, |buffer| {
            buffer.i16(1); // TAttMarker
            buffer.i16(1);
            buffer.f32(1.0);
        });
        buffer.u64(tree.entries);
        buffer.u64(total);
        buffer.u64(zipped);
        buffer.i64(0); // fSavedBytes
        buffer.u64(if tree.cluster.is_some() { zipped } else { 0 }); // fFlushedBytes
        buffer.f64(1.0); // fWeight
        buffer.i32(0); // fTimerInterval
        buffer.i32(25); // fScanField
        buffer.i32(0); // fUpdate
        buffer.i32(1000); // fDefaultEntryOffsetLen
        buffer.i32(0); // fNClusterRange
        buffer.i64(MANY_ENTRIES); // fMaxEntries
        buffer.i64(MANY_ENTRIES); // fMaxEntryLoop
        buffer.i64(0); // fMaxVirtualSize
        buffer.i64(DEFAULT_AUTO_SAVE);
        buffer.i64(tree.cluster.map_or(DEFAULT_AUTO_FLUSH, |entries| entries as i64)); // fAutoFlush
        buffer.i64(1_000_000); // fEstimate
        buffer.u8(0); // fClusterRangeEnd
        buffer.u8(0); // fClusterSize
        io_features(buffer);
        let count = tree.branches.len();
        let mut below: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
        for (place, branch) in tree.branches.iter().enumerate() {
            below.entry(branch.shape.above).or_default().push(place);
        }
        let mut known = ObjectIds { branches: vec![0; count], leaves: vec![None; count], below };
        branch_slots(buffer, tree, None, &mut known);
        let leaves: Vec<u32> = known.leaves.into_iter().flatten().collect();
        buffer.tobjarray(leaves.len(), |buffer| leaves.iter().for_each(|leaf| buffer.reference(*leaf)));
        buffer.null(); // fAliases
        buffer.i32(0); // fIndexValues
        buffer.i32(0); // fIndex
        (0..4).for_each(|_| buffer.null()); // fTreeIndex, fFriends, fUserInfo, fBranchRef
    });
}

/// The payload of the record of a tree with these branches, and no entries.
///
/// # Errors
/// `Limit` if it is too long.
pub(crate) fn shapes_record(shapes: Vec<BranchShape>) -> Result<Vec<u8>> {
    let counts: HashSet<usize> = shapes.iter().filter_map(|shape| shape.counter).collect();
    let branches = shapes.into_iter().enumerate().map(|(place, shape)| BranchState {
        shape,
        baskets: &[],
        total_bytes: 0,
        zip_bytes: 0,
        maximum: 0,
        counts: counts.contains(&place),
    });
    let tree = TreeState { name: "", title: "", entries: 0, cluster: None, branches: branches.collect() };
    let mut buffer = RecordBuffer::new(0);
    put(&mut buffer, &tree);
    buffer.finish()
}

/// `TAttFill`.
fn fill_attributes(buffer: &mut RecordBuffer) {
    buffer.object(2, |buffer| {
        buffer.i16(0);
        buffer.i16(1001);
    });
}

/// `ROOT::TIOFeatures`, a class without a version, followed by its checksum (WritingTrees §3.2).
fn io_features(buffer: &mut RecordBuffer) {
    buffer.object(0, |buffer| {
        buffer.u32(0x1aa1_2f10);
        buffer.u8(0);
    });
}

/// Writes the branches directly under another one, or at the top.
fn branch_slots(
    buffer: &mut RecordBuffer,
    tree: &TreeState<'_>,
    above: Option<usize>,
    known: &mut ObjectIds,
) {
    let below = known.below.remove(&above).unwrap_or_default();
    buffer.tobjarray(below.len(), |buffer| {
        for place in below {
            if let Some(branch) = tree.branches.get(place) {
                branch_slot(buffer, tree, (place, branch), known);
            }
        }
    });
}

/// Writes a pointer to a branch, and the branch.
fn branch_slot(
    buffer: &mut RecordBuffer,
    tree: &TreeState<'_>,
    (place, branch): (usize, &BranchState<'_>),
    known: &mut ObjectIds,
) {
    if let Some(class) = &branch.shape.object_class {
        buffer.slot("TBranchObject", |buffer| {
            buffer.object(1, |buffer| {
                plain_branch(buffer, tree, (place, branch), known);
                buffer.tstring(class);
            });
        });
        return;
    }
    let Some(element) = &branch.shape.element else {
        buffer.slot("TBranch", |buffer| plain_branch(buffer, tree, (place, branch), known));
        return;
    };
    buffer.slot_known_as("TBranchElement", |buffer, id| {
        if let Some(place) = known.branches.get_mut(place) {
            *place = id;
        }
        buffer.object(10, |buffer| {
            plain_branch(buffer, tree, (place, branch), known);
            buffer.tstring(&element.class_name);
            buffer.tstring(&element.parent_name);
            buffer.tstring(&element.clones_name);
            buffer.u32(element.checksum);
            buffer.i16(element.version);
            buffer.i32(element.id);
            buffer.i32(element.kind);
            buffer.i32(element.streamer_type);
            buffer.u32(if branch.counts { branch.maximum as u32 } else { 0 }); // fMaximum
            // fBranchCount, fBranchCount2
            for counter in [branch.shape.counter, branch.shape.counter_of_items] {
                match counter.and_then(|counter| known.branches.get(counter)) {
                    Some(branch) => buffer.reference(*branch),
                    None => buffer.null(),
                }
            }
        });
    });
}

/// `TBranch`.
fn plain_branch(
    buffer: &mut RecordBuffer,
    tree: &TreeState<'_>,
    (place, branch): (usize, &BranchState<'_>),
    known: &mut ObjectIds,
) {
    let (shape, baskets) = (&branch.shape, branch.baskets);
    let max_baskets = (baskets.len() + 1).max(MIN_BASKETS);
    let own_entries = if shape.has_entries { tree.entries } else { 0 };
    buffer.object(13, |buffer| {
        buffer.tnamed(&shape.name, &shape.title, if shape.uses_map { 0 } else { NO_BUFFER_MAP });
        fill_attributes(buffer);
        buffer.i32(shape.compression);
        buffer.u32(shape.basket_size);
        buffer.i32(if shape.is_fixed { 0 } else { 1000 }); // fEntryOffsetLen
        buffer.count(baskets.len()); // fWriteBasket
        buffer.u64(own_entries); // fEntryNumber
        io_features(buffer);
        buffer.count(shape.offset); // fOffset
        buffer.count(max_baskets);
        buffer.i32(shape.element.as_ref().map_or(0, |element| element.split_level));
        buffer.u64(tree.entries);
        buffer.u64(0); // fFirstEntry
        buffer.u64(branch.total_bytes);
        buffer.u64(branch.zip_bytes);
        branch_slots(buffer, tree, Some(place), known);
        buffer.tobjarray(usize::from(shape.leaf.is_some()), |buffer| {
            if shape.leaf.is_some() {
                leaf(buffer, tree, place, known);
            }
        });
        let slots = if baskets.is_empty() { 0 } else { baskets.len() + 1 };
        buffer.tobjarray(slots, |buffer| (0..slots).for_each(|_| buffer.null())); // fBaskets
        let padding = max_baskets - baskets.len();
        buffer.u8(1); // fBasketBytes
        baskets.iter().for_each(|basket| buffer.u32(basket.bytes));
        (0..padding).for_each(|_| buffer.u32(0));
        buffer.u8(1); // fBasketEntry
        baskets.iter().for_each(|basket| buffer.u64(basket.first_entry));
        buffer.u64(own_entries);
        (1..padding).for_each(|_| buffer.u64(0));
        buffer.u8(1); // fBasketSeek
        baskets.iter().for_each(|basket| buffer.u64(basket.offset));
        (0..padding).for_each(|_| buffer.u64(0));
        buffer.tstring(""); // fFileName
    });
}

/// Writes a pointer to a leaf, with the leaf unless it is already in the record.
fn leaf(buffer: &mut RecordBuffer, tree: &TreeState<'_>, place: usize, known: &mut ObjectIds) {
    if let Some(Some(id)) = known.leaves.get(place) {
        return buffer.reference(*id);
    }
    let Some(branch) = tree.branches.get(place) else { return buffer.null() };
    let Some(shape) = &branch.shape.leaf else { return buffer.null() };
    let id = buffer.slot(shape.class, |buffer| {
        let is_of_object = branch.shape.object_class.is_some();
        buffer.object(if is_of_object { 4 } else { 1 }, |buffer| {
            buffer.object(2, |buffer| {
                buffer.tnamed(&shape.name, &shape.title, 0);
                buffer.count(shape.len.unwrap_or(branch.maximum.max(1) as usize));
                buffer.count(shape.len_type);
                buffer.i32(0); // fOffset
                // ROOT does not set it for unsplit vectors.
                buffer.bool(branch.counts && (shape.letter.is_some() || branch.shape.above.is_some())); // fIsRange
                buffer.bool(shape.unsigned);
                match shape.counter {
                    // The counter of a split vector is written here, before its own branch (root-io-spec
                    // TBranchElement §4).
                    Some(counter) => leaf(buffer, tree, counter, known),
                    None => buffer.null(),
                }
            });
            match shape.letter {
                Some(letter) => extremes(buffer, branch, letter),
                // The class of the object is in each entry: fVirtual.
                None if is_of_object => buffer.bool(true),
                None => {
                    let element = branch.shape.element.as_ref();
                    buffer.i32(element.map_or(-1, |element| element.id));
                    buffer.i32(element.map_or(-1, |element| element.streamer_type));
                }
            }
        });
    });
    if let Some(leaf) = known.leaves.get_mut(place) {
        *leaf = Some(id);
    }
}

/// `fMinimum` and `fMaximum`; the latter determines how many items ROOT allocates (WritingTrees §4.4).
fn extremes(buffer: &mut RecordBuffer, branch: &BranchState<'_>, letter: char) {
    let maximum = if branch.counts || letter == 'C' { branch.maximum.max(1) } else { 0 };
    match letter {
        'O' => buffer.u16(0),
        'B' | 'b' => {
            buffer.u8(0);
            buffer.u8(maximum as u8);
        }
        'S' | 's' => {
            buffer.u16(0);
            buffer.u16(maximum as u16);
        }
        'I' | 'i' | 'C' => {
            buffer.u32(0);
            buffer.u32(maximum as u32);
        }
        'L' | 'l' => {
            buffer.u64(0);
            buffer.u64(maximum);
        }
        'F' => buffer.u64(0),
        _ => {
            buffer.u64(0);
            buffer.u64(0);
        }
    }
}
