//! The branches and leaves found so far while parsing a tree's record.

use super::positions::{BranchOutline, Maximum};
use crate::meta::{Baskets, Branch, BranchKind, Leaf};
use bytes::Bytes;
use sapwood_core::{Error, Result};
use sapwood_tfile::{Pointer, StreamerInfos};

/// The index of a leaf that is not in the record.
const MISSING: usize = usize::MAX;
/// Minimum size of a branch.
const SMALLEST_BRANCH: usize = 64;

/// The branches and leaves of a record in the order of their positions: an object can be inside one that
/// refers to it, before the branch that owns it.
#[derive(Debug)]
pub(super) struct Parser<'a> {
    /// The record's payload.
    pub(super) payload: &'a Bytes,
    /// Upper bound of all offsets.
    pub(super) file_size: u64,
    /// Describes classes whose layout is not built in.
    pub(super) streamers: &'a StreamerInfos,
    /// All branches.
    pub(super) nodes: Vec<Node>,
    /// All leaves; `None` if a leaf cannot be read.
    pub(super) leaves: Vec<Option<LeafRecord>>,
    /// The positions by which references name branches and leaves, in ascending order, as a walk never goes
    /// back.
    nodes_at: Vec<usize>,
    leaves_at: Vec<usize>,
}

/// A branch whose relatives are still references.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The branch, without its leaves, indices and path.
    pub(super) branch: Branch,
    /// Indices of the sub-branches in [`Parser::nodes`].
    pub(super) children: Vec<usize>,
    /// Indices of the leaves in [`Parser::leaves`]; [`MISSING`] for a missing leaf.
    pub(super) leaves: Vec<usize>,
    /// Indices of `fBranchCount` and `fBranchCount2` in [`Parser::nodes`].
    pub(super) counts: [Option<usize>; 2],
    /// The positions of its members, for an outline.
    pub(super) outline: Option<Box<BranchOutline>>,
}

/// A leaf whose count leaf is still a reference.
#[derive(Debug)]
pub(super) struct LeafRecord {
    pub(super) leaf: Leaf,
    /// Index of the count leaf in [`Parser::leaves`]; [`MISSING`] if it is not in the record.
    pub(super) count: Option<usize>,
    /// Its `fMaximum`, if that limits the number of items of an entry, and `fLen` if that limits the length of a text.
    pub(super) maxima: Vec<Maximum>,
}

impl<'a> Parser<'a> {
    /// A parser at the start of a record.
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

    /// Adds a branch of which only the class is known; returns its index.
    pub(super) fn add_node(&mut self, at: usize, class_name: &str) -> Result<usize> {
        if self.nodes.len() > self.payload.len() / SMALLEST_BRANCH {
            return Err(Error::corrupt("the record has more branches than it can hold"));
        }
        let kind = match class_name {
            "TBranch" => BranchKind::Plain,
            other => BranchKind::Other(other.to_owned()),
        };
        let branch =
            Branch { kind, compression: -1, baskets: Baskets::from(Vec::new()), ..Branch::default() };
        self.nodes.push(Node { branch, ..Node::default() });
        self.nodes_at.push(at);
        Ok(self.nodes.len() - 1)
    }

    /// The index of the branch that a pointer points to, if it is known.
    pub(super) fn node_at(&self, pointer: &Pointer) -> Option<usize> {
        self.nodes_at.binary_search(&pointer.object_at()?).ok()
    }

    /// Adds a leaf that has not been read yet; returns its index.
    pub(super) fn add_leaf(&mut self, at: usize) -> usize {
        self.leaves_at.push(at);
        self.leaves.push(None);
        self.leaves.len() - 1
    }

    /// The index of the leaf that a pointer points to; `None` for a null pointer, [`MISSING`] if it is
    /// unknown.
    pub(super) fn leaf_at(&self, pointer: &Pointer) -> Option<usize> {
        Some(self.leaves_at.binary_search(&pointer.object_at()?).unwrap_or(MISSING))
    }

    /// The branch with an index.
    pub(super) fn node(&mut self, node: usize) -> Result<&mut Node> {
        self.nodes.get_mut(node).ok_or_else(|| Error::corrupt("a branch is missing"))
    }
}
