//! Resumes an existing tree: its branches and baskets, from its record.

use super::builder::TreeBuilder;
use super::existing::ExistingRecord;
use super::record::PlacedBasket;
use super::schema::{BranchSpec, Storage, VectorItem};
use crate::{Branch, BranchKind, Leaf, LeafKind, TTree, TreeOutline};
use bytes::Bytes;
use sapwood_codec::Compression;
use sapwood_core::{Error, Primitive, Result};
use sapwood_streamer::{CppType, StoredNumber};
use sapwood_table::write::ClusterSize;
use sapwood_tfile::StreamerInfos;

impl TreeBuilder {
    /// Resumes a tree from the payload of its record, which has a key of `key_len` bytes in a file of
    /// `file_size` bytes, and from the parsed `tree`. `cluster` is the size of clusters if none has ended
    /// yet.
    ///
    /// If sapwood would write the same record, byte for byte, the open cluster continues. Otherwise, the
    /// record is kept except for its numbers, and a new cluster begins.
    ///
    /// # Errors
    /// `Unsupported`, with the branch, if its type cannot be written.
    pub fn resume(
        tree: &TTree,
        payload: &Bytes,
        key_len: u32,
        file_size: u64,
        cluster: ClusterSize,
    ) -> Result<TreeBuilder> {
        let specs = tree.branches.iter().map(|branch| spec(branch).ok_or_else(|| foreign(tree, branch)));
        let (size, open) = match tree.cluster_starts.get(..2) {
            Some([first, second]) if second > first => {
                let size = second - first;
                (ClusterSize::Entries(size), tree.entries % size)
            }
            _ => (cluster, tree.entries),
        };
        let specs = specs.collect::<Result<Vec<_>>>()?;
        let mut builder = TreeBuilder::new(&tree.name, &tree.title, specs, size)
            .map_err(|error| Error::unsupported("entries cannot be added to the tree").caused_by(error))?;
        builder.resume_at(tree.entries, open, tree.cluster_starts.len() > 1);
        for (place, branch) in tree.branches.iter().enumerate() {
            let placed = branch.baskets.iter().map(placed).collect::<Option<Vec<_>>>();
            let maximum = branch.leaves.first().map_or(0, |leaf| leaf.maximum);
            let (total, zip) = (branch.total_bytes, branch.zip_bytes);
            let maximum = u64::try_from(maximum).unwrap_or(0);
            let placed = placed.ok_or_else(|| foreign(tree, branch))?;
            builder.resume_branch(place, placed, maximum, (total, zip));
        }
        if builder.record(key_len)? == *payload {
            return Ok(builder);
        }
        if let Some(branch) = tree.branches.iter().find(|branch| !can_grow(tree, branch)) {
            return Err(foreign(tree, branch));
        }
        let streamers = StreamerInfos::default();
        let (_, outline) = TreeOutline::parse(&tree.class_name, payload, key_len, file_size, &streamers)?;
        if outline.branches.len() != tree.branches.len() {
            return Err(Error::unsupported("entries cannot be added to a tree with references"));
        }
        builder.keep(ExistingRecord::new(tree, outline));
        Ok(builder)
    }
}

/// True if baskets can be added to a branch of another writer.
fn can_grow(tree: &TTree, branch: &Branch) -> bool {
    let whole = (branch.first_entry, branch.entries) == (0, tree.entries);
    let plain = branch.parent.is_none() && branch.children.is_empty() && branch.io_bits == 0;
    let here = branch.file_name.is_empty() && branch.broken.is_none();
    let fits = branch.leaves.iter().all(|leaf| match spec(branch).map(|spec| spec.storage) {
        Some(Storage::Numbers { primitive, dims }) => {
            branch.entry_offset_len == 0 && leaf_holds(leaf, primitive, &dims)
        }
        Some(Storage::Counted { primitive, dims, .. }) => {
            branch.entry_offset_len != 0 && leaf_holds(leaf, primitive, &dims)
        }
        Some(Storage::Text | Storage::StdString | Storage::Vector(_)) => branch.entry_offset_len != 0,
        _ => false,
    });
    let element = match &branch.kind {
        BranchKind::Element(element) => {
            element.id == -1 && element.element_type <= 0 && element.branch_count.is_none()
        }
        _ => true,
    };
    whole && plain && here && fits && element
}

fn leaf_holds(leaf: &Leaf, primitive: Primitive, dims: &[usize]) -> bool {
    let items = dims.iter().try_fold(1_usize, |items, dim| items.checked_mul(*dim));
    items == usize::try_from(leaf.len).ok() && usize::try_from(leaf.len_type) == Ok(primitive.size())
}

fn foreign(tree: &TTree, branch: &Branch) -> Error {
    Error::unsupported(format!(
        "no entries can be added to '{}': this branch is not of a kind that is written",
        tree.name
    ))
    .branch(&branch.name)
    .hint("write another tree with branches of other kinds")
}

fn placed(basket: &crate::BasketRef) -> Option<PlacedBasket> {
    let bytes = u32::try_from(basket.len).ok().filter(|_| basket.embedded.is_none())?;
    Some(PlacedBasket { offset: basket.offset, bytes, first_entry: basket.first_entry })
}

/// The specification to write a branch like this one, if it is supported.
fn spec(branch: &Branch) -> Option<BranchSpec> {
    let [leaf] = branch.leaves.as_slice() else { return None };
    let storage = match &branch.kind {
        BranchKind::Plain => plain(leaf)?,
        BranchKind::Element(element) => match CppType::parse(&element.class_name) {
            CppType::StdString => Storage::StdString,
            CppType::Container("vector", items) => Storage::Vector(item(&items)?),
            _ => return None,
        },
        _ => return None,
    };
    Some(BranchSpec {
        name: branch.name.clone(),
        title: Some(branch.title.clone()),
        storage,
        // For obsolete settings, and for branches without their own.
        compression: Compression::from_number(branch.compression).unwrap_or_default(),
        basket_size: branch.basket_size,
    })
}

fn plain(leaf: &Leaf) -> Option<Storage> {
    if leaf.kind == LeafKind::Text {
        return Some(Storage::Text);
    }
    let primitive = leaf.primitive()?;
    // In `x[n][3]`, `n` is the count leaf.
    let brackets = leaf.title.split('[').skip(1).map(|rest| rest.trim_end_matches(']'));
    let dims = brackets.filter_map(|dim| dim.parse().ok()).collect();
    Some(match leaf.count {
        Some((counter, 0)) => Storage::Counted { primitive, dims, counter },
        Some(_) => return None,
        None => Storage::Numbers { primitive, dims },
    })
}

/// The type of the items of a vector.
fn item(item_type: &CppType) -> Option<VectorItem> {
    Some(match item_type {
        CppType::Number(StoredNumber::Plain(primitive)) => VectorItem::Number(*primitive),
        CppType::StdString => VectorItem::String,
        CppType::Container("vector", inner) => VectorItem::Vector(Box::new(item(inner)?)),
        _ => return None,
    })
}
