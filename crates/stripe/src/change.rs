//! Changes of a dataset, and how they apply to a version, including later ones than the one they were made
//! for.

use crate::consolidate::{SegmentMerge, consolidate, restripe};
use crate::rebase::{conflict, fresh, product, same_lists, segment, shape};
use crate::receipt::{Receipt, receive};
use crate::{Id, NewProduct, NewSegment, Product, Provenance, Schema, Segment, Snapshot, StripeListRef};
use bytes::Bytes;
use sapwood_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A change of a dataset. All objects that it refers to are stored already. Products and segments get their
/// numbers at the commit, so that it can follow concurrent changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// Appends entries.
    Append {
        /// Products that may be new. If a product of that name exists, its branches must be the same; the
        /// caller has checked that their types agree.
        products: Vec<NewProduct>,
        /// The entries.
        segments: Vec<NewSegment>,
    },
    /// Appends what workers have stored; jobs that were committed before are skipped.
    Receive {
        /// The receipts of the workers.
        receipts: Vec<Receipt>,
    },
    /// Adds a product to existing entries, or replaces one.
    Put {
        /// The product.
        product: NewProduct,
        /// Its stripe lists, by [`Segment::id`].
        lists: BTreeMap<u32, StripeListRef>,
        /// It replaces a product of the same name.
        replace: bool,
    },
    /// Drops products.
    Drop {
        /// Their names.
        products: Vec<String>,
    },
    /// Restores an earlier version; later additions are dropped.
    Restore {
        /// Its number.
        version: u64,
    },
    /// Merges segments, with the same entries in other stripes.
    Consolidate {
        /// The merges.
        segments: Vec<SegmentMerge>,
    },
    /// Gives some products other stripes with the same entries; segments and all other products stay the
    /// same.
    Restripe {
        /// Their stripe lists, by [`Segment::id`] and name of the product.
        lists: BTreeMap<u32, BTreeMap<String, StripeListRef>>,
    },
    /// Adds a store in which objects may lie.
    AddBase {
        /// Its URL, without secrets.
        url: String,
    },
}

impl Change {
    /// Its name in the log.
    pub fn operation(&self) -> &'static str {
        match self {
            Change::Append { .. } | Change::Receive { .. } => "append",
            Change::Put { replace: false, .. } => "add",
            Change::Put { replace: true, .. } => "replace",
            Change::Drop { .. } => "drop",
            Change::Restore { .. } => "restore",
            Change::Consolidate { .. } | Change::Restripe { .. } => "consolidate",
            Change::AddBase { .. } => "base",
        }
    }

    /// A description of the change for people.
    pub(crate) fn words(&self) -> String {
        match self {
            Change::Append { segments, .. } => {
                let entries =
                    segments.iter().fold(0, |sum: u64, segment| sum.saturating_add(segment.entries));
                format!(
                    "{} in {}",
                    counted(entries, "entry", "entries"),
                    counted(segments.len() as u64, "segment", "segments")
                )
            }
            Change::Put { product, lists, .. } => {
                format!("{} in {}", product.name, counted(lists.len() as u64, "segment", "segments"))
            }
            Change::Receive { receipts } => {
                let entries = receipts.iter().fold(0, |sum: u64, one| sum.saturating_add(one.entries()));
                format!(
                    "{} of {}",
                    counted(entries, "entry", "entries"),
                    counted(receipts.len() as u64, "job", "jobs")
                )
            }
            Change::Drop { products } => products.join(", "),
            Change::Restore { version } => format!("version {version}"),
            Change::Consolidate { segments } => {
                let old: usize = segments.iter().map(|one| one.segments.len()).sum();
                format!("{} into {}", counted(old as u64, "segment", "segments"), segments.len())
            }
            Change::Restripe { lists } => {
                let names: BTreeSet<&str> =
                    lists.values().flat_map(BTreeMap::keys).map(String::as_str).collect();
                let names: Vec<&str> = names.into_iter().collect();
                format!("{} in {} segments", names.join(", "), lists.len())
            }
            Change::AddBase { url } => url.clone(),
        }
    }

    /// Whether a version contains it already.
    pub(crate) fn is_in(&self, snapshot: &Snapshot) -> bool {
        match self {
            Change::Receive { receipts } => receipts.iter().all(|one| snapshot.jobs.contains_key(&one.job)),
            _ => false,
        }
    }

    /// Applies the change, which was made for `base`, to `tip`. A version to restore is taken from `old`.
    ///
    /// # Errors
    /// `Conflict` if a concurrent change touched what it builds upon; `Usage` if it is invalid for `base`,
    /// too.
    pub(crate) fn apply(
        &self,
        base: &Snapshot,
        tip: &Snapshot,
        old: Option<&Snapshot>,
        (version, made): (u64, Provenance),
    ) -> Result<Snapshot> {
        let mut next = Snapshot { id: Id::random(), parent: Some(tip.id), made, ..tip.clone() };
        match self {
            Change::Append { products, segments } => append(base, &mut next, products, segments, version)?,
            Change::Receive { receipts } => receive(&mut next, receipts)?,
            Change::Put { product, lists, replace } => {
                put(base, &mut next, product, lists, (*replace, version))?
            }
            Change::Drop { products } => {
                products.iter().try_for_each(|name| remove(base, &mut next, name))?
            }
            Change::Restore { version } => restore(base, &mut next, old, *version)?,
            Change::Consolidate { segments } => consolidate(base, &mut next, segments)?,
            Change::Restripe { lists } => restripe(base, &mut next, lists)?,
            Change::AddBase { url } if next.bases.contains(url) => {
                return Err(Error::usage(format!("{url} is a base of the dataset already")));
            }
            Change::AddBase { url } => next.bases.push(url.clone()),
        }
        Ok(next)
    }
}

/// The number of a schema: that of an equal one, or a new one.
fn schema(next: &mut Snapshot, file: &Bytes) -> Result<u32> {
    if let Some(known) = next.schemas.iter().find(|known| known.file == *file) {
        return Ok(known.id);
    }
    let id = fresh(next.schemas.iter().map(|schema| &schema.id), next.used.schemas)?;
    next.used.schemas = id;
    next.schemas.push(Schema { id, file: file.clone() });
    Ok(id)
}

/// Adds a new product.
fn add(next: &mut Snapshot, new: &NewProduct, version: u64) -> Result<u32> {
    let name = &new.name;
    let Some(file) = new.schema.as_ref().filter(|_| !name.is_empty()) else {
        return Err(Error::usage(format!("the new product '{name}' lacks a name or a schema")));
    };
    let schema = schema(next, file)?;
    let id = fresh(next.products.iter().map(|product| &product.id), next.used.products)?;
    next.used.products = id;
    let branches = new.branches.clone();
    next.products.push(Product { id, name: name.clone(), schema, branches, version });
    Ok(id)
}

fn append(
    base: &Snapshot,
    next: &mut Snapshot,
    products: &[NewProduct],
    segments: &[NewSegment],
    version: u64,
) -> Result<()> {
    for new in products {
        let (before, now) = (product(base, &new.name), product(next, &new.name));
        match (before, now) {
            (None, None) => drop(add(next, new, version)?),
            (_, Some(now))
                if now.branches == new.branches && before.is_none_or(|was| shape(was) == shape(now)) => {}
            (Some(was), Some(now)) if shape(was) == shape(now) => {
                return Err(Error::usage(format!("the product '{}' has other branches", new.name)));
            }
            _ => return Err(conflict(&format!("the product '{}' was replaced", new.name))),
        }
    }
    if segments.is_empty() {
        return Err(Error::usage("there are no entries to append"));
    }
    for new in segments {
        let mut lists = BTreeMap::new();
        for (name, list) in &new.lists {
            let (before, now) = (product(base, name), product(next, name));
            let same = before.zip(now).is_none_or(|(was, now)| shape(was) == shape(now));
            match now.filter(|_| same) {
                Some(now) => drop(lists.insert(now.id, list.clone())),
                None if before.is_some() => {
                    return Err(conflict(&format!(
                        "the product '{name}' was dropped, or is another one now"
                    )));
                }
                None => {
                    return Err(Error::usage(format!("the dataset has no product '{name}' to append to")));
                }
            }
        }
        if new.entries == 0 || new.batch == 0 {
            return Err(Error::usage("a segment and its batches must have entries"));
        }
        let id = fresh(next.segments.iter().map(|segment| &segment.id), next.used.segments)?;
        next.used.segments = id;
        let NewSegment { entries, batch, events, auxiliary, .. } = new.clone();
        next.segments.push(Segment { id, entries, batch, lists, events, auxiliary });
    }
    Ok(())
}

fn put(
    base: &Snapshot,
    next: &mut Snapshot,
    new: &NewProduct,
    lists: &BTreeMap<u32, StripeListRef>,
    (replace, version): (bool, u64),
) -> Result<()> {
    let name = &new.name;
    let before = product(base, name);
    match (before, replace) {
        (Some(_), false) => {
            return Err(Error::usage(format!("the dataset already has a product '{name}'"))
                .hint("replace it, or choose another name"));
        }
        (None, true) => return Err(Error::usage(format!("the dataset has no product '{name}' to replace"))),
        _ => {}
    }
    let now = product(next, name).cloned();
    if before.map(shape) != now.as_ref().map(shape) {
        let (was, is) = (
            if before.is_some() { "there" } else { "absent" },
            if now.is_some() { "another one" } else { "gone" },
        );
        return Err(conflict(&format!("the product '{name}' was {was}, and is {is} now")));
    }
    if let Some(was) = before {
        same_lists(base, next, was, lists.keys().copied().collect())?;
    }
    let id = match now {
        None => add(next, new, version)?,
        Some(now) => {
            reshape(next, &now, new, lists, version)?;
            now.id
        }
    };
    for (number, list) in lists {
        segment(base, next, *number)?.lists.insert(id, list.clone());
    }
    Ok(())
}

/// Updates a replaced product. If its branches change, no segment may keep stripes of the old ones.
fn reshape(
    next: &mut Snapshot,
    now: &Product,
    new: &NewProduct,
    lists: &BTreeMap<u32, StripeListRef>,
    version: u64,
) -> Result<()> {
    let schema = new.schema.as_ref().map_or(Ok(now.schema), |file| schema(next, file))?;
    if (schema, &new.branches) != (now.schema, &now.branches) {
        let keeps = |one: &&Segment| one.lists.contains_key(&now.id) && !lists.contains_key(&one.id);
        if let Some(old) = next.segments.iter().find(keeps) {
            let message = format!("segment {} has the product '{}' with other branches", old.id, now.name);
            return Err(conflict(&message).hint("replace it in all segments at once"));
        }
    }
    for product in next.products.iter_mut().filter(|product| product.id == now.id) {
        (product.schema, product.branches, product.version) = (schema, new.branches.clone(), version);
    }
    forget_schemas(next);
    Ok(())
}

fn remove(base: &Snapshot, next: &mut Snapshot, name: &str) -> Result<()> {
    let Some(was) = product(base, name) else {
        return Err(Error::usage(format!("the dataset has no product '{name}' to drop")));
    };
    if product(next, name).map(shape) != Some(shape(was)) {
        return Err(conflict(&format!("the product '{name}' was dropped or replaced")));
    }
    same_lists(base, next, was, base.segments.iter().map(|segment| segment.id).collect())?;
    next.products.retain(|product| product.id != was.id);
    for segment in &mut next.segments {
        segment.lists.remove(&was.id);
    }
    forget_schemas(next);
    Ok(())
}

/// Removes schemas that no product uses.
fn forget_schemas(next: &mut Snapshot) {
    let used: BTreeSet<u32> = next.products.iter().map(|product| product.schema).collect();
    next.schemas.retain(|schema| used.contains(&schema.id));
}

fn restore(base: &Snapshot, next: &mut Snapshot, old: Option<&Snapshot>, version: u64) -> Result<()> {
    let old =
        old.ok_or_else(|| Error::usage(format!("version {version} does not exist and cannot be restored")))?;
    if next.parent != Some(base.id) {
        return Err(conflict("there is a newer version, whose changes would be lost"));
    }
    // Bases keep their numbers; numbers that were given later are never given again.
    (next.schemas, next.products, next.segments, next.jobs) =
        (old.schemas.clone(), old.products.clone(), old.segments.clone(), old.jobs.clone());
    Ok(())
}

/// A count with its noun: `1 segment`, `2,000 segments`.
fn counted(count: impl Into<u128>, one: &str, many: &str) -> String {
    let count = count.into();
    let digits = count.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    format!("{} {}", groups.join(","), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_commas_and_nouns() {
        let entries = |count: u64| counted(count, "entry", "entries");
        let found = [0, 1, 999, 1000, 1_234_567].map(entries);
        assert_eq!(found, ["0 entries", "1 entry", "999 entries", "1,000 entries", "1,234,567 entries"]);
    }
}
