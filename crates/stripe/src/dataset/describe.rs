//! What a version holds, in numbers: for people, and for catalogues.

use super::{Dataset, Format};
use crate::{Id, Made, ObjectRef, Product, Segment, StripeList, keys};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use sapwood_core::{ByteRange, Deadline, Error, Result};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Objects with stripe lists that are read at once.
const TOGETHER: usize = 16;

/// What a version holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Description {
    /// Where the dataset is, without secrets.
    pub url: String,
    /// Its name, which copies keep; not asked for if sizes are not.
    pub dataset: Option<Id>,
    /// Number of the version.
    pub version: u64,
    /// Its snapshot.
    pub snapshot: Id,
    /// Number of the version that it was made from; 0 for the first.
    pub parent: u64,
    /// Path of the tree.
    pub tree: String,
    /// Number of entries.
    pub entries: u64,
    /// How it came to be.
    pub made: Made,
    /// The products.
    pub products: Vec<DescribedProduct>,
    /// The segments.
    pub segments: Vec<DescribedSegment>,
    /// Different objects that hold baskets, if sizes were asked for.
    pub objects: Option<u64>,
    /// Where objects lie, if not below the dataset: URLs.
    pub bases: Vec<String>,
    /// Tags of all versions, if sizes were asked for.
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
    /// Bytes of its baskets, if sizes were asked for.
    pub bytes: Option<u64>,
    /// Different objects that hold these; small products share them.
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
    /// What this version holds. With `sizes`, all stripe lists are read: one request for each object that has some.
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

    /// Sizes by [`Product::id`].
    async fn sizes(&self, deadline: Deadline) -> Result<BTreeMap<u32, Size>> {
        let snapshot = self.snapshot();
        // By places of product and segment: references in streams keep futures from being sent.
        let mut sections: BTreeMap<(u32, Id), Vec<(usize, usize)>> = BTreeMap::new();
        for (place, segment) in snapshot.segments.iter().enumerate() {
            for (number, product) in snapshot.products.iter().enumerate() {
                if let Some(list) = segment.lists.get(&product.id) {
                    sections.entry((list.base, list.id)).or_default().push((number, place));
                }
            }
        }
        let measured = sections.into_iter().map(|((base, id), wanted)| async move {
            let wanted: Vec<(&Product, &Segment, &ObjectRef)> = (wanted.into_iter())
                .filter_map(|(number, place)| {
                    let (product, segment) = (snapshot.products.get(number)?, snapshot.segments.get(place)?);
                    Some((product, segment, segment.lists.get(&product.id)?))
                })
                .collect();
            let start = wanted.iter().map(|(_, _, list)| list.offset).min().unwrap_or_default();
            let ends = wanted.iter().filter_map(|(_, _, list)| list.offset.checked_add(list.len));
            let end = ends.max().unwrap_or(start);
            let (store, key) = (self.base(base)?, keys::list(id));
            let range = ByteRange::new(start, end - start)?;
            let bytes = store.get(&key, Some(range), deadline).await?;
            let sizes = wanted.iter().map(|(product, segment, list)| {
                let size = size_of(&bytes, list.offset - start, product, segment, list);
                size.map(|size| (product.id, size)).map_err(|error| error.inside(list.offset))
            });
            let url = || crate::record::url_of(&*store, &key);
            sizes.collect::<Result<Vec<_>>>().map_err(|error| error.url(url()))
        });
        let mut total: BTreeMap<u32, Size> = BTreeMap::new();
        let mut measured = stream::iter(measured).buffer_unordered(TOGETHER);
        while let Some(sizes) = measured.try_next().await? {
            for (product, size) in sizes {
                let sum = total.entry(product).or_default();
                sum.bytes = sum.bytes.saturating_add(size.bytes);
                sum.objects.extend(size.objects);
            }
        }
        Ok(total)
    }
}

/// The size of a product in a segment, by its stripe list, which begins at `offset` of `bytes`.
fn size_of(
    bytes: &Bytes,
    offset: u64,
    product: &Product,
    segment: &Segment,
    list: &ObjectRef,
) -> Result<Size> {
    let place = |number: u64| usize::try_from(number).ok().filter(|place| *place <= bytes.len());
    let section = place(offset)
        .zip(offset.checked_add(list.len).and_then(place))
        .map(|(start, end)| bytes.slice(start..end))
        .ok_or_else(|| Error::corrupt("a stripe list is shorter than it should be"))?;
    list.verify(&section)?;
    let decoded = StripeList::decode(&section, product.branches.len(), segment.entries)?;
    Ok(Size {
        bytes: decoded.stripes().map(|stripe| u64::from(stripe.len)).sum(),
        objects: decoded.objects().iter().map(|object| (object.base, object.id)).collect(),
    })
}
