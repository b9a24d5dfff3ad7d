//! Small pieces become larger ones: segments that follow each other are written again as one, in a layout for all of it.
//!
//! Their entries take the ways that there are: out as a file, and in again. Nobody else sees anything of it until the
//! commit, which fails if somebody changed the same entries.

use super::cutting::{CutBasket, Cutting, Order};
use super::export::export;
use super::held::{Held, while_held};
use super::segment::{Part, Writing, put_whole, sizes};
use super::template::{Template, auxiliary, open_tree};
use super::uploads::Uploads;
use super::writing::{WriteOptions, events_of};
use crate::pool::{computing, runtime};
use crate::repack::input::InputTree;
use crate::write::create_sink;
use crate::{File, Interrupt};
use rayon::ThreadPool;
use sapwood_core::{Error, ErrorKind, Result};
use sapwood_fetch::blocks::make_private;
use sapwood_fetch::wait;
use sapwood_source::OpenOptions;
use sapwood_stripe::{
    Change, Consolidated, Dataset, Fragments, Id, LayoutOptions, NewSegment, Product, Segment, plan,
};
use std::path::PathBuf;

/// Compressed bytes of the entries that become one segment: the file that they pass through is on the local disk.
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

/// Segments that follow each other.
#[derive(Debug, Default)]
struct Run {
    segments: Vec<u32>,
    entries: u64,
    /// Bytes by the places of products; of all of them; of what is beside them.
    by_product: Vec<f64>,
    bytes: u64,
    beside: u64,
    objects: u64,
    planned: u64,
}

/// Writes entries that lie in many small objects again, in fewer: those of segments whose objects have less than half of
/// the wanted size, on average, where that halves the number of objects. With `dry_run`, nothing is written.
///
/// Earlier versions keep what they have.
///
/// # Errors
/// `Conflict` if others changed the same entries meanwhile; those of reading, of the store, and of
/// [`Dataset::commit`]. The dataset is then as it was.
pub fn consolidate(
    dataset: &Dataset,
    options: &WriteOptions,
    dry_run: bool,
    interrupt: Interrupt<'_>,
) -> Result<Consolidation> {
    let fragments = dataset.fragments(options.deadline);
    let fragments = wait(&runtime()?, fragments, options.deadline, interrupt)?;
    let runs = runs(dataset, &fragments, &options.layout);
    let mut told = Consolidation { version: dataset.version(), ..Consolidation::default() };
    if dry_run || runs.is_empty() {
        runs.iter().for_each(|run| told.count(run, run.planned));
        return Ok(told);
    }
    while_held(dataset, options.deadline, interrupt, |held, interrupt| {
        write(dataset, &runs, options, held, told, interrupt)
    })
}

fn write(
    dataset: &Dataset,
    runs: &[Run],
    options: &WriteOptions,
    held: &Held,
    mut told: Consolidation,
    interrupt: Interrupt<'_>,
) -> Result<Consolidation> {
    let mut uploads = Uploads::of(dataset, options.base.as_deref(), options.deadline)?;
    let mut segments = Vec::new();
    for run in runs {
        let before = uploads.objects;
        match again(dataset, run, options, &mut uploads, interrupt) {
            Ok(new) => {
                told.count(run, uploads.objects - before);
                segments.push(Consolidated { segments: run.segments.clone(), new });
            }
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                let of = |id: Option<&u32>| id.copied().unwrap_or_default();
                let (first, last) = (of(run.segments.first()), of(run.segments.last()));
                told.notes.push(format!("the segments {first} to {last} stay as they are: {error}"));
            }
            Err(error) => return Err(error),
        }
    }
    uploads.finish(interrupt)?;
    told.written = uploads.sent;
    if !segments.is_empty() {
        let change = Change::Consolidate { segments };
        let committed = held.commit(dataset, &change, options.made(&[]), interrupt)?;
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
fn runs(dataset: &Dataset, fragments: &[Fragments], layout: &LayoutOptions) -> Vec<Run> {
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
        let open = last.is_some_and(|last| alike(last, segment));
        let room = |run: &&mut Run| run.bytes + bytes <= LARGEST && run.beside + beside <= LARGEST_BESIDE;
        match runs.last_mut().filter(|_| open).filter(room) {
            Some(run) => run.add(segment, fragments, beside, &snapshot.products),
            None => {
                let mut run = Run { by_product: vec![0.0; snapshot.products.len()], ..Run::default() };
                run.add(segment, fragments, beside, &snapshot.products);
                runs.push(run);
            }
        }
        last = Some(segment);
    }
    for run in &mut runs {
        run.plan(layout);
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
        self.objects += fragments.objects + OTHER_OBJECTS;
        self.beside += beside;
        for (sum, product) in self.by_product.iter_mut().zip(products) {
            let bytes = fragments.bytes.get(&product.id).copied().unwrap_or(0);
            *sum += bytes as f64;
            self.bytes += bytes;
        }
    }

    /// How many objects there would be.
    fn plan(&mut self, layout: &LayoutOptions) {
        let entries = self.entries.max(1);
        let sizes: Vec<f64> = self.by_product.iter().map(|bytes| bytes / entries as f64).collect();
        let planned = plan(&sizes, &LayoutOptions { entries: Some(entries), ..layout.clone() });
        let (full, rest) = (entries / planned.batch, entries % planned.batch);
        let objects = planned.objects.iter().map(|object| {
            full * (planned.batch / object.entries.max(1)) + rest.div_ceil(object.entries.max(1))
        });
        self.planned = objects.sum::<u64>() + OTHER_OBJECTS;
    }
}

/// The entries of a run, written again.
fn again(
    dataset: &Dataset,
    run: &Run,
    options: &WriteOptions,
    uploads: &mut Uploads,
    interrupt: Interrupt<'_>,
) -> Result<NewSegment> {
    let deadline = options.deadline;
    let part = dataset.part(&run.segments)?;
    let scratch = Scratch::new()?;
    let (path, read) = (scratch.file(), OpenOptions { deadline, ..OpenOptions::default() });
    export(&part, create_sink(&path)?, "entries.root", options.threads, deadline, interrupt)?;
    let file = File::open(&path, read, interrupt)?;
    let template = Template::of_snapshot(part.snapshot(), deadline, interrupt)?;
    let tree = open_tree(&file, &template.tree, deadline, interrupt)?;
    if tree.meta.entries != run.entries {
        return Err(Error::corrupt("a segment has not as many entries as the dataset says"));
    }
    let places = template.places(&tree, true)?;
    let parts = template.products.iter().zip(places);
    let parts: Vec<Part> =
        parts.map(|(product, branches)| Part { name: product.name.clone(), branches }).collect();
    let pool = computing(options.threads)?;
    let layout = LayoutOptions { entries: Some(run.entries), ..options.layout.clone() };
    // Small baskets are mostly their headers: what larger ones have is tried out.
    let few = plan(&sizes(&tree, &parts), &layout).batch.min(run.entries);
    let sizes = tried(&tree, &parts, few, options, &pool, interrupt)?;
    let layout = plan(&sizes, &layout);
    let writing = Writing {
        input: &tree,
        parts: &parts,
        layout: &layout,
        order: Order::From(0),
        entries: run.entries,
        compression: options.compression()?,
        pool: &pool,
        deadline,
    };
    let lists = writing.run(uploads, interrupt)?;
    let known = part.snapshot().segments.iter().all(|segment| segment.events.is_some());
    let events = if known { events_of(&part, deadline, interrupt)? } else { None };
    let events = events.map(|events| put_whole(events.encode()?, uploads, interrupt)).transpose()?;
    let auxiliary = match run.beside {
        0 => None,
        _ => {
            let file = auxiliary(&file, &template.tree, options.threads, deadline, interrupt)?;
            Some(put_whole(file, uploads, interrupt)?)
        }
    };
    let lists = parts.into_iter().map(|part| part.name).zip(lists).collect();
    Ok(NewSegment { entries: run.entries, batch: layout.batch, lists, events, auxiliary })
}

/// Bytes of each product per entry, if so many entries have one basket.
fn tried(
    tree: &InputTree,
    parts: &[Part],
    entries: u64,
    options: &WriteOptions,
    pool: &ThreadPool,
    interrupt: Interrupt<'_>,
) -> Result<Vec<f64>> {
    let branches = parts.iter().flat_map(|part| part.branches.iter().map(|&branch| (branch, entries)));
    let branches: Vec<_> = branches.collect();
    let (order, compression) = (Order::From(0), options.compression()?);
    let cutting = Cutting::new(tree, &branches, order, entries, entries, compression, pool)?;
    let mut bytes = Vec::new();
    cutting.run(options.deadline, interrupt, &mut |batch, _| {
        let len = |baskets: &Vec<CutBasket>| baskets.iter().map(|basket| basket.record.len()).sum::<usize>();
        bytes = batch.baskets.iter().map(len).collect();
        Ok(())
    })?;
    let mut bytes = bytes.into_iter();
    let of_part = |part: &Part| bytes.by_ref().take(part.branches.len()).sum::<usize>();
    Ok(parts.iter().map(of_part).map(|bytes| bytes as f64 / entries.max(1) as f64).collect())
}

/// A folder that nobody else may look into, and is removed when it is not needed.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch> {
        let folder = std::env::temp_dir().join(format!("sapwood-{}", Id::random()));
        make_private(&folder).map_err(|error| {
            Error::new(ErrorKind::Io, format!("no temporary folder can be made at {}", folder.display()))
                .caused_by(error)
        })?;
        Ok(Scratch(folder))
    }

    fn file(&self) -> String {
        self.0.join("entries.root").to_string_lossy().into_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            log::warn!("{} was not removed: {error}", self.0.display());
        }
    }
}
