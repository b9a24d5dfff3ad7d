//! Describes a version in numbers: for people, and for catalogues.

use super::objects::list_sections;
use super::{Dataset, Format};
use crate::{Id, Provenance, Segment};
use sapwood_core::{Deadline, Result};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The contents of a version.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Description {
    /// The URL of the dataset, without secrets.
    pub url: String,
    /// Its name, which copies keep; only together with sizes.
    pub dataset: Option<Id>,
    /// Number of the version.
    pub version: u64,
    /// Its snapshot.
    pub snapshot: Id,
    /// Number of the version that it was derived from; 0 for the first.
    pub parent: u64,
    /// Path of the tree.
    pub tree: String,
    /// Number of entries.
    pub entries: u64,
    /// How it was made.
    pub made: Provenance,
    /// The products.
    pub products: Vec<DescribedProduct>,
    /// The segments.
    pub segments: Vec<DescribedSegment>,
    /// Number of distinct objects that hold baskets, if sizes were requested.
    pub objects: Option<u64>,
    /// URLs of stores with objects that are not below the dataset.
    pub bases: Vec<String>,
    /// Tags of all versions, if sizes were requested.
    pub tags: BTreeMap<String, u64>,
}

/// A product of a version.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DescribedProduct {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The version that wrote it.
    pub version: u64,
    /// Number of branches.
    pub branches: usize,
    /// Entries that have it.
    pub entries: u64,
    /// Bytes of its baskets, if sizes were requested.
    pub bytes: Option<u64>,
    /// Number of distinct objects with these; small products share them.
    pub objects: Option<u64>,
}

/// A segment of a version.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DescribedSegment {
    /// Its number.
    pub id: u32,
    /// Number of entries.
    pub entries: u64,
    /// Entries of a batch.
    pub batch: u64,
}

/// Bytes of a product, and the objects that hold them, by base and name.
#[derive(Debug, Default)]
struct Size {
    bytes: u64,
    objects: BTreeSet<(u32, Id)>,
}

impl Dataset {
    /// Describes this version. With `sizes`, all stripe lists are read: one request for each object that
    /// holds some.
    ///
    /// # Errors
    /// Those of the store, and of objects that are damaged.
    pub async fn describe(&self, sizes: bool, deadline: Deadline) -> Result<Description> {
        let (snapshot, entry) = (self.snapshot(), self.entry());
        let measured = match sizes {
            true => Some(self.sizes(deadline).await?),
            false => None,
        };
        let products = snapshot.products.iter().map(|product| {
            let held = snapshot.segments.iter().filter(|segment| segment.lists.contains_key(&product.id));
            let size = measured.as_ref().map(|sizes| sizes.get(&product.id));
            DescribedProduct {
                id: product.id,
                name: product.name.clone(),
                version: product.version,
                branches: product.branches.len(),
                entries: held.map(|segment| segment.entries).sum(),
                bytes: size.map(|size| size.map_or(0, |size| size.bytes)),
                objects: size.map(|size| size.map_or(0, |size| size.objects.len() as u64)),
            }
        });
        let segment = |one: &Segment| DescribedSegment { id: one.id, entries: one.entries, batch: one.batch };
        let different = |sizes: &BTreeMap<u32, Size>| {
            sizes.values().flat_map(|size| &size.objects).collect::<BTreeSet<_>>().len() as u64
        };
        let format = if sizes { Format::read(&**self.store(), deadline).await? } else { None };
        let tags = if sizes { self.tags(deadline).await? } else { Vec::new() };
        Ok(Description {
            url: self.store().url().to_owned(),
            dataset: format.map(|format| format.dataset),
            version: entry.n,
            snapshot: snapshot.id,
            parent: entry.parent,
            tree: snapshot.tree.clone(),
            entries: snapshot.segments.iter().map(|segment| segment.entries).sum(),
            made: snapshot.made.clone(),
            products: products.collect(),
            segments: snapshot.segments.iter().map(segment).collect(),
            objects: measured.as_ref().map(different),
            bases: snapshot.bases.clone(),
            tags: tags.into_iter().map(|tag| (tag.name, tag.version)).collect(),
        })
    }

    /// Sizes by [`crate::Product::id`].
    async fn sizes(&self, deadline: Deadline) -> Result<BTreeMap<u32, Size>> {
        let snapshot = self.snapshot();
        let mut total: BTreeMap<u32, Size> = BTreeMap::new();
        let all = list_sections(snapshot, |_, _| true);
        self.storage
            .each_list(snapshot, all, deadline, &mut |(product, _), list| {
                let (Some(product), list) = (snapshot.products.get(product), list?) else { return Ok(()) };
                let sum = total.entry(product.id).or_default();
                let bytes: u64 = list.stripes().map(|stripe| u64::from(stripe.len)).sum();
                sum.bytes = sum.bytes.saturating_add(bytes);
                sum.objects.extend(list.objects().iter().map(|object| (object.base, object.id)));
                Ok(())
            })
            .await?;
        Ok(total)
    }
}
