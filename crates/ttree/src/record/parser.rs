//! What the parsing of one tree's record has met so far.

use super::positions::{BranchOutline, Maximum};
use crate::meta::{Baskets, Branch, BranchKind, Leaf};
use bytes::Bytes;
use sapwood_core::{Error, Result};
use sapwood_tfile::{Pointer, StreamerInfos};

/// The index of a leaf that the record does not hold.
const MISSING: usize = usize::MAX;
/// No branch has fewer bytes than this.
const SMALLEST_BRANCH: usize = 64;

/// The branches and leaves of a record, in the order in which they were met: an object may be met inside
/// another one that refers to it, before the branch that owns it.
#[derive(Debug)]
pub(super) struct Parser<'a> {
    /// The record's payload.
    pub(super) payload: &'a Bytes,
    /// Bounds all offsets.
    pub(super) file_size: u64,
    /// The members of classes whose layout is not written here.
    pub(super) streamers: &'a StreamerInfos,
    /// All branches met.
    pub(super) nodes: Vec<Node>,
    /// All leaves met; none where a leaf cannot be read.
    pub(super) leaves: Vec<Option<LeafRecord>>,
    /// The positions that references to branches and leaves name: they rise, as a walk never goes back.
    nodes_at: Vec<usize>,
    leaves_at: Vec<usize>,
}

/// A branch whose relatives are known by reference.
#[derive(Debug)]
pub(super) struct Node {
    /// The branch; its leaves, indices and path are still to be filled in.
    pub(super) branch: Branch,
    /// Indices of the sub-branches in [`Parser::nodes`].
    pub(super) children: Vec<usize>,
    /// Indices of the leaves in [`Parser::leaves`]; [`MISSING`] for one that is not there.
    pub(super) leaves: Vec<usize>,
    /// Indices of `fBranchCount` and `fBranchCount2` in [`Parser::nodes`].
    pub(super) counts: [Option<usize>; 2],
    /// Where the members stand, if the walk notes it.
    pub(super) outline: Option<Box<BranchOutline>>,
}

/// A leaf whose count leaf is known by reference.
#[derive(Debug)]
pub(super) struct LeafRecord {
    pub(super) leaf: Leaf,
    /// Index of the count leaf in [`Parser::leaves`]; [`MISSING`] if it is not there.
    pub(super) count: Option<usize>,
    /// Its `fMaximum`, if it has one that says how many items an entry can have.
    pub(super) maximum: Option<Maximum>,
}

impl<'a> Parser<'a> {
    /// A parser that has met nothing.
    pub(super) fn new(payload: &'a Bytes, file_size: u64, streamers: &'a StreamerInfos) -> Self {
        Parser {
            payload,
            file_size,
            streamers,
            nodes: Vec::new(),
            leaves: Vec::new(),
            nodes_at: Vec::new(),
            leaves_at: Vec::new(),
        }
    }

    /// Adds a branch of which only the class is known.
    pub(super) fn add_node(&mut self, at: usize, class_name: &str) -> Result<usize> {
        if self.nodes.len() > self.payload.len() / SMALLEST_BRANCH {
            return Err(Error::corrupt("the record announces more branches than it can hold"));
        }
        let kind = match class_name {
            "TBranch" => BranchKind::Plain,
            other => BranchKind::Other(other.to_owned()),
        };
        self.nodes.push(Node {
            branch: Branch {
                name: String::new(),
                path: String::new(),
                title: String::new(),
                parent: None,
                children: Vec::new(),
                kind,
                entries: 0,
                first_entry: 0,
                entry_offset_len: 0,
                compression: -1,
                basket_size: 0,
                split_level: 0,
                total_bytes: 0,
                zip_bytes: 0,
                file_name: String::new(),
                io_bits: 0,
                leaves: Vec::new(),
                baskets: Baskets::from(Vec::new()),
                broken: None,
            },
            children: Vec::new(),
            leaves: Vec::new(),
            counts: [None; 2],
            outline: None,
        });
        self.nodes_at.push(at);
        Ok(self.nodes.len() - 1)
    }

    /// The index of the branch that a pointer points at, if it was met.
    pub(super) fn node_at(&self, pointer: &Pointer) -> Option<usize> {
        self.nodes_at.binary_search(&pointer.object_at()?).ok()
    }

    /// Adds a leaf that is still to be read: its index.
    pub(super) fn add_leaf(&mut self, at: usize) -> usize {
        self.leaves_at.push(at);
        self.leaves.push(None);
        self.leaves.len() - 1
    }

    /// The index of the leaf that a pointer points at, if that is not null; [`MISSING`] if it was not met.
    pub(super) fn leaf_at(&self, pointer: &Pointer) -> Option<usize> {
        Some(self.leaves_at.binary_search(&pointer.object_at()?).unwrap_or(MISSING))
    }

    /// A branch that was met.
    pub(super) fn node(&mut self, node: usize) -> Result<&mut Node> {
        self.nodes.get_mut(node).ok_or_else(|| Error::corrupt("a branch is missing"))
    }
}
