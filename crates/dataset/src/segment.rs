//! Writes entries of a tree as a segment: stripes, objects that share small ones, and stripe lists.

use super::basket::CutBasket;
use super::cutting::{CutBatch, EntryOrder, SegmentCutter};
use super::options::WriteOptions;
use super::uploads::Uploads;
use bytes::Bytes;
use rayon::ThreadPool;
use sapwood_core::{Call, Error, Result};
use sapwood_rewrite::repack::input::InputTree;
use sapwood_stripe::{
    Id, Ids, ListBuilder, ObjectBuilder, ObjectName, ObjectRef, SegmentLayout, StripeList, StripeListRef,
    checksum, keys,
};
use sapwood_ttree::BasketRef;

/// A product to write, and its branches in the input tree.
#[derive(Debug, Clone)]
pub struct InputProduct {
    /// Its name.
    pub name: String,
    /// Indices of its branches in the tree.
    pub branches: Vec<usize>,
}

/// Writes segments from an input tree.
pub(crate) struct SegmentWriter<'a> {
    pub input: &'a InputTree,
    pub products: &'a [InputProduct],
    pub options: &'a WriteOptions,
    pub pool: &'a ThreadPool,
}

/// Locates the baskets of the products in their tree.
pub(crate) fn find_baskets(
    tree: &mut InputTree,
    products: &[InputProduct],
    call: &mut Call<'_>,
) -> Result<()> {
    tree.find_baskets(products.iter().flat_map(|product| product.branches.iter().copied()), call)
}

/// Bytes per entry of each branch of each product, as stored in the tree.
pub(crate) fn sizes(input: &InputTree, products: &[InputProduct]) -> Vec<Vec<f64>> {
    let entries = input.record().entries.max(1) as f64;
    let bytes = |&branch: &usize| -> u64 { input.baskets(branch).iter().map(BasketRef::size).sum() };
    let of_product = |product: &InputProduct| {
        product.branches.iter().map(|branch| bytes(branch) as f64 / entries).collect()
    };
    products.iter().map(of_product).collect()
}

impl SegmentWriter<'_> {
    /// Writes stripes and their lists, for `entries` entries taken in this order; returns the stripe list of each product.
    pub(crate) fn write(
        &self,
        layout: &SegmentLayout,
        order: EntryOrder,
        entries: u64,
        uploads: &mut Uploads,
        call: &mut Call<'_>,
    ) -> Result<Vec<StripeListRef>> {
        let branches = self.products.iter().flat_map(|product| product.branches.iter().copied());
        let slots: Vec<(usize, u64)> = branches.zip(stripe_entries(layout, self.products)).collect();
        let compression = self.options.compression()?;
        let mut cutter =
            SegmentCutter::new(self.input, &slots, order, entries, layout.batch, compression, self.pool)?;
        if self.options.without_statistics {
            cutter.skip_statistics();
        }
        let mut stripes = StripeWriter::new(self.products, layout);
        cutter.run(call, &mut |batch, call| stripes.write(batch, uploads, call))?;
        stripes.finish(uploads, call)
    }
}

/// For each branch of each product, the number of entries in its stripes.
pub fn stripe_entries(layout: &SegmentLayout, products: &[InputProduct]) -> Vec<u64> {
    let mut all: Vec<_> = products.iter().map(|product| vec![layout.batch; product.branches.len()]).collect();
    for object in &layout.objects {
        for (product, branches) in &object.products {
            let entries = all.get_mut(*product).and_then(|entries| entries.get_mut(branches.clone()));
            entries.unwrap_or_default().fill(object.entries);
        }
    }
    all.concat()
}

/// Writes batches of baskets as objects, and collects the stripe lists.
#[derive(Debug)]
pub struct StripeWriter<'a> {
    products: &'a [InputProduct],
    layout: &'a SegmentLayout,
    lists: Vec<StripeList>,
    ids: Ids,
}

impl<'a> StripeWriter<'a> {
    /// A writer for the products of a segment.
    pub fn new(products: &'a [InputProduct], layout: &'a SegmentLayout) -> StripeWriter<'a> {
        let lists = products.iter().map(|product| StripeList::new(product.branches.len())).collect();
        StripeWriter { products, layout, lists, ids: Ids::new() }
    }

    /// Uploads the objects of a batch, and adds its stripes to the lists.
    pub fn write(&mut self, batch: CutBatch, uploads: &mut Uploads, call: &mut Call<'_>) -> Result<()> {
        let mut baskets = batch.baskets.into_iter();
        let of_product =
            self.products.iter().map(|product| baskets.by_ref().take(product.branches.len()).collect());
        let columns: Vec<Vec<Vec<CutBasket>>> = of_product.collect();
        for object in &self.layout.objects {
            for stripe in 0..batch.entries.div_ceil(object.entries.max(1)) {
                let first = batch.first + stripe * object.entries;
                let entries = object.entries.min(batch.first + batch.entries - first);
                let nth = usize::try_from(stripe).unwrap_or(usize::MAX);
                let (mut builder, mut statistics) = (ObjectBuilder::default(), Vec::new());
                for (product, branches) in &object.products {
                    let columns = columns.get(*product).and_then(|columns| columns.get(branches.clone()));
                    let Some((product, columns)) = self.products.get(*product).zip(columns) else { continue };
                    let baskets = columns.iter().map(|column| column.get(nth).cloned().unwrap_or_default());
                    let (records, known): (Vec<_>, Vec<_>) =
                        baskets.map(|basket| (basket.record, basket.statistics)).unzip();
                    builder.add(&product.name, first, entries, records)?;
                    statistics.push(known);
                }
                let (content, placed) = builder.finish()?;
                let size = content.len() as u64;
                let id = self.ids.next();
                let name = ObjectName { base: uploads.base, id };
                for (((product, branches), placed), known) in
                    object.products.iter().zip(&placed).zip(&statistics)
                {
                    let list = self.lists.get_mut(*product);
                    let list = list.ok_or_else(|| Error::corrupt("a product has no list"))?;
                    list.push_some(branches.clone(), name, size, placed, known)?;
                }
                uploads.put(keys::data(id), content, call)?;
            }
        }
        Ok(())
    }

    /// Uploads the stripe lists, and returns the one of each product.
    pub fn finish(self, uploads: &mut Uploads, call: &mut Call<'_>) -> Result<Vec<StripeListRef>> {
        let id = Id::random();
        let mut builder = ListBuilder::new(id);
        let places = self.lists.iter().map(|list| builder.add(list)).collect::<Result<Vec<_>>>()?;
        uploads.put(keys::list(id), builder.finish(), call)?;
        Ok(places.into_iter().map(|place| StripeListRef { base: uploads.base, ..place }).collect())
    }
}

/// Uploads an object that is read whole.
pub fn put_object(object: Bytes, uploads: &mut Uploads, call: &mut Call<'_>) -> Result<ObjectRef> {
    let id = Id::random();
    let (len, checksum) = (object.len() as u64, checksum(&object));
    uploads.put(keys::data(id), object, call)?;
    Ok(ObjectRef { base: uploads.base, id, offset: 0, len, checksum })
}
