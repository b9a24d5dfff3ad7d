//! A tree's metadata: its branches, leaves and baskets.

use bytes::Bytes;
use sapwood_core::Primitive;
use std::ops::Deref;

/// A tree: its entries and its branches.
#[derive(Debug, Clone)]
pub struct TTree {
    /// Class on file: `TTree`, `TNtuple`, `TNtupleD` or a class derived from them.
    pub class_name: String,
    /// Name.
    pub name: String,
    /// Title.
    pub title: String,
    /// Number of entries.
    pub entries: u64,
    /// Bytes of all branches before compression, as the writer counted them.
    pub total_bytes: u64,
    /// Bytes of all branches after compression, as the writer counted them.
    pub zip_bytes: u64,
    /// First entries of the clusters, then `entries`; empty if the writer recorded none
    /// (derive them from the baskets then). Strictly rising.
    pub cluster_starts: Vec<u64>,
    /// `TTree::fAliases`: name and expression.
    pub aliases: Vec<(String, String)>,
    /// `TTree::fFriends`.
    pub friends: Vec<Friend>,
    /// All branches, depth first in file order: a branch precedes its sub-branches.
    pub branches: Vec<Branch>,
    /// The branch of `fBranchRef`, which locates objects behind references and is not listed as a branch of the tree.
    /// Indices continue those of `branches`.
    pub hidden: Vec<Branch>,
}

/// A tree whose entries extend those of another (`TFriendElement`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Friend {
    /// Its name: an alias, or that of the tree.
    pub name: String,
    /// The file that holds it, as its writer named it; empty for the same file.
    pub file: String,
    /// The path of the tree in that file.
    pub tree: String,
}

/// One branch, with everything needed to find and decode its data.
#[derive(Debug, Clone, Default)]
pub struct Branch {
    /// `TBranch::fName`, as on file.
    pub name: String,
    /// Names from the tree down, joined with `/`. A repeated path gets `#2`, `#3`, … at its end.
    pub path: String,
    /// `TBranch::fTitle`.
    pub title: String,
    /// Index of the parent in [`TTree::branches`].
    pub parent: Option<usize>,
    /// Indices of the sub-branches in [`TTree::branches`].
    pub children: Vec<usize>,
    /// `TBranch`, `TBranchElement`, `TBranchObject`, `TBranchClones`, `TBranchRef`, …
    pub kind: BranchKind,
    /// Entries in the branch (may be fewer than in the tree).
    pub entries: u64,
    /// First entry of the branch.
    pub first_entry: u64,
    /// `fEntryOffsetLen`: non-zero if baskets carry a table of entry offsets.
    pub entry_offset_len: i32,
    /// True if the record states 0 for it, although baskets carry tables: ROOT misreads such a branch. uproot states the
    /// length of the table in the last basket, which is 0 if the last array of a tree is empty.
    pub hides_offsets: bool,
    /// `fCompress`: algorithm × 100 + level; -1 for the setting of the file.
    pub compression: i32,
    /// `fBasketSize`.
    pub basket_size: u32,
    /// `fSplitLevel`.
    pub split_level: i32,
    /// Bytes before compression, as the writer counted them (`fTotBytes`).
    pub total_bytes: u64,
    /// Bytes after compression, as the writer counted them (`fZipBytes`).
    pub zip_bytes: u64,
    /// `fFileName`, not empty if baskets lie in another file.
    pub file_name: String,
    /// `fIOFeatures` bits.
    pub io_bits: u8,
    /// Leaves in file order.
    pub leaves: Vec<Leaf>,
    /// Baskets that hold entries, in the order of their entries; checked to be inside the file and in
    /// ascending order. Empty in a broken branch.
    pub baskets: Baskets,
    /// Why the branch cannot be read, if its part of the record is damaged or unknown. Other fields are
    /// filled in as far as possible.
    pub broken: Option<String>,
}

/// The class of a branch, and the members specific to it.
#[derive(Debug, Clone, Default)]
pub enum BranchKind {
    /// `TBranch`: leaves of numbers or strings.
    #[default]
    Plain,
    /// `TBranchElement`: an object, a member of one, or a split collection.
    Element(BranchElement),
    /// `TBranchObject`: an unsplit object that carries its class name in each entry.
    Object {
        /// The class.
        class_name: String,
    },
    /// Any other class of branch (`TBranchClones`, `TBranchRef`, `TBranchSTL`), by its name.
    Other(String),
}

/// Members of `TBranchElement`.
#[derive(Debug, Clone)]
pub struct BranchElement {
    /// `fClassName`: the class that the streamer element `id` belongs to.
    pub class_name: String,
    /// `fParentName`.
    pub parent_name: String,
    /// `fClonesName`: class of the items of a TClonesArray or STL collection.
    pub clones_name: String,
    /// `fCheckSum` of the class.
    pub checksum: u32,
    /// `fClassVersion`.
    pub class_version: i32,
    /// `fID`: index of the element in the class's streamer info; -1 top level, -2 a split object's own branch.
    pub id: i32,
    /// `fType`: 0 leaf, 1 base, 2 object, 3 TClonesArray master, 31 its member, 4 STL master, 41 its member.
    pub element_type: i32,
    /// `fStreamerType`: element type code of the data, -1 if none.
    pub streamer_type: i32,
    /// `fMaximum`: the largest number of items for collections.
    pub maximum: i32,
    /// Index of the `fBranchCount` branch in [`TTree::branches`].
    pub branch_count: Option<usize>,
    /// Index of the `fBranchCount2` branch in [`TTree::branches`].
    pub branch_count2: Option<usize>,
}

/// A leaf.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// `fName`.
    pub name: String,
    /// `fTitle`, with dimensions in brackets: `x[n][3]`.
    pub title: String,
    /// The leaf's class, as a number type.
    pub kind: LeafKind,
    /// `fLen`: items per entry (per item of the count leaf); product of all fixed dimensions.
    pub len: i32,
    /// `fLenType`: bytes per item.
    pub len_type: i32,
    /// `fIsUnsigned`.
    pub unsigned: bool,
    /// The leaf count: (branch index in [`TTree::branches`], leaf index in that branch).
    pub count: Option<(usize, usize)>,
    /// The largest value seen by the writer, where the class records it (string length, counter).
    pub maximum: i64,
}

/// Classes of leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeafKind {
    /// `TLeafO`.
    Bool,
    /// `TLeafB`.
    I8,
    /// `TLeafS`.
    I16,
    /// `TLeafI`.
    I32,
    /// `TLeafL` and, eight bytes on file, `TLeafG`.
    I64,
    /// `TLeafF`.
    F32,
    /// `TLeafD`.
    F64,
    /// `TLeafF16`; the range is in the leaf's title (`x[0,10,12]/f`).
    Float16,
    /// `TLeafD32`; the range is in the leaf's title.
    Double32,
    /// `TLeafC`.
    Text,
    /// `TLeafElement`: described by the streamer information.
    Element {
        /// `fID`.
        id: i32,
        /// `fType`: element type code.
        element_type: i32,
    },
    /// `TLeafObject`.
    Object,
    /// Any other class, by its name.
    Other(String),
}

impl Leaf {
    /// The type of its numbers; `None` if it holds packed numbers, or something else.
    pub fn primitive(&self) -> Option<Primitive> {
        let signed = |signed, unsigned| if self.unsigned { unsigned } else { signed };
        Some(match self.kind {
            LeafKind::Bool => Primitive::Bool,
            LeafKind::I8 => signed(Primitive::I8, Primitive::U8),
            LeafKind::I16 => signed(Primitive::I16, Primitive::U16),
            LeafKind::I32 => signed(Primitive::I32, Primitive::U32),
            LeafKind::I64 => signed(Primitive::I64, Primitive::U64),
            LeafKind::F32 => Primitive::F32,
            LeafKind::F64 => Primitive::F64,
            _ => return None,
        })
    }
}

/// The baskets of a branch, if the tree's record locates them.
///
/// ```
/// use sapwood_ttree::Baskets;
/// let elsewhere = Baskets::default();
/// assert!(elsewhere.is_empty() && !elsewhere.are_recorded());
/// assert!(Baskets::from(Vec::new()).are_recorded());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Baskets(Option<Vec<BasketRef>>);

impl Baskets {
    /// True if the record locates them, even if there are none.
    pub fn are_recorded(&self) -> bool {
        self.0.is_some()
    }
}

impl From<Vec<BasketRef>> for Baskets {
    fn from(baskets: Vec<BasketRef>) -> Baskets {
        Baskets(Some(baskets))
    }
}

impl Deref for Baskets {
    type Target = [BasketRef];

    fn deref(&self) -> &[BasketRef] {
        self.0.as_deref().unwrap_or_default()
    }
}

/// The position of one basket.
#[derive(Debug, Clone)]
pub struct BasketRef {
    /// First entry.
    pub first_entry: u64,
    /// Number of entries.
    pub entries: u64,
    /// Offset of the record in the file; 0 for an embedded basket.
    pub offset: u64,
    /// Bytes of the record (key header and payload, compressed); 0 for an embedded basket.
    pub len: u64,
    /// The basket itself if it is stored inside the tree's record: key, basket header and plain data, exactly
    /// as in the record.
    pub embedded: Option<Bytes>,
}

impl BasketRef {
    /// One past the last entry.
    pub fn end(&self) -> u64 {
        self.first_entry.saturating_add(self.entries)
    }

    /// Bytes that it takes in the file or in the tree's record.
    pub fn size(&self) -> u64 {
        self.embedded.as_ref().map_or(self.len, |embedded| embedded.len() as u64)
    }
}

impl TTree {
    /// All branches in the record: [`branches`](TTree::branches), then [`hidden`](TTree::hidden) ones.
    pub fn stored_branches(&self) -> impl Iterator<Item = &Branch> + Clone {
        self.branches.iter().chain(&self.hidden)
    }

    /// The branch with an index in [`stored_branches`](TTree::stored_branches).
    pub fn stored_branch(&self, index: usize) -> Option<&Branch> {
        let hidden = index.checked_sub(self.branches.len());
        hidden.map_or_else(|| self.branches.get(index), |hidden| self.hidden.get(hidden))
    }
}

impl Branch {
    /// Indices in [`TTree::branches`] of the branches that count the items of this one, which may be the branch itself.
    pub fn counters(&self) -> impl Iterator<Item = usize> {
        let (first, second) = match &self.kind {
            BranchKind::Element(element) => (element.branch_count, element.branch_count2),
            _ => (None, None),
        };
        let leaves = self.leaves.iter().filter_map(|leaf| leaf.count);
        leaves.map(|(branch, _)| branch).chain(first).chain(second)
    }
}
