//! Entries of a tree, written as a segment: stripes, groups of small ones, and their lists.

use super::basket::CutBasket;
use super::cutting::{Batch, Cutting, Order};
use super::uploads::Uploads;
use bytes::Bytes;
use rayon::ThreadPool;
use sapwood_codec::Compression;
use sapwood_core::{Call, Error, Result};
use sapwood_rewrite::repack::input::InputTree;
use sapwood_stripe::{
    Id, Ids, ListBuilder, ObjectBuilder, ObjectName, ObjectRef, SegmentLayout, StripeList, StripeListRef,
    checksum, keys,
};

/// A product that is written, and the places of its branches in the tree that it comes from.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// The branches, by their places in the tree.
    pub branches: Vec<usize>,
}

/// What is written, and how.
pub(crate) struct Writing<'a> {
    pub input: &'a InputTree,
    pub parts: &'a [Part],
    pub layout: &'a SegmentLayout,
    pub order: Order,
    pub entries: u64,
    pub compression: Compression,
    /// Whether it is noted what values are in the stripes.
    pub statistics: bool,
    pub pool: &'a ThreadPool,
}

/// Bytes of each branch of each product per entry, as they are stored in the tree.
pub(crate) fn sizes(input: &InputTree, parts: &[Part]) -> Vec<Vec<f64>> {
    let entries = input.meta.entries.max(1) as f64;
    let bytes = |&branch: &usize| -> u64 {
        let baskets = input.branch(branch).map_or(&[][..], |branch| &branch.baskets);
        baskets
            .iter()
            .map(|basket| basket.embedded.as_ref().map_or(basket.len, |bytes| bytes.len() as u64))
            .sum()
    };
    let of_part = |part: &Part| part.branches.iter().map(|branch| bytes(branch) as f64 / entries).collect();
    parts.iter().map(of_part).collect()
}

impl Writing<'_> {
    /// Writes the stripes and their lists; where the list of each product is.
    pub(crate) fn run(&self, uploads: &mut Uploads, call: &mut Call<'_>) -> Result<Vec<StripeListRef>> {
        let branches = self.parts.iter().flat_map(|part| part.branches.iter().copied());
        let slots: Vec<(usize, u64)> = branches.zip(stripes(self.layout, self.parts)).collect();
        let mut cutting = Cutting::new(
            self.input,
            &slots,
            self.order.clone(),
            self.entries,
            self.layout.batch,
            self.compression,
            self.pool,
        )?;
        if !self.statistics {
            cutting.pass_over_values();
        }
        let mut placing = Placing::new(self.parts, self.layout);
        cutting.run(call, &mut |batch, call| placing.place(batch, uploads, call))?;
        placing.finish(uploads, call)
    }
}

/// For each branch of each product, the entries of its stripes.
pub fn stripes(layout: &SegmentLayout, parts: &[Part]) -> Vec<u64> {
    let mut stripes: Vec<_> = parts.iter().map(|part| vec![layout.batch; part.branches.len()]).collect();
    for object in &layout.objects {
        for (product, branches) in &object.products {
            let stripes = stripes.get_mut(*product).and_then(|stripes| stripes.get_mut(branches.clone()));
            stripes.unwrap_or_default().fill(object.entries);
        }
    }
    stripes.concat()
}

/// Batches of baskets, which become objects; and the lists of where these are.
#[derive(Debug)]
pub struct Placing<'a> {
    parts: &'a [Part],
    layout: &'a SegmentLayout,
    lists: Vec<StripeList>,
    ids: Ids,
}

impl<'a> Placing<'a> {
    /// Nothing is placed yet.
    pub fn new(parts: &'a [Part], layout: &'a SegmentLayout) -> Placing<'a> {
        let lists = parts.iter().map(|part| StripeList::new(part.branches.len())).collect();
        Placing { parts, layout, lists, ids: Ids::new() }
    }

    /// Hands over the objects of a batch, and notes where its stripes are.
    pub fn place(&mut self, batch: Batch, uploads: &mut Uploads, call: &mut Call<'_>) -> Result<()> {
        let mut baskets = batch.baskets.into_iter();
        let of_part = self.parts.iter().map(|part| baskets.by_ref().take(part.branches.len()).collect());
        let columns: Vec<Vec<Vec<CutBasket>>> = of_part.collect();
        for object in &self.layout.objects {
            for stripe in 0..batch.entries.div_ceil(object.entries.max(1)) {
                let first = batch.first + stripe * object.entries;
                let entries = object.entries.min(batch.first + batch.entries - first);
                let nth = usize::try_from(stripe).unwrap_or(usize::MAX);
                let (mut builder, mut statistics) = (ObjectBuilder::default(), Vec::new());
                for (product, branches) in &object.products {
                    let columns = columns.get(*product).and_then(|columns| columns.get(branches.clone()));
                    let Some((part, columns)) = self.parts.get(*product).zip(columns) else { continue };
                    let baskets = columns.iter().map(|column| column.get(nth).cloned().unwrap_or_default());
                    let (records, known): (Vec<_>, Vec<_>) =
                        baskets.map(|basket| (basket.record, basket.statistics)).unzip();
                    builder.add(&part.name, first, entries, records)?;
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

    /// Hands over the lists; where that of each product is.
    pub fn finish(self, uploads: &mut Uploads, call: &mut Call<'_>) -> Result<Vec<StripeListRef>> {
        let id = Id::random();
        let mut builder = ListBuilder::new(id);
        let places = self.lists.iter().map(|list| builder.add(list)).collect::<Result<Vec<_>>>()?;
        uploads.put(keys::list(id), builder.finish(), call)?;
        Ok(places.into_iter().map(|place| StripeListRef { base: uploads.base, ..place }).collect())
    }
}

/// Hands over an object that is read whole.
pub fn put_whole(object: Bytes, uploads: &mut Uploads, call: &mut Call<'_>) -> Result<ObjectRef> {
    let id = Id::random();
    let (len, checksum) = (object.len() as u64, checksum(&object));
    uploads.put(keys::data(id), object, call)?;
    Ok(ObjectRef { base: uploads.base, id, offset: 0, len, checksum })
}
