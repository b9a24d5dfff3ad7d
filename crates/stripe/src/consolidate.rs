//! Consolidation: the same entries in fewer stripes, for consecutive segments that become one, or for some
//! products.

use crate::rebase::{conflict, fresh, product, same_lists, segment, shape};
use crate::{NewSegment, Segment, Snapshot, StripeListRef};
use sapwood_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Segments that are merged into one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SegmentMerge {
    /// Their numbers, in their order.
    pub segments: Vec<u32>,
    /// The new segment: the same entries, with the same products.
    pub new: NewSegment,
}

/// Replaces segments by merged ones.
pub(crate) fn consolidate(base: &Snapshot, next: &mut Snapshot, all: &[SegmentMerge]) -> Result<()> {
    if all.is_empty() {
        return Err(Error::usage("there is nothing to consolidate"));
    }
    all.iter().try_for_each(|one| replace(base, next, one))
}

fn replace(base: &Snapshot, next: &mut Snapshot, one: &SegmentMerge) -> Result<()> {
    let was = run(base, &one.segments).ok_or_else(|| {
        Error::usage(format!("the dataset has no consecutive segments {}", range(&one.segments)))
    })?;
    one.check(base, base.segments.get(was).unwrap_or_default())?;
    let Some(is) = run(next, &one.segments) else {
        return Err(conflict(&format!("the segments {}", range(&one.segments))));
    };
    let ids: BTreeSet<u32> = one.segments.iter().copied().collect();
    for product in &next.products {
        let known = base.products.iter().find(|known| known.id == product.id);
        match known {
            Some(known) if shape(known) == shape(product) => {
                same_lists(base, next, product, ids.clone())?;
            }
            Some(_) => return Err(conflict(&format!("the branches of the product '{}'", product.name))),
            None if has(next, is.clone(), product.id) => {
                let message =
                    format!("the new product '{}' in the segments {}", product.name, range(&one.segments));
                return Err(conflict(&message));
            }
            None => {}
        }
    }
    let mut lists = BTreeMap::new();
    for (name, list) in &one.new.lists {
        let known = base.products.iter().find(|product| product.name == *name);
        // A product that was dropped in between is not added again.
        if let Some(known) = known.filter(|known| next.products.iter().any(|product| product.id == known.id))
        {
            lists.insert(known.id, list.clone());
        }
    }
    let id = fresh(next.segments.iter().map(|segment| &segment.id), next.used.segments)?;
    next.used.segments = id;
    let NewSegment { entries, batch, events, auxiliary, .. } = one.new.clone();
    next.segments.splice(is, [Segment { id, entries, batch, lists, events, auxiliary }]);
    Ok(())
}

/// Gives products other stripes.
pub(crate) fn restripe(
    base: &Snapshot,
    next: &mut Snapshot,
    lists: &BTreeMap<u32, BTreeMap<String, StripeListRef>>,
) -> Result<()> {
    let mut of_product: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for (id, name) in lists.iter().flat_map(|(id, lists)| lists.keys().map(move |name| (*id, name))) {
        of_product.entry(name).or_default().insert(id);
    }
    if of_product.is_empty() {
        return Err(Error::usage("there is nothing to consolidate"));
    }
    for (name, segments) in of_product {
        let was = product(base, name);
        let was = was.ok_or_else(|| Error::usage(format!("the dataset has no product '{name}'")))?;
        if product(next, name).map(shape) != Some(shape(was)) {
            return Err(conflict(&format!("the product '{name}' was dropped or replaced")));
        }
        same_lists(base, next, was, segments.clone())?;
        for id in segments {
            let list = lists.get(&id).and_then(|lists| lists.get(name));
            let lists = &mut segment(base, next, id)?.lists;
            if lists.get_mut(&was.id).zip(list).map(|(place, list)| *place = list.clone()).is_none() {
                return Err(Error::usage(format!("segment {id} has no product '{name}'")));
            }
        }
    }
    Ok(())
}

impl SegmentMerge {
    /// Checks that nothing is lost: entries, products, and auxiliary objects.
    fn check(&self, base: &Snapshot, old: &[Segment]) -> Result<()> {
        let entries = old.iter().fold(0, |sum: u64, segment| sum.saturating_add(segment.entries));
        let products: BTreeSet<&str> = self.new.lists.keys().map(String::as_str).collect();
        let same = |segment: &Segment| {
            let held = base.products.iter().filter(|product| segment.lists.contains_key(&product.id));
            held.map(|product| product.name.as_str()).collect::<BTreeSet<_>>() == products
                && segment.events.is_some() == self.new.events.is_some()
                && segment.auxiliary.is_some() == self.new.auxiliary.is_some()
        };
        match entries == self.new.entries && self.new.batch > 0 && old.iter().all(same) {
            true => Ok(()),
            false => {
                Err(Error::usage("a merged segment does not hold the same as the segments that it replaces"))
            }
        }
    }
}

/// The range in which segments with these numbers follow each other.
fn run(snapshot: &Snapshot, ids: &[u32]) -> Option<Range<usize>> {
    let first = snapshot.segments.iter().position(|segment| Some(&segment.id) == ids.first())?;
    let found = snapshot.segments.get(first..first + ids.len())?;
    found.iter().map(|segment| &segment.id).eq(ids).then_some(first..first + ids.len())
}

/// Whether some of these segments have the product.
fn has(snapshot: &Snapshot, segments: Range<usize>, product: u32) -> bool {
    let segments = snapshot.segments.get(segments).unwrap_or_default();
    segments.iter().any(|segment| segment.lists.contains_key(&product))
}

fn range(ids: &[u32]) -> String {
    match ids {
        [first, .., last] => format!("{first} to {last}"),
        [only] => only.to_string(),
        [] => "(none)".to_owned(),
    }
}
