//! Writes the tree of all products as one record: the record of the first schema, with the branches of the others.

use super::schema::BranchOrigin;
use super::template::{Template, TemplateSchema};
use bytes::Bytes;
use sapwood_codec::Compression;
use sapwood_core::{Call, Error, Result};
use sapwood_rewrite::repack::RepackReport;
use sapwood_rewrite::repack::input::InputTree;
use sapwood_rewrite::repack::output::OutputFile;
use sapwood_root::TreeRecord;
use sapwood_tfile::write::{DirectoryId, NewKey};
use sapwood_ttree::{BasketHeader, BranchChange, ClusterChange, TreeChange};
use std::collections::HashMap;

/// A basket of a product's branch.
#[derive(Debug)]
pub struct ProductBasket {
    /// Index of the product.
    pub product: usize,
    /// Index of the branch in the product.
    pub branch: usize,
    /// First entry, in the segment.
    pub first_entry: u64,
    /// Number of entries.
    pub entries: u64,
    /// The record of the basket; empty if the branch has no basket.
    pub record: Bytes,
}

/// A tree that is being written: the tree of the first schema, with the branches of the others.
#[derive(Debug, Clone)]
pub struct UnionTreeWriter {
    name: String,
    title: String,
    class_name: String,
    outline: sapwood_ttree::TreeOutline,
    /// For each branch of the outline; `None` for branches of no product, which are dropped.
    branches: Vec<Option<BranchChange>>,
    /// For each product, the indices of its branches in the outline.
    places: Vec<Vec<usize>>,
    /// For each product, the index of its schema.
    schemas: Vec<usize>,
    of_path: HashMap<String, usize>,
    entries: u64,
    clusters: Vec<u64>,
}

impl UnionTreeWriter {
    /// The tree of a template, without entries.
    ///
    /// # Errors
    /// `Corrupt` if the products do not match the schemas; those of reading.
    pub fn new(template: &Template, call: &mut Call<'_>) -> Result<UnionTreeWriter> {
        let no_schema = || Error::corrupt("the dataset has no schema");
        let TemplateSchema { tree: first, .. } = template.schemas.first().ok_or_else(no_schema)?;
        let mut outline = (*first.outline).clone();
        let mut starts = vec![0];
        for schema in template.schemas.iter().skip(1) {
            let streamers = schema.tree.file.streamers(call)?;
            starts.push(outline.graft(&schema.tree.outline, &streamers)?);
        }
        let mut branches: Vec<Option<BranchChange>> = outline.branches.iter().map(|_| None).collect();
        let (mut places, mut of_path) = (Vec::new(), HashMap::new());
        for product in &template.products {
            let start = starts.get(product.schema).copied().ok_or_else(no_schema)?;
            let schema = template.schemas.get(product.schema).ok_or_else(no_schema)?;
            let own: Vec<usize> = product.branches.iter().map(|branch| start + branch).collect();
            for (&place, &branch) in own.iter().zip(&product.branches) {
                let (Some(slot), Some(known), Some(own)) =
                    (branches.get_mut(place), outline.branches.get(place), schema.tree.branch(branch))
                else {
                    return Err(Error::corrupt("a product has a branch that is not in its schema"));
                };
                *slot = Some(BranchChange {
                    basket_size: i32::try_from(own.basket_size).unwrap_or(i32::MAX),
                    maxima: known.maxima.iter().map(|maximum| maximum.value).collect(),
                    ..BranchChange::default()
                });
                of_path.insert(schema.tree.path(branch).to_owned(), place);
            }
            places.push(own);
        }
        Ok(UnionTreeWriter {
            name: first.name.clone(),
            title: first.title.clone(),
            class_name: first.record().class_name.clone(),
            outline,
            branches,
            places,
            schemas: template.products.iter().map(|product| product.schema).collect(),
            of_path,
            entries: 0,
            clusters: Vec::new(),
        })
    }

    /// Raises the maxima of counters to those of a segment's tree: ROOT reads no more items than the maximum.
    pub(super) fn raise(&mut self, tree: &InputTree) {
        for (branch, outline) in tree.outline.branches.iter().enumerate() {
            let place = self.of_path.get(tree.path(branch)).copied();
            let Some(change) = place.and_then(|place| self.branches.get_mut(place)).and_then(Option::as_mut)
            else {
                continue;
            };
            for (mine, maximum) in change.maxima.iter_mut().zip(&outline.maxima) {
                *mine = maximum.value.max(*mine);
            }
        }
    }

    /// The directory part of the tree's path.
    pub fn parent<'p>(&self, path: &'p str) -> &'p str {
        path.strip_suffix(&self.name).unwrap_or("")
    }

    /// Writes baskets.
    pub fn place(
        &mut self,
        baskets: Vec<ProductBasket>,
        directory: DirectoryId,
        pid_shift: u16,
        output: &mut OutputFile,
        report: &mut RepackReport,
    ) -> Result<()> {
        for basket in baskets.into_iter().filter(|basket| !basket.record.is_empty()) {
            let place = self.places.get(basket.product).and_then(|places| places.get(basket.branch)).copied();
            let change = place.and_then(|place| self.branches.get_mut(place)).and_then(Option::as_mut);
            let change = change.ok_or_else(|| Error::corrupt("a basket belongs to no branch"))?;
            let header = BasketHeader::parse(&basket.record)?;
            header.check_record(&basket.record)?;
            if header.entries as u64 != basket.entries || header.record_len != basket.record.len() {
                return Err(Error::corrupt("a basket does not match its stripe"));
            }
            let key = basket.record.slice(..header.key_len);
            let payload = basket.record.slice(header.key_len..);
            let placed = output.file.copied(directory, &key, payload, pid_shift)?;
            change.total_bytes += header.key_len as u64 + header.object_len as u64;
            change.zip_bytes += u64::from(placed.bytes);
            change.baskets.push((self.entries + basket.first_entry, placed.offset, placed.bytes));
            report.copied_baskets += 1;
            output.flush()?;
        }
        Ok(())
    }

    /// Ends a segment of this many entries, in batches of `batch`.
    pub fn end_segment(&mut self, entries: u64, batch: u64) {
        let batch = batch.max(1);
        let mut left = entries;
        while left > 0 {
            self.clusters.push(left.min(batch));
            left -= left.min(batch);
        }
        self.entries += entries;
    }

    /// Writes the tree's record.
    pub fn finish(
        &mut self,
        directory: DirectoryId,
        compression: Compression,
        output: &mut OutputFile,
    ) -> Result<()> {
        let key = NewKey::new(&self.class_name, &self.name, &self.title, output.file.wide());
        let record = self.emit(key.len(), compression)?;
        output
            .file
            .object(directory, &self.class_name, &self.name, &self.title, |buffer| buffer.bytes(&record))?;
        output.flush()
    }

    /// The tree's record, after a key of this length.
    fn emit(&mut self, key_len: u32, compression: Compression) -> Result<Vec<u8>> {
        for change in self.branches.iter_mut().flatten() {
            change.compression = compression.number();
            change.entry_number = self.entries;
        }
        let change = TreeChange {
            entries: self.entries,
            clusters: Some(ClusterChange::of_sizes(self.clusters.iter().copied())),
            branches: std::mem::take(&mut self.branches),
            drop_index: true,
        };
        self.outline.emit(key_len, &change)
    }

    /// The tree as its record in a file, without baskets; and the origin of each branch.
    pub(super) fn into_record(mut self, compression: Compression) -> Result<(TreeRecord, Vec<BranchOrigin>)> {
        // The remaining branches keep their order.
        let mut kept: Vec<(usize, BranchOrigin)> = Vec::new();
        for (product, (places, schema)) in self.places.iter().zip(&self.schemas).enumerate() {
            let own = places.iter().enumerate();
            kept.extend(
                own.map(|(branch, &place)| (place, BranchOrigin { product, branch, schema: *schema })),
            );
        }
        kept.sort_unstable_by_key(|(place, _)| *place);
        let key_len = NewKey::new(&self.class_name, &self.name, &self.title, true).len();
        let payload = self.emit(key_len, compression)?.into();
        let origins = kept.into_iter().map(|(_, origin)| origin).collect();
        let UnionTreeWriter { name, title, class_name, .. } = self;
        Ok((TreeRecord { name, title, class_name, key_len, payload }, origins))
    }
}
