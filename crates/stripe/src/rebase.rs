//! Rebasing: whether what a change builds upon is unchanged in the newest version.

use crate::{Product, Segment, Snapshot, StripeListRef};
use sapwood_core::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, BTreeSet};

/// The error of a change that conflicts with a concurrent one.
pub(crate) fn conflict(what: &str) -> Error {
    Error::new(ErrorKind::Conflict, format!("a concurrent commit changed this first: {what}"))
        .hint("nothing was changed; open the dataset again, and make the change for its newest version")
}

pub(crate) fn product<'a>(snapshot: &'a Snapshot, name: &str) -> Option<&'a Product> {
    snapshot.products.iter().find(|product| product.name == name)
}

/// The properties by which products are compared: what is read through them, not when it was written.
pub(crate) fn shape(product: &Product) -> (u32, u32, &[u32]) {
    (product.id, product.schema, &product.branches)
}

pub(crate) fn fresh<'a>(ids: impl Iterator<Item = &'a u32>, ever: u32) -> Result<u32> {
    let most = ids.copied().max().unwrap_or(0).max(ever);
    most.checked_add(1)
        .ok_or_else(|| Error::new(ErrorKind::Limit, "a dataset has no more numbers for its parts"))
}

/// The segment with this number, which must be in both versions.
pub(crate) fn segment<'a>(base: &Snapshot, next: &'a mut Snapshot, id: u32) -> Result<&'a mut Segment> {
    let known = base.segments.iter().any(|segment| segment.id == id);
    match next.segments.iter_mut().find(|segment| segment.id == id) {
        Some(segment) => Ok(segment),
        None if known => Err(conflict(&format!("segment {id} was removed"))),
        None => Err(Error::usage(format!("the dataset has no segment {id}"))),
    }
}

/// Checks that the product is unchanged in these segments.
pub(crate) fn same_lists(
    base: &Snapshot,
    next: &Snapshot,
    product: &Product,
    segments: BTreeSet<u32>,
) -> Result<()> {
    let lists = |snapshot: &Snapshot| -> BTreeMap<u32, StripeListRef> {
        let wanted = snapshot.segments.iter().filter(|segment| segments.contains(&segment.id));
        wanted.filter_map(|one| one.lists.get(&product.id).map(|list| (one.id, list.clone()))).collect()
    };
    let (was, is) = (lists(base), lists(next));
    let other: Vec<String> =
        segments.iter().filter(|id| was.get(id) != is.get(id)).map(u32::to_string).collect();
    match other.as_slice() {
        [] => Ok(()),
        some => Err(conflict(&format!("the product '{}' in the segments {}", product.name, some.join(", ")))),
    }
}
