//! Merges small objects into larger ones: rewrites consecutive segments as one, with a layout for all their entries; or
//! rewrites some products of a segment, which otherwise stays the same.
//!
//! Entries are read like those of any tree. Nothing is visible before the commit, which fails if the same entries were
//! changed concurrently.

use super::basket::CutBasket;
use super::cutting::{EntryOrder, SegmentCutter};
use super::matching::events_of;
use super::open::file_of_dataset;
use super::options::WriteOptions;
use super::references;
use super::segment::{InputProduct, SegmentWriter, find_baskets, put_object, sizes};
use super::template::{Template, auxiliary, open_tree};
use super::uploads::Uploads;
use super::writer_lease::{WriterLease, with_writer_lease};
use rayon::ThreadPool;
use sapwood_core::{Call, Error, ErrorKind, Result};
use sapwood_rewrite::repack::input::InputTree;
use sapwood_root::{File, OpenOptions};
use sapwood_stripe::{
    Change, Dataset, Fragments, LayoutOptions, NewSegment, ObjectRef, Product, Segment, SegmentMerge, plan,
};
use sapwood_table::pool::{computing, wait};
use std::collections::BTreeSet;

/// Most compressed bytes of a merged segment, which bounds the work that a failure loses.
const LARGEST: u64 = 4 << 30;
/// Most bytes of its auxiliary files, which are merged in memory.
const LARGEST_AUXILIARY: u64 = 128 << 20;
/// Objects of a segment that hold no stripes: a list, an index of events, an auxiliary file.
const OTHER_OBJECTS: u64 = 3;

/// The result of a consolidation, or its plan.
#[derive(Debug, Clone, Default)]
pub struct ConsolidationReport {
    /// The version after it; the current one if nothing changed.
    pub version: u64,
    /// Number of rewritten segments, before and after.
    pub segments: (u64, u64),
    /// Number of their objects, before and after; an estimate for a dry run.
    pub objects: (u64, u64),
    /// Bytes of stripes to read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Segments that were skipped, and why.
    pub notes: Vec<String>,
}

/// The products to rewrite.
#[derive(Debug)]
struct ProductSelection<'a> {
    ids: BTreeSet<u32>,
    names: Vec<&'a str>,
    /// All products, and the auxiliary files: segments are merged.
    all: bool,
}

impl<'a> ProductSelection<'a> {
    fn new(dataset: &'a Dataset, products: Option<&[String]>) -> Result<ProductSelection<'a>> {
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
        Ok(ProductSelection { ids, names, all: products.is_none() })
    }
}

/// Consecutive segments to rewrite.
#[derive(Debug, Default)]
struct SegmentRun {
    segments: Vec<u32>,
    entries: u64,
    /// Entries of a batch, if they must stay the same.
    batch: Option<u64>,
    /// Bytes of each product.
    by_product: Vec<f64>,
    /// Bytes of all products.
    bytes: u64,
    /// Bytes of the auxiliary files.
    auxiliary: u64,
    /// Number of objects now.
    objects: u64,
    /// Number of objects after the consolidation.
    planned: u64,
}

/// Writes entries that lie in many small objects again, in fewer: those of segments whose objects have less than half of
/// the wanted size, on average, where that halves the number of objects. With `dry_run`, nothing is written.
///
/// Segments that follow each other become one. If `products` are chosen, each segment is looked at alone, and keeps its
/// batches: their stripes reach over as many entries as they can, and small ones share objects; all else stays as it
/// is.
///
/// Earlier versions keep what they have.
///
/// # Errors
/// `Missing` for a product that is not there; `Conflict` if others changed the same entries in the meantime; those of
/// reading, of the store, and of [`Dataset::commit`]. The dataset is then as it was.
pub fn consolidate(
    dataset: &Dataset,
    products: Option<&[String]>,
    options: &WriteOptions,
    dry_run: bool,
    call: &mut Call<'_>,
) -> Result<ConsolidationReport> {
    let chosen = ProductSelection::new(dataset, products)?;
    let fragments = wait(dataset.fragments(&chosen.ids, call.deadline()), call)?;
    let runs = runs(dataset, &fragments, &chosen, &options.layout);
    let mut report = ConsolidationReport { version: dataset.version(), ..ConsolidationReport::default() };
    if dry_run || runs.is_empty() {
        runs.iter().for_each(|run| report.count(run, run.planned));
        return Ok(report);
    }
    with_writer_lease(dataset, call, |lease, call| {
        write(dataset, &runs, &chosen, options, lease, report, call)
    })
}

fn write(
    dataset: &Dataset,
    runs: &[SegmentRun],
    chosen: &ProductSelection<'_>,
    options: &WriteOptions,
    lease: &WriterLease,
    mut report: ConsolidationReport,
    call: &mut Call<'_>,
) -> Result<ConsolidationReport> {
    let mut uploads = Uploads::of(dataset, options.base.as_deref(), call.deadline())?;
    let mut segments = Vec::new();
    for run in runs {
        let before = uploads.objects;
        match rewrite(dataset, run, chosen, options, &mut uploads, call) {
            Ok(new) => {
                report.count(run, uploads.objects - before);
                segments.push(SegmentMerge { segments: run.segments.clone(), new });
            }
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                let of = |id: Option<&u32>| id.copied().unwrap_or_default();
                let (first, last) = (of(run.segments.first()), of(run.segments.last()));
                report.notes.push(format!("segments {first} to {last} were skipped: {error}"));
            }
            Err(error) => return Err(error),
        }
    }
    uploads.finish(call)?;
    report.written = uploads.sent;
    if !segments.is_empty() {
        let lists = |one: SegmentMerge| one.segments.into_iter().map(move |id| (id, one.new.lists.clone()));
        let change = match chosen.all {
            true => Change::Consolidate { segments },
            false => Change::Restripe { lists: segments.into_iter().flat_map(lists).collect() },
        };
        let committed = lease.commit(dataset, &change, options.made(&[]), call)?;
        report.version = committed.version;
    }
    Ok(report)
}

impl ConsolidationReport {
    fn count(&mut self, run: &SegmentRun, objects: u64) {
        self.segments = (self.segments.0 + run.segments.len() as u64, self.segments.1 + 1);
        self.objects = (self.objects.0 + run.objects, self.objects.1 + objects);
        self.read += run.bytes;
    }
}

/// The segments to rewrite.
fn runs(
    dataset: &Dataset,
    fragments: &[Fragments],
    chosen: &ProductSelection<'_>,
    layout: &LayoutOptions,
) -> Vec<SegmentRun> {
    let snapshot = dataset.snapshot();
    let mut runs: Vec<SegmentRun> = Vec::new();
    let mut last: Option<&Segment> = None;
    for (segment, fragments) in snapshot.segments.iter().zip(fragments) {
        let bytes: u64 = fragments.bytes.values().sum();
        if bytes >= fragments.objects.saturating_mul(layout.target / 2) {
            last = None;
            continue;
        }
        let auxiliary = segment.auxiliary.as_ref().map_or(0, |object| object.len);
        let open = chosen.all && last.is_some_and(|last| alike(last, segment));
        let room = |run: &&mut SegmentRun| {
            run.bytes + bytes <= LARGEST && run.auxiliary + auxiliary <= LARGEST_AUXILIARY
        };
        match runs.last_mut().filter(|_| open).filter(room) {
            Some(run) => run.add(segment, fragments, auxiliary, &snapshot.products),
            None => {
                let batch = Some(segment.batch).filter(|_| !chosen.all);
                let by_product = vec![0.0; snapshot.products.len()];
                let mut run = SegmentRun { by_product, batch, ..SegmentRun::default() };
                run.add(segment, fragments, auxiliary, &snapshot.products);
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
            // Obsolete lists share objects with others, so they free none.
            run.planned += 1;
        }
    }
    runs.retain(|run| 2 * run.planned <= run.objects);
    runs
}

/// Whether two segments have the same products, and both or neither have events and an auxiliary file.
fn alike(one: &Segment, other: &Segment) -> bool {
    one.lists.keys().eq(other.lists.keys())
        && one.events.is_some() == other.events.is_some()
        && one.auxiliary.is_some() == other.auxiliary.is_some()
}

impl SegmentRun {
    fn add(&mut self, segment: &Segment, fragments: &Fragments, auxiliary: u64, products: &[Product]) {
        self.segments.push(segment.id);
        self.entries += segment.entries;
        self.objects += fragments.objects;
        self.auxiliary += auxiliary;
        for (sum, product) in self.by_product.iter_mut().zip(products) {
            let bytes = fragments.bytes.get(&product.id).copied().unwrap_or(0);
            *sum += bytes as f64;
            self.bytes += bytes;
        }
    }

    /// The options of its layout.
    fn layout(&self, layout: &LayoutOptions) -> LayoutOptions {
        LayoutOptions {
            entries: Some(self.entries.max(1)),
            batch: self.batch.or(layout.batch),
            ..layout.clone()
        }
    }

    /// Estimates the number of objects after the consolidation.
    fn plan(&mut self, layout: &LayoutOptions) {
        let entries = self.entries.max(1);
        // The sizes of single branches are unknown; they hardly change the number.
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

/// Rewrites the entries of a run: all products, or some.
fn rewrite(
    dataset: &Dataset,
    run: &SegmentRun,
    chosen: &ProductSelection<'_>,
    options: &WriteOptions,
    uploads: &mut Uploads,
    call: &mut Call<'_>,
) -> Result<NewSegment> {
    let deadline = call.deadline();
    let part = dataset.part(&run.segments)?;
    let file = file_of_dataset(&part, &OpenOptions::default().until(deadline), call)?;
    let template = Template::of_snapshot(part.snapshot(), call)?;
    let mut tree = open_tree(&file, &template.tree, call)?;
    if tree.record().entries != run.entries {
        let (found, stated) = (tree.record().entries, run.entries);
        return Err(Error::corrupt(format!(
            "a segment has other entries than the dataset states: {found} instead of {stated}"
        )));
    }
    let mut products = template.products_in(&tree, true)?;
    products.retain(|product| chosen.names.contains(&product.name.as_str()));
    find_baskets(&mut tree, &products, call)?;
    let mut branches = products.iter().flat_map(|product| &product.branches);
    if branches.any(|branch| tree.references(*branch).are_possible()) {
        references::check(&file, call)?;
    }
    // Segments that cannot be merged are reported before anything is written.
    let (auxiliary, events) = match chosen.all {
        true => merge_others(&part, &file, run, options, uploads, call)?,
        false => (None, None),
    };
    let pool = computing(options.threads)?;
    let layout = run.layout(&options.layout);
    // Small baskets consist mostly of headers, so the sizes of larger ones are measured.
    let few = plan(&sizes(&tree, &products), &layout).batch.min(run.entries);
    let sizes = measure(&tree, &products, few, options, &pool, call)?;
    let layout = plan(&sizes, &layout);
    let writer = SegmentWriter { input: &tree, products: &products, options, pool: &pool };
    let lists = writer.write(&layout, EntryOrder::From(0), run.entries, uploads, call)?;
    let lists = products.into_iter().map(|product| product.name).zip(lists).collect();
    Ok(NewSegment { entries: run.entries, batch: layout.batch, lists, events, auxiliary })
}

/// Merges and stores the auxiliary files of a run, and the indices of its events.
fn merge_others(
    part: &Dataset,
    file: &File,
    run: &SegmentRun,
    options: &WriteOptions,
    uploads: &mut Uploads,
    call: &mut Call<'_>,
) -> Result<(Option<ObjectRef>, Option<ObjectRef>)> {
    let snapshot = part.snapshot();
    let auxiliary = match run.auxiliary {
        0 => None,
        _ => {
            let file = auxiliary(file, &snapshot.tree, options.threads, call)?;
            Some(put_object(file, uploads, call)?)
        }
    };
    let known = snapshot.segments.iter().all(|segment| segment.events.is_some());
    let events = if known { events_of(part, call)? } else { None };
    let events = events.map(|events| put_object(events.encode()?, uploads, call)).transpose()?;
    Ok((auxiliary, events))
}

/// Measures the bytes per entry of each branch of each product, in a basket of this many entries.
fn measure(
    tree: &InputTree,
    products: &[InputProduct],
    entries: u64,
    options: &WriteOptions,
    pool: &ThreadPool,
    call: &mut Call<'_>,
) -> Result<Vec<Vec<f64>>> {
    let branches =
        products.iter().flat_map(|product| product.branches.iter().map(|&branch| (branch, entries)));
    let branches: Vec<_> = branches.collect();
    let (order, compression) = (EntryOrder::From(0), options.compression()?);
    let cutting = SegmentCutter::new(tree, &branches, order, entries, entries, compression, pool)?;
    let mut bytes = Vec::new();
    cutting.run(call, &mut |batch, _| {
        let len = |baskets: &Vec<CutBasket>| baskets.iter().map(|basket| basket.record.len()).sum::<usize>();
        bytes = batch.baskets.iter().map(len).collect();
        Ok(())
    })?;
    let mut bytes = bytes.into_iter().map(|bytes| bytes as f64 / entries.max(1) as f64);
    Ok(products.iter().map(|product| bytes.by_ref().take(product.branches.len()).collect()).collect())
}
