//! A tree that was written before, taken up again: its branches and baskets, from its record.

use super::builder::TreeBuilder;
use super::clusters::ClusterSize;
use super::record::PlacedBasket;
use super::schema::{BranchSpec, Item, Storage, cpp_name};
use crate::{Branch, BranchKind, Leaf, LeafKind, Tree};
use sapwood_codec::Compression;
use sapwood_core::{Error, Primitive, Result};
use sapwood_tfile::write::Buffer;

impl TreeBuilder {
    /// Takes up a tree from the payload of its record, which stood behind a key of `key_len` bytes, and what
    /// [`Tree::parse`] found in it. The open cluster goes on; if no cluster has ended yet, `cluster` says how large they
    /// are.
    ///
    /// A tree can be taken up if its record, written anew, is the same byte for byte: nothing of it is lost then.
    ///
    /// # Errors
    /// `Unsupported` for all other trees.
    pub fn resume(tree: &Tree, payload: &[u8], key_len: u32, cluster: ClusterSize) -> Result<TreeBuilder> {
        let specs =
            tree.branches.iter().map(spec).collect::<Option<Vec<_>>>().ok_or_else(|| foreign(tree))?;
        let (size, open) = match tree.cluster_starts.get(..2) {
            Some([first, second]) if second > first => {
                let size = second - first;
                (ClusterSize::Entries(size), tree.entries % size)
            }
            _ => (cluster, tree.entries),
        };
        let mut builder = TreeBuilder::new(&tree.name, &tree.title, specs, size)?;
        builder.go_on(tree.entries, open, tree.cluster_starts.len() > 1);
        for (place, branch) in tree.branches.iter().enumerate() {
            let placed = branch.baskets.iter().map(placed).collect::<Option<Vec<_>>>();
            let maximum = branch.leaves.first().map_or(0, |leaf| leaf.maximum);
            let (total, zip) = (branch.total_bytes, branch.zip_bytes);
            let maximum = u64::try_from(maximum).unwrap_or(0);
            builder.go_on_with(place, placed.ok_or_else(|| foreign(tree))?, maximum, (total, zip));
        }
        let mut buffer = Buffer::new(key_len);
        builder.record(&mut buffer);
        if buffer.finish()? == payload { Ok(builder) } else { Err(foreign(tree)) }
    }
}

fn foreign(tree: &Tree) -> Error {
    Error::unsupported(format!(
        "entries can only be added to trees that sapwood wrote, and '{}' is not one",
        tree.name
    ))
    .hint("write another tree, and merge the two")
}

fn placed(basket: &crate::BasketRef) -> Option<PlacedBasket> {
    let bytes = u32::try_from(basket.len).ok().filter(|_| basket.embedded.is_none())?;
    Some(PlacedBasket { offset: basket.offset, bytes, first_entry: basket.first_entry })
}

/// What a branch is written from, if it can be.
fn spec(branch: &Branch) -> Option<BranchSpec> {
    let [leaf] = branch.leaves.as_slice() else { return None };
    let storage = match &branch.kind {
        BranchKind::Plain => plain(leaf)?,
        BranchKind::Element(element) if element.class_name == "string" => Storage::StdString,
        BranchKind::Element(element) => Storage::Vector(item(element.class_name.strip_prefix("vector<")?)?),
        _ => return None,
    };
    Some(BranchSpec {
        name: branch.name.clone(),
        title: Some(branch.title.clone()),
        storage,
        compression: Compression::from_number(branch.compression).ok()?,
        basket_size: branch.basket_size,
    })
}

fn plain(leaf: &Leaf) -> Option<Storage> {
    let signed = |signed, unsigned| if leaf.unsigned { unsigned } else { signed };
    let primitive = match leaf.kind {
        LeafKind::Bool => Primitive::Bool,
        LeafKind::I8 => signed(Primitive::I8, Primitive::U8),
        LeafKind::I16 => signed(Primitive::I16, Primitive::U16),
        LeafKind::I32 => signed(Primitive::I32, Primitive::U32),
        LeafKind::I64 => signed(Primitive::I64, Primitive::U64),
        LeafKind::F32 => Primitive::F32,
        LeafKind::F64 => Primitive::F64,
        LeafKind::Text => return Some(Storage::Text),
        _ => return None,
    };
    // `x[n][3]`: what is no number is the leaf that counts.
    let brackets = leaf.title.split('[').skip(1).map(|rest| rest.trim_end_matches(']'));
    let dims = brackets.filter_map(|dim| dim.parse().ok()).collect();
    Some(match leaf.count {
        Some((counter, _)) => Storage::Counted { primitive, dims, counter },
        None => Storage::Numbers { primitive, dims },
    })
}

/// What stands in the brackets of `vector<…>`, the last bracket included.
fn item(name: &str) -> Option<Item> {
    let name = name.strip_suffix('>')?.trim_end();
    if name == "string" {
        return Some(Item::String);
    }
    if let Some(inner) = name.strip_prefix("vector<") {
        return Some(Item::Vector(Box::new(item(inner)?)));
    }
    Primitive::ALL.into_iter().find(|primitive| cpp_name(*primitive) == name).map(Item::Number)
}
