//! Small pieces become larger ones: segments that follow each other are written again as one, in a layout for all of it; or
//! some products of a segment, which keeps its batches and all else.
//!
//! Entries are read as those of any tree. Nobody else sees anything of it until the commit, which fails if somebody changed
//! the same entries.

use super::basket::CutBasket;
use super::cutting::{Cutting, Order};
use super::held::{Held, while_held};
use super::matching::events_of;
use super::open::file_of_dataset;
use super::options::WriteOptions;
use super::references;
use super::segment::{Part, Writing, put_whole, sizes};
use super::template::{Template, auxiliary, open_tree};
use super::uploads::Uploads;
use rayon::ThreadPool;
use sapwood_core::{Call, Error, ErrorKind, Result};
use sapwood_rewrite::repack::input::InputTree;
use sapwood_root::{File, OpenOptions};
use sapwood_stripe::{
    Change, Dataset, Fragments, LayoutOptions, NewSegment, ObjectRef, Product, Segment, SegmentMerge, plan,
};
use sapwood_table::pool::computing;
use sapwood_table::pool::wait;
use std::collections::BTreeSet;

/// Compressed bytes of the entries that become one segment: so much is lost at most if that fails.
const LARGEST: u64 = 4 << 30;
/// Bytes of what came beside them, which is in memory.
const LARGEST_BESIDE: u64 = 128 << 20;
/// Besides those with stripes: a segment has a list, its events, and what came beside it.
const OTHER_OBJECTS: u64 = 3;

/// What was, or would be, consolidated.
#[derive(Debug, Clone, Default)]
pub struct Consolidation {
    /// The version that has it; the newest, if nothing was done.
    pub version: u64,
    /// Segments that became others, and how many these are.
    pub segments: (u64, u64),
    /// Objects of these, and how many there are in their stead; an estimate, where nothing was written.
    pub objects: (u64, u64),
    /// Bytes of stripes that are read.
    pub read: u64,
    /// Bytes that were written.
    pub written: u64,
    /// What was left as it is, and why.
    pub notes: Vec<String>,
}

/// Which products are written again.
#[derive(Debug)]
struct Chosen<'a> {
    ids: BTreeSet<u32>,
    names: Vec<&'a str>,
    /// All that there are, and what is beside them: segments become one.
    all: bool,
}

impl<'a> Chosen<'a> {
    fn new(dataset: &'a Dataset, products: Option<&[String]>) -> Result<Chosen<'a>> {
        let known = &dataset.snapshot().products;
        let unknown = |name: &&String| !known.iter().any(|product| product.name == **name);
        if let Some(name) = products.unwrap_or_default().iter().find(unknown) {
            let names: Vec<&str> = known.iter().map(|product| product.name.as_str()).collect();
            return Err(Error::new(ErrorKind::Missing, format!("the dataset has no product '{name}'"))
                .url(dataset.store().url())
                .hint(format!("it has {}", names.join(", "))));
        }
        let wanted = |one: &&Product| products.is_none_or(|products| products.contains(&one.name));
        let (ids, names) = known.iter().filter(wanted).map(|one| (one.id, one.name.as_str())).unzip();
        Ok(Chosen { ids, names, all: products.is_none() })
    }
}

/// Segments that follow each other.
#[derive(Debug, Default)]
struct Run {
    segments: Vec<u32>,
    entries: u64,
    /// Entries of a batch, if that does not change.
    batch: Option<u64>,
    /// Bytes by the places of products; of all of them; of what is beside them.
    by_product: Vec<f64>,
    bytes: u64,
    beside: u64,
    /// Objects that are needed no longer, and those that there will be.
    objects: u64,
    planned: u64,
}

/// Writes entries that lie in many small objects again, in fewer: those of segments whose objects have less than half of
/// the wanted size, on average, where that halves the number of objects. With `dry_run`, nothing is written.
///
/// Segments that follow each other become one. Of chosen `products`, each segment is looked at alone, and keeps its batches:
/// their stripes reach over as many entries as they can, and small ones share objects; all else stays as it is.
///
/// Earlier versions keep what they have.
///
/// # Errors
/// `Missing` for a product that is not there; `Conflict` if others changed the same entries meanwhile; those of reading, of the store, and of
/// [`Dataset::commit`]. The dataset is then as it was.
pub fn consolidate(
    dataset: &Dataset,
    products: Option<&[String]>,
    options: &WriteOptions,
    dry_run: bool,
    call: &mut Call<'_>,
) -> Result<Consolidation> {
    let chosen = Chosen::new(dataset, products)?;
    let fragments = dataset.fragments(&chosen.ids, call.deadline());
    let fragments = wait(fragments, call)?;
    let runs = runs(dataset, &fragments, &chosen, &options.layout);
    let mut told = Consolidation { version: dataset.version(), ..Consolidation::default() };
    if dry_run || runs.is_empty() {
        runs.iter().for_each(|run| told.count(run, run.planned));
        return Ok(told);
    }
    while_held(dataset, call, |held, call| write(dataset, &runs, &chosen, options, held, told, call))
}

fn write(
    dataset: &Dataset,
    runs: &[Run],
    chosen: &Chosen<'_>,
    options: &WriteOptions,
    held: &Held,
    mut told: Consolidation,
    call: &mut Call<'_>,
) -> Result<Consolidation> {
    let mut uploads = Uploads::of(dataset, options.base.as_deref(), call.deadline())?;
    let mut segments = Vec::new();
    for run in runs {
        let before = uploads.objects;
        match again(dataset, run, chosen, options, &mut uploads, call) {
            Ok(new) => {
                told.count(run, uploads.objects - before);
                segments.push(SegmentMerge { segments: run.segments.clone(), new });
            }
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                let of = |id: Option<&u32>| id.copied().unwrap_or_default();
                let (first, last) = (of(run.segments.first()), of(run.segments.last()));
                told.notes.push(format!("the segments {first} to {last} stay as they are: {error}"));
            }
            Err(error) => return Err(error),
        }
    }
    uploads.finish(call)?;
    told.written = uploads.sent;
    if !segments.is_empty() {
        let lists = |one: SegmentMerge| one.segments.into_iter().map(move |id| (id, one.new.lists.clone()));
        let change = match chosen.all {
            true => Change::Consolidate { segments },
            false => Change::Restripe { lists: segments.into_iter().flat_map(lists).collect() },
        };
        let committed = held.commit(dataset, &change, options.made(&[]), call)?;
        told.version = committed.version;
    }
    Ok(told)
}

impl Consolidation {
    fn count(&mut self, run: &Run, objects: u64) {
        self.segments = (self.segments.0 + run.segments.len() as u64, self.segments.1 + 1);
        self.objects = (self.objects.0 + run.objects, self.objects.1 + objects);
        self.read += run.bytes;
    }
}

/// The segments that are to be written again.
fn runs(dataset: &Dataset, fragments: &[Fragments], chosen: &Chosen<'_>, layout: &LayoutOptions) -> Vec<Run> {
    let snapshot = dataset.snapshot();
    let mut runs: Vec<Run> = Vec::new();
    let mut last: Option<&Segment> = None;
    for (segment, fragments) in snapshot.segments.iter().zip(fragments) {
        let bytes: u64 = fragments.bytes.values().sum();
        if bytes >= fragments.objects.saturating_mul(layout.target / 2) {
            last = None;
            continue;
        }
        let beside = segment.auxiliary.as_ref().map_or(0, |object| object.len);
        let open = chosen.all && last.is_some_and(|last| alike(last, segment));
        let room = |run: &&mut Run| run.bytes + bytes <= LARGEST && run.beside + beside <= LARGEST_BESIDE;
        match runs.last_mut().filter(|_| open).filter(room) {
            Some(run) => run.add(segment, fragments, beside, &snapshot.products),
            None => {
                let batch = Some(segment.batch).filter(|_| !chosen.all);
                let by_product = vec![0.0; snapshot.products.len()];
                let mut run = Run { by_product, batch, ..Run::default() };
                run.add(segment, fragments, beside, &snapshot.products);
                runs.push(run);
            }
        }
        last = Some(segment);
    }
    for run in &mut runs {
        run.plan(layout);
        if chosen.all {
            run.objects += OTHER_OBJECTS * run.segments.len() as u64;
            run.planned += OTHER_OBJECTS;
        } else {
            // Lists that are needed no longer stand in objects with others.
            run.planned += 1;
        }
    }
    runs.retain(|run| 2 * run.planned <= run.objects);
    runs
}

/// Whether two segments have the same products, and know as much of their entries.
fn alike(one: &Segment, other: &Segment) -> bool {
    one.lists.keys().eq(other.lists.keys())
        && one.events.is_some() == other.events.is_some()
        && one.auxiliary.is_some() == other.auxiliary.is_some()
}

impl Run {
    fn add(&mut self, segment: &Segment, fragments: &Fragments, beside: u64, products: &[Product]) {
        self.segments.push(segment.id);
        self.entries += segment.entries;
        self.objects += fragments.objects;
        self.beside += beside;
        for (sum, product) in self.by_product.iter_mut().zip(products) {
            let bytes = fragments.bytes.get(&product.id).copied().unwrap_or(0);
            *sum += bytes as f64;
            self.bytes += bytes;
        }
    }

    /// What is asked of its layout.
    fn layout(&self, layout: &LayoutOptions) -> LayoutOptions {
        LayoutOptions {
            entries: Some(self.entries.max(1)),
            batch: self.batch.or(layout.batch),
            ..layout.clone()
        }
    }

    /// How many objects there would be.
    fn plan(&mut self, layout: &LayoutOptions) {
        let entries = self.entries.max(1);
        // How bytes are shared between the branches of a product is not known; it hardly changes the number.
        let stored = self.by_product.iter().filter(|bytes| **bytes > 0.0);
        let sizes: Vec<_> = stored.map(|bytes| vec![bytes / entries as f64]).collect();
        let planned = plan(&sizes, &self.layout(layout));
        let (full, rest) = (entries / planned.batch, entries % planned.batch);
        let objects = planned.objects.iter().map(|object| {
            full * (planned.batch / object.entries.max(1)) + rest.div_ceil(object.entries.max(1))
        });
        self.planned = objects.sum::<u64>();
    }
}

/// The entries of a run, written again: all products, or some.
fn again(
    dataset: &Dataset,
    run: &Run,
    chosen: &Chosen<'_>,
    options: &WriteOptions,
    uploads: &mut Uploads,
    call: &mut Call<'_>,
) -> Result<NewSegment> {
    let deadline = call.deadline();
    let part = dataset.part(&run.segments)?;
    let file = file_of_dataset(&part, &OpenOptions::default().until(deadline), call)?;
    let template = Template::of_snapshot(part.snapshot(), call)?;
    let mut tree = open_tree(&file, &template.tree, call)?;
    if tree.meta.entries != run.entries {
        return Err(Error::corrupt("a segment has not as many entries as the dataset says"));
    }
    let places = template.places(&tree, true)?;
    let parts = template.products.iter().zip(places);
    let parts: Vec<Part> = parts
        .filter(|(product, _)| chosen.names.contains(&product.name.as_str()))
        .map(|(product, branches)| Part { name: product.name.clone(), branches })
        .collect();
    let branches = || parts.iter().flat_map(|part| part.branches.iter().copied());
    tree.find_baskets(branches(), call)?;
    if branches().any(|branch| tree.references(branch).are_possible()) {
        references::check(&file, call)?;
    }
    // What cannot be joined is told before anything is written.
    let (auxiliary, events) = match chosen.all {
        true => joined(&part, &file, run, options, uploads, call)?,
        false => (None, None),
    };
    let pool = computing(options.threads)?;
    let layout = run.layout(&options.layout);
    // Small baskets are mostly their headers: what larger ones have is tried out.
    let few = plan(&sizes(&tree, &parts), &layout).batch.min(run.entries);
    let sizes = tried(&tree, &parts, few, options, &pool, call)?;
    let layout = plan(&sizes, &layout);
    let writing = Writing {
        input: &tree,
        parts: &parts,
        layout: &layout,
        order: Order::From(0),
        entries: run.entries,
        compression: options.compression()?,
        statistics: !options.without_statistics,
        pool: &pool,
    };
    let lists = writing.run(uploads, call)?;
    let lists = parts.into_iter().map(|part| part.name).zip(lists).collect();
    Ok(NewSegment { entries: run.entries, batch: layout.batch, lists, events, auxiliary })
}

/// What came beside the entries of a run, and which events they are.
fn joined(
    part: &Dataset,
    file: &File,
    run: &Run,
    options: &WriteOptions,
    uploads: &mut Uploads,
    call: &mut Call<'_>,
) -> Result<(Option<ObjectRef>, Option<ObjectRef>)> {
    let (_deadline, snapshot) = (call.deadline(), part.snapshot());
    let beside = match run.beside {
        0 => None,
        _ => {
            let file = auxiliary(file, &snapshot.tree, options.threads, call)?;
            Some(put_whole(file, uploads, call)?)
        }
    };
    let known = snapshot.segments.iter().all(|segment| segment.events.is_some());
    let events = if known { events_of(part, call)? } else { None };
    let events = events.map(|events| put_whole(events.encode()?, uploads, call)).transpose()?;
    Ok((beside, events))
}

/// Bytes of each branch of each product per entry, if so many entries have one basket.
fn tried(
    tree: &InputTree,
    parts: &[Part],
    entries: u64,
    options: &WriteOptions,
    pool: &ThreadPool,
    call: &mut Call<'_>,
) -> Result<Vec<Vec<f64>>> {
    let branches = parts.iter().flat_map(|part| part.branches.iter().map(|&branch| (branch, entries)));
    let branches: Vec<_> = branches.collect();
    let (order, compression) = (Order::From(0), options.compression()?);
    let cutting = Cutting::new(tree, &branches, order, entries, entries, compression, pool)?;
    let mut bytes = Vec::new();
    cutting.run(call, &mut |batch, _| {
        let len = |baskets: &Vec<CutBasket>| baskets.iter().map(|basket| basket.record.len()).sum::<usize>();
        bytes = batch.baskets.iter().map(len).collect();
        Ok(())
    })?;
    let mut bytes = bytes.into_iter().map(|bytes| bytes as f64 / entries.max(1) as f64);
    Ok(parts.iter().map(|part| bytes.by_ref().take(part.branches.len()).collect()).collect())
}
