//! Counts the objects into which segments are divided: tells whether consolidation would help.

use super::Dataset;
use super::objects::list_sections;
use crate::Id;
use sapwood_core::{Deadline, Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The objects of some products in a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fragments {
    /// Number of distinct objects with stripes of these products, and of no others.
    pub objects: u64,
    /// Bytes of stripes, by [`crate::Product::id`].
    pub bytes: BTreeMap<u32, u64>,
}

impl Dataset {
    /// The objects of some products in each segment, in order. All stripe lists are read.
    ///
    /// # Errors
    /// Those of the store, and of objects that are damaged.
    pub async fn fragments(&self, products: &BTreeSet<u32>, deadline: Deadline) -> Result<Vec<Fragments>> {
        let snapshot = self.snapshot();
        let mut all = vec![Fragments::default(); snapshot.segments.len()];
        // For each segment, the objects with stripes of these products, and those with any others.
        let mut objects: BTreeMap<usize, [BTreeSet<(u32, Id)>; 2]> = BTreeMap::new();
        let sections = list_sections(snapshot, |_, _| true);
        self.storage
            .each_list(snapshot, sections, deadline, &mut |(product, index), list| {
                let (list, product) = (list?, snapshot.products.get(product));
                let (Some(product), Some(fragments)) = (product, all.get_mut(index)) else { return Ok(()) };
                let [wanted, other] = objects.entry(index).or_default();
                let own = list.objects().iter().map(|object| (object.base, object.id));
                if products.contains(&product.id) {
                    let bytes = list.stripes().map(|stripe| u64::from(stripe.len)).sum();
                    fragments.bytes.insert(product.id, bytes);
                    wanted.extend(own);
                } else {
                    other.extend(own);
                }
                Ok(())
            })
            .await?;
        for (index, [wanted, other]) in objects {
            let alone = wanted.difference(&other).count() as u64;
            all.get_mut(index).into_iter().for_each(|one| one.objects = alone);
        }
        Ok(all)
    }

    /// The version restricted to some segments and the products that all of these have: to be read, not
    /// changed.
    ///
    /// # Errors
    /// `Usage` if it has no such segment.
    pub fn part(&self, segments: &[u32]) -> Result<Dataset> {
        let mut snapshot = (*self.snapshot).clone();
        snapshot.segments.retain(|segment| segments.contains(&segment.id));
        if snapshot.segments.len() != segments.len() {
            return Err(Error::usage("the dataset has no such segments").url(self.storage.url()));
        }
        let everywhere = |id| snapshot.segments.iter().all(|segment| segment.lists.contains_key(&id));
        let held: BTreeSet<u32> =
            snapshot.products.iter().map(|product| product.id).filter(|id| everywhere(*id)).collect();
        snapshot.products.retain(|product| held.contains(&product.id));
        let used: BTreeSet<u32> = snapshot.products.iter().map(|product| product.schema).collect();
        snapshot.schemas.retain(|schema| used.contains(&schema.id));
        Ok(Dataset { snapshot: Arc::new(snapshot), ..self.clone() })
    }
}
