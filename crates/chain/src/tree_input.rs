//! The input of a chain from a tree: its columns, and what a fetched basket becomes.

use super::chunk_feed::ChunkFeed;
use super::claim::SharedBasket;
use super::column::Column;
use super::events::EventColumns;
use super::input::ChainInput;
use super::options::ChainOptions;
use bytes::Bytes;
use sapwood_core::{Call, Error, Result};
use sapwood_dataset::{BasketForm, Template, open_tree, same_references, view_of};
use sapwood_root::{File, Tree};
use sapwood_table::{Chunk, Selection};
use sapwood_tfile::write::{FileStamp, pid_offset};
use sapwood_ttree::{BasketRef, Meaning, References};
use std::collections::HashMap;
use std::sync::Arc;

/// Opens a tree and finds its columns. `kept` is true if the output is kept.
pub(super) fn open_tree_input(
    file: &File,
    path: &str,
    options: &ChainOptions,
    kept: bool,
    call: &mut Call<'_>,
) -> Result<(ChainInput, TreeFeed)> {
    let tree = file.tree(path, None, call)?;
    let (template, places) = match view_of(file) {
        // An output that is kept needs one schema that fits all segments.
        Some(dataset) if !kept => {
            let template = Template::of_snapshot(&dataset.snapshot, call)?;
            (template, (0..tree.column_count()).collect())
        }
        _ => {
            let input = open_tree(file, path, call)?;
            let template = Template::of_tree(&input, path, None, call)?;
            let places = places(&template, &tree)?;
            (template, places)
        }
    };
    let selections: Vec<Selection> = places.iter().copied().map(Selection::whole).collect();
    tree.table().locate(&selections, call)?;
    let (mut columns, events) = columns(&template, call)?;
    if columns.len() != places.len() {
        return Err(Error::corrupt("the branches of the products are not those of the tree").url(file.url()));
    }
    let (entries, mut chunks, mut embedded, mut sizes) =
        (options.taken(tree.entries()), Vec::new(), HashMap::new(), Vec::new());
    for (column, (number, selection)) in columns.iter_mut().zip(selections.iter().enumerate()) {
        let found = whole_column(&tree, selection)?;
        let mut bytes: u64 = found.iter().map(|chunk| chunk.range.len).sum();
        for basket in tree.ttree()?.baskets(selection.column) {
            if let Some(held) = &basket.embedded {
                bytes += held.len() as u64;
                embedded.insert((number, basket.first_entry), held.clone());
            }
        }
        column.has_data = !found.is_empty();
        sizes.push(bytes as f64 / tree.entries().max(1) as f64);
        chunks.push(found);
    }
    if kept && columns.iter().any(|column| column.form.references.are_possible()) {
        same_references(file, call)?;
    }
    let feed = TreeFeed {
        chunks: ChunkFeed::new(tree.table(), chunks, entries, options.batch)?,
        url: file.url().to_owned(),
        references: columns.iter().map(|column| column.form.references.clone()).collect(),
        embedded,
    };
    Ok((ChainInput { template: Some(template), columns, sizes, entries, events }, feed))
}

/// The indices in a tree of the branches of all products.
fn places(template: &Template, tree: &Tree) -> Result<Vec<usize>> {
    let places: HashMap<&str, usize> =
        (0..tree.column_count()).map(|place| (tree.branch_path(place), place)).collect();
    let paths = template.products.iter().flat_map(|product| {
        let schema = template.schemas.get(product.schema);
        product.branches.iter().map(move |&branch| schema.map_or("", |schema| schema.tree.path(branch)))
    });
    let places = paths.map(|path| {
        let lost = || Error::corrupt("a branch is missing").branch(path).url(tree.file().url());
        places.get(path).copied().ok_or_else(lost)
    });
    places.collect()
}

/// The branches of all products in order, as their schemas describe them; and those with event numbers.
pub(super) fn columns(
    template: &Template,
    call: &mut Call<'_>,
) -> Result<(Vec<Column>, Option<EventColumns>)> {
    let made = FileStamp::now().time;
    let mut trees: Vec<Tree> = Vec::with_capacity(template.schemas.len());
    for schema in &template.schemas {
        trees.push(schema.tree.file.tree(&template.tree, None, call)?);
    }
    let lost = || Error::corrupt("a product has a branch that its schema lacks");
    let mut columns = Vec::new();
    for product in &template.products {
        let (schema, tree) =
            template.schemas.get(product.schema).zip(trees.get(product.schema)).ok_or_else(lost)?;
        for &branch in &product.branches {
            let outcome = tree.ttree()?.branch_types().get(branch).ok_or_else(lost)?;
            let interpretation = match &outcome.meaning {
                // Columns that another one counts object by object would need that one as well.
                Meaning::Column(column) if !column.counts_objects() => Some(column.clone()),
                _ => None,
            };
            let form = BasketForm::of(&schema.tree, branch, made)?;
            let path = schema.tree.path(branch).to_owned();
            columns.push(Column { path, has_data: true, interpretation, form });
        }
    }
    let events = EventColumns::of(template, &trees, &columns);
    Ok((columns, events))
}

/// The chunks of a branch, which must hold all entries.
fn whole_column(tree: &Tree, selection: &Selection) -> Result<Vec<Chunk>> {
    let broken = |error: Error| error.branch(tree.branch_path(selection.column)).url(tree.file().url());
    let branch = tree.ttree()?.branches().get(selection.column);
    if let Some(why) = branch.and_then(|branch| branch.broken.as_ref()) {
        return Err(broken(Error::unsupported(why.clone())));
    }
    let chunks = tree.table().chunks(selection, &(0..tree.entries())).map_err(broken)?;
    let next = |next, chunk: &Chunk| (chunk.entries.start == next).then_some(chunk.entries.end);
    if !chunks.is_empty() && chunks.iter().try_fold(0, next) != Some(tree.entries()) {
        let message = "the baskets of the branch do not hold all entries of the tree in order";
        return Err(broken(Error::unsupported(message)));
    }
    Ok(chunks)
}

/// Delivers the baskets of a tree, batch by batch.
pub(super) struct TreeFeed {
    chunks: ChunkFeed<SharedBasket>,
    url: String,
    /// For each column, whether its objects may refer to others.
    references: Vec<References>,
    /// The baskets in the tree's record, by column and first entry.
    embedded: HashMap<(usize, u64), Bytes>,
}

impl TreeFeed {
    /// The baskets of a batch, and how many bytes were read for them.
    pub(super) fn claim(
        &mut self,
        batch: u64,
        call: &mut Call<'_>,
    ) -> Result<(Vec<Vec<Arc<SharedBasket>>>, u64)> {
        let (mut read, lost) = (0, || Error::corrupt("a basket was not fetched"));
        let baskets = self.chunks.claim(batch, call, |column, chunk, bytes| {
            let first_entry = chunk.entries.start;
            let embedded = match chunk.is_stored() {
                true => None,
                false => Some(self.embedded.get(&(column, first_entry)).ok_or_else(lost)?.clone()),
            };
            let bytes = embedded.clone().unwrap_or(bytes);
            let references = self.references.get(column).ok_or_else(lost)?.clone();
            if references.are_possible() && pid_offset(&bytes) != 0 {
                let message =
                    "the objects of a branch may refer to others by the process ids of a merged file";
                return Err(Error::unsupported(message));
            }
            read += bytes.len() as u64;
            let (entries, range) = (chunk.entries.end - first_entry, chunk.range);
            let basket = BasketRef { first_entry, entries, offset: range.start, len: range.len, embedded };
            Ok(SharedBasket::new(basket, bytes, references))
        });
        Ok((baskets.map_err(|error| error.url(&self.url))?, read))
    }
}
