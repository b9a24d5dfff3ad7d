//! What lanes take their batches from: the baskets of a tree, the blocks of a flat file, or nothing.

use super::claim::{Claim, Content, SharedBasket};
use super::column::Column;
use super::events::EventColumns;
use super::flat_input::{FlatFeed, FlatFile};
use super::options::{ChainOptions, ChainSource};
use sapwood_core::{ByteRange, Call, Error, Result};
use sapwood_dataset::{BasketForm, Template, open_tree, same_references, view_of};
use sapwood_fetch::{Ahead, Job, ReadAhead};
use sapwood_root::{File, Tree};
use sapwood_table::pool::runtime;
use sapwood_tfile::write::{FileStamp, pid_offset};
use sapwood_ttree::{BasketRef, Meaning, References};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Compressed bytes, and batches, that are fetched ahead.
const AHEAD: u64 = 32 << 20;
const BATCHES_AHEAD: usize = 64;

/// A source that is open.
pub(super) struct ChainInput {
    /// The products of the tree; none of a source without columns.
    pub(super) template: Option<Template>,
    /// The branches of all products.
    pub(super) columns: Vec<Column>,
    /// Compressed bytes of each per entry, as far as they are known.
    pub(super) sizes: Vec<f64>,
    pub(super) entries: u64,
    /// Which of the columns say what events they are.
    pub(super) events: Option<EventColumns>,
}

/// Batches, in order.
pub(super) struct Feed {
    source: Source,
    entries: u64,
    batch: u64,
    next: u64,
}

enum Source {
    Tree(TreeFeed),
    Flat(Box<FlatFeed>),
    Empty,
}

impl ChainInput {
    /// Opens a source, and finds out what its columns are; true if what becomes of it is `kept`.
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
        let _deadline = call.deadline();
        let tree = file.tree(path, None, call)?;
        let (template, places) = match view_of(file) {
            // What is kept needs one schema, that is right for all segments.
            Some(dataset) if !kept => {
                let template = Template::of_snapshot(&dataset.snapshot, call)?;
                (template, (0..tree.branches().len()).collect())
            }
            _ => {
                let input = open_tree(file, path, call)?;
                let template = Template::of_tree(&input, path, None, call)?;
                let places = places(&template, &tree)?;
                (template, places)
            }
        };
        tree.find_baskets(&places, call)?;
        let (mut columns, events) = columns(&template, call)?;
        if columns.len() != places.len() {
            return Err(Error::corrupt("the products have other branches than the tree").url(file.url()));
        }
        let (entries, mut slots, mut sizes) = (taken(tree.entries(), options), Vec::new(), Vec::new());
        for (column, place) in columns.iter_mut().zip(places) {
            let slot = slot(&tree, place)?;
            column.has_data = !slot.baskets.is_empty();
            let bytes: u64 = slot.baskets.iter().map(stored_len).sum();
            sizes.push(bytes as f64 / tree.entries().max(1) as f64);
            slots.push(slot);
        }
        if kept && columns.iter().any(|column| column.form.references.are_possible()) {
            same_references(file, call)?;
        }
        let plan = Plan { slots, entries, batch: options.batch };
        let source = Source::Tree(TreeFeed::new(&tree, plan, &columns)?);
        let opened = ChainInput { template: Some(template), columns, sizes, entries, events };
        Ok((opened, Feed { source, entries, batch: options.batch, next: 0 }))
    }
}

/// Where the branches of all products are in a tree.
fn places(template: &Template, tree: &Tree) -> Result<Vec<usize>> {
    let places: HashMap<&str, usize> =
        tree.branches().iter().enumerate().map(|(place, branch)| (branch.path.as_str(), place)).collect();
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

/// The branches of all products, one after the other, as their schemas describe them; and those that name the events.
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
            let outcome = tree.branch_types().get(branch).ok_or_else(lost)?;
            let interpretation = match &outcome.meaning {
                // Those that another column counts object by object would need it at hand.
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

/// A branch of the tree that is read.
struct Slot {
    baskets: Vec<BasketRef>,
    /// Which of the tree's files holds them.
    file: usize,
}

fn slot(tree: &Tree, place: usize) -> Result<Slot> {
    let lost = || Error::corrupt("a branch is missing");
    let branch = tree.branches().get(place).ok_or_else(lost)?;
    let broken = |error: Error| error.branch(&branch.path).url(tree.file().url());
    if let Some(why) = &branch.broken {
        return Err(broken(Error::unsupported(why.clone())));
    }
    let baskets = tree.baskets(place).to_vec();
    let whole = baskets.iter().try_fold(0, |next, basket| {
        (basket.first_entry == next).then_some(basket.first_entry + basket.entries)
    });
    if !baskets.is_empty() && whole != Some(tree.entries()) {
        let message = "the branch does not have all entries of the tree, one after the other";
        return Err(broken(Error::unsupported(message)));
    }
    Ok(Slot { baskets, file: tree.tree_table().file(place)? })
}

/// Which baskets each batch needs.
struct Plan {
    slots: Vec<Slot>,
    entries: u64,
    batch: u64,
}

impl Plan {
    fn range(&self, batch: u64) -> Range<u64> {
        let first = batch.saturating_mul(self.batch);
        first..first.saturating_add(self.batch).min(self.entries)
    }

    fn needed(&self, slot: &Slot, batch: u64) -> Range<usize> {
        let range = self.range(batch);
        let from = slot.baskets.partition_point(|basket| basket.first_entry + basket.entries <= range.start);
        from..slot.baskets.partition_point(|basket| basket.first_entry < range.end)
    }

    /// The baskets that no batch before needed.
    fn first_needed(&self, slot: &Slot, batch: u64) -> Range<usize> {
        let needed = self.needed(slot, batch);
        let known = batch.checked_sub(1).map_or(0, |before| self.needed(slot, before).end);
        needed.start.max(known)..needed.end
    }

    /// What is to be fetched from a file for a batch, and of which columns.
    fn job(&self, batch: u64, file: usize) -> Job<Vec<(usize, usize)>> {
        let mut job = Job { wanted: Vec::new(), tag: Vec::new() };
        for (place, slot) in self.slots.iter().enumerate().filter(|(_, slot)| slot.file == file) {
            for basket in self.first_needed(slot, batch) {
                let reference = slot.baskets.get(basket).filter(|one| one.embedded.is_none());
                if let Some(reference) = reference {
                    job.tag.push((place, basket));
                    job.wanted.push(ByteRange { start: reference.offset, len: reference.len });
                }
            }
        }
        job
    }
}

/// The baskets of a tree, batch by batch.
struct TreeFeed {
    plan: Arc<Plan>,
    url: String,
    readers: Vec<ReadAhead<Vec<(usize, usize)>>>,
    /// Of each column, whether objects in it may refer to others.
    references: Vec<References>,
    /// Of each column, the last basket of the batch before.
    kept: Vec<Option<(usize, Arc<SharedBasket>)>>,
}

impl TreeFeed {
    fn new(tree: &Tree, plan: Plan, columns: &[Column]) -> Result<TreeFeed> {
        let plan = Arc::new(plan);
        let mut files: Vec<usize> = plan.slots.iter().map(|slot| slot.file).collect();
        files.sort_unstable();
        files.dedup();
        let (batches, handle) = (plan.entries.div_ceil(plan.batch), runtime()?);
        let readers = files.into_iter().map(|file| {
            let jobs = Arc::clone(&plan);
            let jobs = (0..batches).map(move |batch| jobs.job(batch, file));
            let ahead = Ahead { jobs: BATCHES_AHEAD, bytes: AHEAD };
            ReadAhead::new(jobs, tree.table().fetcher(file), handle.clone(), ahead)
        });
        Ok(TreeFeed {
            url: tree.file().url().to_owned(),
            readers: readers.collect(),
            references: columns.iter().map(|column| column.form.references.clone()).collect(),
            kept: columns.iter().map(|_| None).collect(),
            plan,
        })
    }

    /// The baskets of a batch, and how many bytes had to be read for them.
    fn claim(&mut self, batch: u64, call: &mut Call<'_>) -> Result<(Vec<Vec<Arc<SharedBasket>>>, u64)> {
        let mut fetched = HashMap::new();
        for reader in &mut self.readers {
            let answer = reader.next(call.deadline(), call.interrupt());
            let (tags, bytes) = answer.ok_or_else(|| Error::corrupt("a batch was not fetched"))??;
            fetched.extend(tags.into_iter().zip(bytes));
        }
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
