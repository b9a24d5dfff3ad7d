//! What the parsing of one tree's record has met so far.

use super::leaf::LeafRecord;
use super::{Baskets, Branch, BranchKind};
use bytes::Bytes;
use sapwood_core::{Error, Result};
use sapwood_tfile::StreamerInfos;
use std::collections::HashMap;

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
    /// What references name a branch, and its place in `nodes`.
    pub(super) node_of: HashMap<u64, usize>,
    /// What references name a leaf, and the leaf.
    pub(super) leaves: HashMap<u64, LeafRecord>,
}

/// A branch whose relatives are known by reference.
#[derive(Debug)]
pub(super) struct Node {
    /// The branch; its leaves, indices and path are still to be filled in.
    pub(super) branch: Branch,
    /// Places of the sub-branches in [`Parser::nodes`].
    pub(super) children: Vec<usize>,
    /// What references name the leaves.
    pub(super) leaves: Vec<u64>,
    /// What references name `fBranchCount` and `fBranchCount2`.
    pub(super) counts: [Option<u64>; 2],
}

impl<'a> Parser<'a> {
    /// A parser that has met nothing.
    pub(super) fn new(payload: &'a Bytes, file_size: u64, streamers: &'a StreamerInfos) -> Self {
        Parser {
            payload,
            file_size,
            streamers,
            nodes: Vec::new(),
            node_of: HashMap::new(),
            leaves: HashMap::new(),
        }
    }

    /// Adds a branch of which only the class is known.
    pub(super) fn add_node(&mut self, id: u64, class_name: &str) -> Result<usize> {
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
        });
        let node = self.nodes.len() - 1;
        self.node_of.insert(id, node);
        Ok(node)
    }
}
