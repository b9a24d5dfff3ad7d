//! The source of the lanes' batches: the baskets of a tree, the blocks of a flat file, or nothing.

use super::claim::{Claim, Content, SharedBasket};
use super::column::Column;
use super::events::EventColumns;
use super::flat_input::{FlatFeed, FlatFile};
use super::options::{ChainOptions, ChainSource};
use bytes::Bytes;
use sapwood_core::{ByteRange, Call, Error, Result};
use sapwood_dataset::{BasketForm, Template, open_tree, same_references, view_of};
use sapwood_fetch::{Ahead, FileIndex, Job, ReadAhead};
use sapwood_root::{File, Tree};
use sapwood_table::pool::read_ahead;
use sapwood_tfile::write::{FileStamp, pid_offset};
use sapwood_ttree::{BasketRef, Meaning, References};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Compressed bytes, and batches, to fetch ahead.
const AHEAD: u64 = 32 << 20;
const BATCHES_AHEAD: usize = 64;

/// An open source.
pub(super) struct ChainInput {
    /// The products of the tree; none if the source has no columns.
    pub(super) template: Option<Template>,
    /// The branches of all products.
    pub(super) columns: Vec<Column>,
    /// Compressed bytes of each column per entry, as far as known.
    pub(super) sizes: Vec<f64>,
    pub(super) entries: u64,
    /// The columns with event numbers.
    pub(super) events: Option<EventColumns>,
}

/// Delivers batches in order.
pub(super) struct Feed {
    source: Source,
    entries: u64,
    batch: u64,
    next: u64,
}

enum Source {
    Tree(Box<TreeFeed>),
    Flat(Box<FlatFeed>),
    Empty,
}

impl ChainInput {
    /// Opens a source and finds its columns. `kept` is true if the output is kept.
    pub(super) fn new(
        source: &ChainSource,
        options: &ChainOptions,
        kept: bool,
        call: &mut Call<'_>,
    ) -> Result<(ChainInput, Feed)> {
        match source {
            ChainSource::Tree(file, path) => ChainInput::tree(file, path, options, kept, call),
            ChainSource::Flat(url, open) => {
                let flat = FlatFile::open(url, open, call)?;
                let template = flat.template(call)?;
                let (mut columns, events) = columns(&template, call)?;
                flat.describe(&mut columns)?;
                let (sizes, entries) = (flat.sizes(), taken(flat.entries(), options));
                let source = Source::Flat(Box::new(FlatFeed::new(flat, &columns, entries)?));
                let template = Some(template);
                let opened = ChainInput { template, columns, sizes, entries, events };
                Ok((opened, Feed { source, entries, batch: options.batch, next: 0 }))
            }
            ChainSource::Empty(entries) => {
                let entries = taken(*entries, options);
                let (template, events, columns, sizes) = (None, None, Vec::new(), Vec::new());
                let opened = ChainInput { template, columns, sizes, entries, events };
                Ok((opened, Feed { source: Source::Empty, entries, batch: options.batch, next: 0 }))
            }
        }
    }

    fn tree(
        file: &File,
        path: &str,
        options: &ChainOptions,
        kept: bool,
        call: &mut Call<'_>,
    ) -> Result<(ChainInput, Feed)> {
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
        tree.ttree()?.locate_baskets(&places, call)?;
        let (mut columns, events) = columns(&template, call)?;
        if columns.len() != places.len() {
            return Err(
                Error::corrupt("the branches of the products are not those of the tree").url(file.url())
            );
        }
        let (entries, mut slots, mut sizes) = (taken(tree.entries(), options), Vec::new(), Vec::new());
        for (column, place) in columns.iter_mut().zip(places) {
            let slot = branch_baskets(&tree, place)?;
            column.has_data = !slot.baskets.is_empty();
            let bytes: u64 = slot.baskets.iter().map(stored_len).sum();
            sizes.push(bytes as f64 / tree.entries().max(1) as f64);
            slots.push(slot);
        }
        if kept && columns.iter().any(|column| column.form.references.are_possible()) {
            same_references(file, call)?;
        }
        let plan = FeedPlan { slots, entries, batch: options.batch };
        let source = Source::Tree(Box::new(TreeFeed::new(&tree, plan, &columns)?));
        let opened = ChainInput { template: Some(template), columns, sizes, entries, events };
        Ok((opened, Feed { source, entries, batch: options.batch, next: 0 }))
    }
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

fn taken(entries: u64, options: &ChainOptions) -> u64 {
    options.entries.map_or(entries, |most| most.min(entries))
}

/// The branches of all products in order, as their schemas describe them; and those with event numbers.
fn columns(template: &Template, call: &mut Call<'_>) -> Result<(Vec<Column>, Option<EventColumns>)> {
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

fn stored_len(basket: &BasketRef) -> u64 {
    basket.embedded.as_ref().map_or(basket.len, |bytes| bytes.len() as u64)
}

/// The baskets of a branch.
struct BranchBaskets {
    baskets: Vec<BasketRef>,
    /// The file that holds them.
    file: FileIndex,
}

fn branch_baskets(tree: &Tree, place: usize) -> Result<BranchBaskets> {
    let lost = || Error::corrupt("a branch is missing");
    let table = tree.ttree()?;
    let branch = table.branches().get(place).ok_or_else(lost)?;
    let broken = |error: Error| error.branch(&branch.path).url(tree.file().url());
    if let Some(why) = &branch.broken {
        return Err(broken(Error::unsupported(why.clone())));
    }
    let baskets = table.baskets(place).to_vec();
    let whole = baskets.iter().try_fold(0, |next, basket| {
        (basket.first_entry == next).then_some(basket.first_entry + basket.entries)
    });
    if !baskets.is_empty() && whole != Some(tree.entries()) {
        let message = "the baskets of the branch do not hold all entries of the tree in order";
        return Err(broken(Error::unsupported(message)));
    }
    Ok(BranchBaskets { baskets, file: table.file(place)? })
}

/// The baskets that each batch needs.
struct FeedPlan {
    slots: Vec<BranchBaskets>,
    entries: u64,
    batch: u64,
}

impl FeedPlan {
    fn range(&self, batch: u64) -> Range<u64> {
        let first = batch.saturating_mul(self.batch);
        first..first.saturating_add(self.batch).min(self.entries)
    }

    fn needed(&self, slot: &BranchBaskets, batch: u64) -> Range<usize> {
        let range = self.range(batch);
        let from = slot.baskets.partition_point(|basket| basket.first_entry + basket.entries <= range.start);
        from..slot.baskets.partition_point(|basket| basket.first_entry < range.end)
    }

    /// The baskets of a batch that no batch before it needed.
    fn first_needed(&self, slot: &BranchBaskets, batch: u64) -> Range<usize> {
        let needed = self.needed(slot, batch);
        let known = batch.checked_sub(1).map_or(0, |before| self.needed(slot, before).end);
        needed.start.max(known)..needed.end
    }

    /// The baskets to fetch for a batch, tagged with column and basket.
    fn job(&self, batch: u64) -> Job<Vec<(usize, usize)>> {
        let mut job = Job { wanted: Vec::new(), tag: Vec::new() };
        for (place, slot) in self.slots.iter().enumerate() {
            for basket in self.first_needed(slot, batch) {
                let reference = slot.baskets.get(basket).filter(|one| one.embedded.is_none());
                if let Some(reference) = reference {
                    job.tag.push((place, basket));
                    let range = ByteRange { start: reference.offset, len: reference.len };
                    job.wanted.push((slot.file, range));
                }
            }
        }
        job
    }
}

/// Delivers the baskets of a tree, batch by batch.
struct TreeFeed {
    plan: Arc<FeedPlan>,
    url: String,
    reader: ReadAhead<Vec<(usize, usize)>>,
    /// For each column, whether its objects may refer to others.
    references: Vec<References>,
    /// For each column, the last basket of the previous batch, and its index.
    kept: Vec<Option<(usize, Arc<SharedBasket>)>>,
}

impl TreeFeed {
    fn new(tree: &Tree, plan: FeedPlan, columns: &[Column]) -> Result<TreeFeed> {
        let plan = Arc::new(plan);
        let (batches, of_jobs) = (plan.entries.div_ceil(plan.batch), Arc::clone(&plan));
        let table = tree.table();
        let jobs = (0..batches).map(move |batch| of_jobs.job(batch));
        let ahead = Ahead { jobs: BATCHES_AHEAD, bytes: AHEAD };
        Ok(TreeFeed {
            url: tree.file().url().to_owned(),
            reader: read_ahead(jobs, move |file| table.fetcher(file), ahead)?,
            references: columns.iter().map(|column| column.form.references.clone()).collect(),
            kept: columns.iter().map(|_| None).collect(),
            plan,
        })
    }

    /// The baskets of a batch, and how many bytes were read for them.
    fn claim(&mut self, batch: u64, call: &mut Call<'_>) -> Result<(Vec<Vec<Arc<SharedBasket>>>, u64)> {
        let answer = self.reader.next(call).ok_or_else(|| Error::corrupt("a batch was not fetched"))?;
        let (tags, bytes) = answer?;
        let mut fetched: HashMap<(usize, usize), Bytes> = tags.into_iter().zip(bytes).collect();
        let (mut read, mut columns) = (0, Vec::with_capacity(self.plan.slots.len()));
        for (place, (slot, kept)) in self.plan.slots.iter().zip(&mut self.kept).enumerate() {
            let mut baskets = Vec::new();
            for index in self.plan.needed(slot, batch) {
                if let Some((_, known)) = kept.as_ref().filter(|(known, _)| *known == index) {
                    baskets.push(Arc::clone(known));
                    continue;
                }
                let lost = || Error::corrupt("a basket was not fetched").url(&self.url);
                let basket = slot.baskets.get(index).ok_or_else(lost)?.clone();
                let bytes = basket.embedded.clone().or_else(|| fetched.remove(&(place, index)));
                let bytes = bytes.ok_or_else(lost)?;
                let references = self.references.get(place).ok_or_else(lost)?.clone();
                if references.are_possible() && pid_offset(&bytes) != 0 {
                    return Err(Error::unsupported(
                        "the objects of a branch may refer to others by the process ids of a merged file",
                    )
                    .url(&self.url));
                }
                read += bytes.len() as u64;
                let stored = Arc::new(SharedBasket::new(basket, bytes, references));
                *kept = Some((index, Arc::clone(&stored)));
                baskets.push(stored);
            }
            columns.push(baskets);
        }
        Ok((columns, read))
    }
}

impl Feed {
    /// The next batch; none after the last.
    pub(super) fn claim(&mut self, call: &mut Call<'_>) -> Result<Option<Claim>> {
        let first = self.next.saturating_mul(self.batch);
        if first >= self.entries {
            return Ok(None);
        }
        let (number, entries) = (self.next, self.batch.min(self.entries - first));
        self.next += 1;
        let (content, read_bytes) = match &mut self.source {
            Source::Tree(feed) => {
                let (baskets, read) = feed.claim(number, call)?;
                (Content::Baskets(baskets), read)
            }
            Source::Flat(feed) => {
                let (blocks, read) = feed.claim(first..first + entries, call)?;
                (Content::Blocks(blocks), read)
            }
            Source::Empty => (Content::Nothing, 0),
        };
        Ok(Some(Claim { number, first, entries, read_bytes, content }))
    }
}
