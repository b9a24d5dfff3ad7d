//! The record of a fresh tree: `TTree`, its branches and leaves (root-io-spec WritingTrees §3-4).

use super::schema::{BranchSpec, Storage};
use sapwood_core::Primitive;
use sapwood_tfile::write::Buffer;

/// `TObject::kMustCleanup`, which trees have.
const MUST_CLEANUP: u32 = 1 << 3;
/// `TBranch::kDoNotUseBufferMap`.
const NO_BUFFER_MAP: u32 = 1 << 22;
/// What ROOT sets where nobody says anything else.
const DEFAULT_AUTO_SAVE: i64 = -300_000_000;
const DEFAULT_AUTO_FLUSH: i64 = -30_000_000;
const MANY_ENTRIES: i64 = 1_000_000_000_000;
/// What ROOT calls a split level that is not limited; it has no meaning for branches that cannot be split.
const ALL_LEVELS: i32 = 99;
/// The least length of the lists of baskets.
const MIN_BASKETS: usize = 10;

/// A basket that lies in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedBasket {
    pub(super) offset: u64,
    /// Bytes of the record.
    pub(super) bytes: u32,
    pub(super) first_entry: u64,
}

/// All that the record says of one branch.
#[derive(Debug)]
pub(super) struct BranchState<'a> {
    pub(super) spec: &'a BranchSpec,
    pub(super) baskets: &'a [PlacedBasket],
    /// Bytes of all baskets with their keys, before compression and after.
    pub(super) total_bytes: u64,
    pub(super) zip_bytes: u64,
    /// The greatest count, or the longest string and 1.
    pub(super) maximum: u64,
    /// True if other branches take the number of their items from this one.
    pub(super) counts: bool,
}

/// All that the record says of the tree.
#[derive(Debug)]
pub(super) struct TreeState<'a> {
    pub(super) name: &'a str,
    pub(super) title: &'a str,
    pub(super) entries: u64,
    /// Entries per cluster, if a cluster has ended.
    pub(super) cluster: Option<u64>,
    pub(super) branches: Vec<BranchState<'a>>,
}

/// Writes the payload of the tree's record.
pub(super) fn put(buffer: &mut Buffer, tree: &TreeState<'_>) {
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
        let mut leaves = Vec::with_capacity(tree.branches.len());
        buffer.tobjarray(tree.branches.len(), |buffer| {
            for branch in &tree.branches {
                leaves.push(branch_slot(buffer, tree, branch, &leaves));
            }
        });
        buffer.tobjarray(leaves.len(), |buffer| leaves.iter().for_each(|leaf| buffer.reference(*leaf)));
        buffer.null(); // fAliases
        buffer.i32(0); // fIndexValues
        buffer.i32(0); // fIndex
        (0..4).for_each(|_| buffer.null()); // fTreeIndex, fFriends, fUserInfo, fBranchRef
    });
}

/// `TAttFill`.
fn fill_attributes(buffer: &mut Buffer) {
    buffer.object(2, |buffer| {
        buffer.i16(0);
        buffer.i16(1001);
    });
}

/// `ROOT::TIOFeatures`, a class without version: its checksum follows (WritingTrees §3.2).
fn io_features(buffer: &mut Buffer) {
    buffer.object(0, |buffer| {
        buffer.u32(0x1aa1_2f10);
        buffer.u8(0);
    });
}

/// Writes a branch behind a pointer; gives what references to its leaf name.
fn branch_slot(buffer: &mut Buffer, tree: &TreeState<'_>, branch: &BranchState<'_>, leaves: &[u32]) -> u32 {
    let mut leaf = 0;
    match branch.spec.storage.class_name() {
        None => {
            buffer.slot("TBranch", |buffer| leaf = plain_branch(buffer, tree, branch, leaves));
        }
        Some(class_name) => {
            let is_string = branch.spec.storage == Storage::StdString;
            buffer.slot("TBranchElement", |buffer| {
                buffer.object(10, |buffer| {
                    leaf = plain_branch(buffer, tree, branch, leaves);
                    buffer.tstring(&class_name);
                    buffer.tstring(""); // fParentName
                    buffer.tstring(""); // fClonesName
                    buffer.u32(if is_string { STRING_CHECKSUM } else { name_checksum(&class_name) });
                    buffer.i16(if is_string { 2 } else { 6 }); // fClassVersion
                    buffer.i32(-1); // fID: a whole object
                    buffer.i32(if is_string { -1 } else { 0 }); // fType
                    buffer.i32(-1); // fStreamerType
                    buffer.i32(0); // fMaximum
                    buffer.null(); // fBranchCount
                    buffer.null(); // fBranchCount2
                });
            });
        }
    }
    leaf
}

/// The checksum of `std::string`.
const STRING_CHECKSUM: u32 = 0x6e6f_1604;

/// The checksum of a collection, which is made from its name alone (root-io-spec StreamerInfo §11).
fn name_checksum(class_name: &str) -> u32 {
    class_name.bytes().fold(0, |sum: u32, byte| sum.wrapping_mul(3).wrapping_add(u32::from(byte)))
}

/// `TBranch`; gives what references to its leaf name.
fn plain_branch(buffer: &mut Buffer, tree: &TreeState<'_>, branch: &BranchState<'_>, leaves: &[u32]) -> u32 {
    let (spec, baskets) = (branch.spec, branch.baskets);
    let leaf_title = leaf_title(tree, spec);
    let title = match (&spec.title, leaf_class(&spec.storage)) {
        (Some(title), _) => title.clone(),
        (None, (_, Some(letter))) => format!("{leaf_title}/{letter}"),
        (None, _) => leaf_title.clone(),
    };
    let max_baskets = (baskets.len() + 1).max(MIN_BASKETS);
    let mut leaf = 0;
    buffer.object(13, |buffer| {
        buffer.tnamed(&spec.name, &title, NO_BUFFER_MAP);
        fill_attributes(buffer);
        buffer.i32(spec.compression.number());
        buffer.u32(spec.basket_size);
        buffer.i32(if spec.storage.entry_size().is_some() { 0 } else { 1000 }); // fEntryOffsetLen
        buffer.count(baskets.len()); // fWriteBasket
        buffer.u64(tree.entries); // fEntryNumber
        io_features(buffer);
        buffer.i32(0); // fOffset
        buffer.count(max_baskets);
        buffer.i32(if matches!(spec.storage, Storage::Vector(_)) { ALL_LEVELS } else { 0 }); // fSplitLevel
        buffer.u64(tree.entries);
        buffer.u64(0); // fFirstEntry
        buffer.u64(branch.total_bytes);
        buffer.u64(branch.zip_bytes);
        buffer.tobjarray(0, |_| ()); // fBranches
        buffer.tobjarray(1, |buffer| leaf = leaf_slot(buffer, branch, &leaf_title, leaves));
        let slots = if baskets.is_empty() { 0 } else { baskets.len() + 1 };
        buffer.tobjarray(slots, |buffer| (0..slots).for_each(|_| buffer.null())); // fBaskets
        let padding = max_baskets - baskets.len();
        buffer.u8(1); // fBasketBytes
        baskets.iter().for_each(|basket| buffer.u32(basket.bytes));
        (0..padding).for_each(|_| buffer.u32(0));
        buffer.u8(1); // fBasketEntry
        baskets.iter().for_each(|basket| buffer.u64(basket.first_entry));
        buffer.u64(tree.entries);
        (1..padding).for_each(|_| buffer.u64(0));
        buffer.u8(1); // fBasketSeek
        baskets.iter().for_each(|basket| buffer.u64(basket.offset));
        (0..padding).for_each(|_| buffer.u64(0));
        buffer.tstring(""); // fFileName
    });
    leaf
}

/// The leaf's name with its dimensions: `x`, `x[3]`, `x[n][2]`.
fn leaf_title(tree: &TreeState<'_>, spec: &BranchSpec) -> String {
    let mut title = spec.name.clone();
    if let Storage::Counted { counter, .. } = spec.storage
        && let Some(counter) = tree.branches.get(counter)
    {
        title += &format!("[{}]", counter.spec.name);
    }
    if let Storage::Numbers { dims, .. } | Storage::Counted { dims, .. } = &spec.storage {
        dims.iter().for_each(|dim| title += &format!("[{dim}]"));
    }
    title
}

/// The class of the leaf, and its letter in a list of leaves.
pub(super) fn leaf_class(storage: &Storage) -> (&'static str, Option<char>) {
    let (class, letter) = match storage {
        Storage::Numbers { primitive, .. } | Storage::Counted { primitive, .. } => match primitive {
            Primitive::Bool => ("TLeafO", 'O'),
            Primitive::I8 => ("TLeafB", 'B'),
            Primitive::U8 => ("TLeafB", 'b'),
            Primitive::I16 => ("TLeafS", 'S'),
            Primitive::U16 => ("TLeafS", 's'),
            Primitive::I32 => ("TLeafI", 'I'),
            Primitive::U32 => ("TLeafI", 'i'),
            Primitive::I64 => ("TLeafL", 'L'),
            Primitive::U64 => ("TLeafL", 'l'),
            Primitive::F32 => ("TLeafF", 'F'),
            Primitive::F64 => ("TLeafD", 'D'),
        },
        Storage::Text => ("TLeafC", 'C'),
        Storage::StdString | Storage::Vector(_) => return ("TLeafElement", None),
    };
    (class, Some(letter))
}

/// Writes a leaf behind a pointer; gives what references to it name.
fn leaf_slot(buffer: &mut Buffer, branch: &BranchState<'_>, title: &str, leaves: &[u32]) -> u32 {
    let storage = &branch.spec.storage;
    let (class, letter) = leaf_class(storage);
    let (len, len_type, unsigned, counter) = match storage {
        Storage::Numbers { primitive, dims } => (dims.iter().product(), primitive.size(), *primitive, None),
        Storage::Counted { primitive, dims, counter } => {
            (dims.iter().product(), primitive.size(), *primitive, Some(*counter))
        }
        Storage::Text => (branch.maximum.max(1) as usize, 1, Primitive::I8, None),
        Storage::StdString | Storage::Vector(_) => (1, 0, Primitive::I8, None),
    };
    let unsigned = matches!(unsigned, Primitive::U8 | Primitive::U16 | Primitive::U32 | Primitive::U64);
    buffer.slot(class, |buffer| {
        buffer.object(1, |buffer| {
            buffer.object(2, |buffer| {
                buffer.tnamed(&branch.spec.name, title, 0);
                buffer.count(len);
                buffer.count(len_type);
                buffer.i32(0); // fOffset
                buffer.bool(branch.counts); // fIsRange
                buffer.bool(unsigned);
                match counter.and_then(|counter| leaves.get(counter)) {
                    Some(leaf) => buffer.reference(*leaf),
                    None => buffer.null(),
                }
            });
            extremes(buffer, branch, letter);
        });
    })
}

/// `fMinimum` and `fMaximum`; ROOT makes room for as many items as the latter says (WritingTrees §4.4).
fn extremes(buffer: &mut Buffer, branch: &BranchState<'_>, letter: Option<char>) {
    let maximum = if branch.counts || letter == Some('C') { branch.maximum.max(1) } else { 0 };
    match letter {
        Some('O') => buffer.u16(0),
        Some('B' | 'b') => {
            buffer.u8(0);
            buffer.u8(maximum as u8);
        }
        Some('S' | 's') => {
            buffer.u16(0);
            buffer.u16(maximum as u16);
        }
        Some('I' | 'i' | 'C') => {
            buffer.u32(0);
            buffer.u32(maximum as u32);
        }
        Some('L' | 'l') => {
            buffer.u64(0);
            buffer.u64(maximum);
        }
        Some('F') => buffer.u64(0),
        Some(_) => {
            buffer.u64(0);
            buffer.u64(0);
        }
        None => {
            buffer.i32(-1); // fID
            buffer.i32(-1); // fType
        }
    }
}
