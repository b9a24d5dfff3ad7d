//! Writes datasets from ROOT files: creates them, appends entries, and adds products.

use super::conversion;
use super::cutting::EntryOrder;
use super::identity;
use super::location::DatasetLocation;
use super::matching::orders;
use super::options::{AddOptions, WriteOptions, WriteReport};
use super::reordering;
use super::segment::{SegmentWriter, find_baskets, put_object, sizes};
use super::template::{Template, auxiliary, open_tree};
use super::uploads::Uploads;
use super::writer_lease::with_writer_lease;
use sapwood_core::{Call, Error, Result};
use sapwood_rewrite::repack::Input;
use sapwood_rewrite::repack::input::InputTree;
use sapwood_root::File;
use sapwood_stripe::{
    Change, CommitOutcome, Dataset, EventIndex, LayoutOptions, NewProduct, NewSegment, plan,
};
use sapwood_table::pool::{computing, wait};
use std::collections::BTreeMap;
use std::ops::Range;

/// Creates a dataset from the trees at the path `tree` in some files, in order.
///
/// # Errors
/// `Usage` if there is a dataset with entries already; those of [`append`].
pub fn create(
    location: &DatasetLocation,
    tree: &str,
    inputs: &[Input],
    options: &WriteOptions,
    call: &mut Call<'_>,
) -> Result<WriteReport> {
    // An input that cannot be read is reported before anything is written.
    if let Some(first) = inputs.first() {
        let file = open(first, call)?;
        if !conversion::check(&file, tree, options.chosen.branches.as_deref(), call)? {
            open_tree(&file, tree, call)?;
        }
    }
    let (store, log) = location.parts();
    let dataset = Dataset::open_or_create(store, log, tree, options.made(&[]), call.deadline());
    let dataset = wait(dataset, call)?;
    if !dataset.snapshot().segments.is_empty() && options.job.is_none() {
        return Err(Error::usage("there is a dataset already")
            .url(location.url())
            .hint("append to it, or choose another location"));
    }
    append(&dataset, inputs, options, call)
}

/// Appends the entries of some files, in order.
///
/// # Errors
/// Those of opening and reading the inputs; `Unsupported` if a tree differs from that of the dataset; those of the store,
/// and of [`Dataset::commit`]. The dataset is then unchanged.
pub fn append(
    dataset: &Dataset,
    inputs: &[Input],
    options: &WriteOptions,
    call: &mut Call<'_>,
) -> Result<WriteReport> {
    with_writer_lease(dataset, call, |lease, call| {
        let stored = store_entries(dataset, inputs, options, call)?;
        let change = Change::Append { products: stored.products, segments: stored.segments };
        let committed = lease.commit(dataset, &change, options.made(inputs), call)?;
        Ok(report(committed, stored.entries, &stored.uploads, stored.notes))
    })
}

/// Entries that are stored, but not committed yet.
pub(super) struct StoredEntries {
    pub(super) products: Vec<NewProduct>,
    pub(super) segments: Vec<NewSegment>,
    pub(super) entries: u64,
    pub(super) uploads: Uploads,
    pub(super) notes: Vec<String>,
}

/// Stores the entries of some files.
pub(super) fn store_entries(
    dataset: &Dataset,
    inputs: &[Input],
    options: &WriteOptions,
    call: &mut Call<'_>,
) -> Result<StoredEntries> {
    let (deadline, path) = (call.deadline(), dataset.snapshot().tree.clone());
    let known = !dataset.snapshot().products.is_empty();
    let mut template = match known {
        true => Some(Template::of_snapshot(dataset.snapshot(), call)?),
        false => None,
    };
    let mut uploads = Uploads::of(dataset, options.base.as_deref(), deadline)?;
    let (mut segments, mut notes) = (Vec::new(), Vec::new());
    for (index, input) in inputs.iter().enumerate() {
        let branches = options.chosen.branches.as_deref();
        let as_tree = conversion::as_tree(open(input, call)?, &path, branches, options.threads, call)?;
        let (whole, chosen) = (&as_tree.file, branches.filter(|_| !as_tree.is_converted));
        let mut first = 0;
        for part in 0..whole.part_count() {
            let file = whole.part(part, call)?;
            let tree = open_tree(&file, &path, call)?;
            let template = match &mut template {
                Some(template) => template,
                none => none.insert(match chosen {
                    Some(branches) => Template::of_branches(&tree, &path, branches, call)?,
                    None => Template::of_tree(&tree, &path, None, call)?,
                }),
            };
            let chosen = options.chosen.entries(index, first, tree.record().entries);
            first += tree.record().entries;
            if chosen.is_empty() {
                let which = if tree.record().entries == 0 { "entries" } else { "selected entries" };
                notes.push(format!("{} has no {which}", file.url()));
                continue;
            }
            segments.push(segment(template, tree, &chosen, options, &mut uploads, call)?);
        }
    }
    uploads.finish(call)?;
    let products = template.filter(|_| !known).map_or_else(Vec::new, |template| template.new_products());
    let entries = segments.iter().map(|segment| segment.entries).sum();
    Ok(StoredEntries { products, segments, entries, uploads, notes })
}

/// Writes some entries of a tree as a segment.
fn segment(
    template: &Template,
    mut tree: InputTree,
    chosen: &[Range<u64>],
    options: &WriteOptions,
    uploads: &mut Uploads,
    call: &mut Call<'_>,
) -> Result<NewSegment> {
    let products = template.products_in(&tree, options.chosen.branches.is_none())?;
    find_baskets(&mut tree, &products, call)?;
    let entries = chosen.iter().map(|range| range.end - range.start).sum();
    let cluster = regular(&tree.record().cluster_starts);
    let layout = LayoutOptions { entries: Some(entries), cluster, ..options.layout.clone() };
    let layout = plan(&sizes(&tree, &products), &layout);
    let pool = computing(options.threads)?;
    let order = match chosen {
        [one] => EntryOrder::From(one.start),
        several => EntryOrder::Each(several.iter().cloned().flatten().collect()),
    };
    let writer = SegmentWriter { input: &tree, products: &products, options, pool: &pool };
    let lists = writer.write(&layout, order, entries, uploads, call)?;
    let read = tree.file.tree(&template.tree, None, call)?;
    let events = identity::events(&read, &options.read(), call)?;
    let events = events.map(|events| of_entries(&events, chosen)).transpose()?;
    let events = events.map(|events| put_object(events.encode()?, uploads, call)).transpose()?;
    let auxiliary = auxiliary(&tree.file, &template.tree, options.threads, call)?;
    let auxiliary = put_object(auxiliary, uploads, call)?;
    Ok(NewSegment {
        entries,
        batch: layout.batch,
        lists: products.into_iter().map(|product| product.name).zip(lists).collect(),
        events,
        auxiliary: Some(auxiliary),
    })
}

/// The number of entries of each cluster, if there are several of the same length; the last may have fewer.
fn regular(cluster_starts: &[u64]) -> Option<u64> {
    let ends = cluster_starts.iter().skip(1);
    let mut lengths = cluster_starts.iter().zip(ends).map(|(start, end)| end.saturating_sub(*start));
    let (first, last) = (lengths.next()?, lengths.next_back()?);
    (last <= first && lengths.all(|length| length == first)).then_some(first)
}

/// The events of some entries.
fn of_entries(events: &EventIndex, chosen: &[Range<u64>]) -> Result<EventIndex> {
    let (mut runs, mut blocks, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    let mut left = events.iter();
    let mut next = 0;
    for range in chosen {
        let skipped = left.by_ref().skip(place(range.start - next));
        for event in skipped.take(place(range.end - range.start)) {
            runs.push(event.run);
            blocks.push(event.lumi);
            numbers.push(event.event);
        }
        next = range.end;
    }
    EventIndex::new(runs, blocks, numbers)
}

fn place(entries: u64) -> usize {
    usize::try_from(entries).unwrap_or(usize::MAX)
}

/// Adds products of a tree to the existing entries of a dataset; products of the same name are replaced.
///
/// # Errors
/// `Usage` if the tree does not have the same events, each once, or if the events are unknown; `Limit` if reordering the
/// entries takes more than 2 GiB of memory; those of [`append`].
pub fn add(
    dataset: &Dataset,
    input: &Input,
    path: &str,
    what: &AddOptions,
    options: &WriteOptions,
    call: &mut Call<'_>,
) -> Result<WriteReport> {
    let deadline = call.deadline();
    let file = open(input, call)?;
    if path != dataset.snapshot().tree {
        let message = format!("the tree is named '{path}', not '{}'", dataset.snapshot().tree);
        return Err(Error::unsupported(message).url(file.url()).hint("write it under that name"));
    }
    let as_tree = conversion::as_tree(file, path, None, options.threads, call)?;
    let file = &as_tree.file;
    let mut tree = open_tree(file, path, call)?;
    let template = Template::of_tree(&tree, path, what.products.as_deref(), call)?;
    let orders = orders(dataset, &tree, path, what, options, call)?;
    let products = template.products_in(&tree, false)?;
    find_baskets(&mut tree, &products, call)?;
    for (segment, order) in dataset.snapshot().segments.iter().zip(&orders) {
        if let EntryOrder::Each(order) = order {
            reordering::check(&tree, &products, order, segment.batch)?;
        }
    }
    let sizes = sizes(&tree, &products);
    with_writer_lease(dataset, call, |lease, call| {
        let mut uploads = Uploads::of(dataset, options.base.as_deref(), deadline)?;
        let pool = computing(options.threads)?;
        let writer = SegmentWriter { input: &tree, products: &products, options, pool: &pool };
        let mut lists: Vec<BTreeMap<u32, _>> = vec![BTreeMap::new(); products.len()];
        for (segment, order) in dataset.snapshot().segments.iter().zip(orders) {
            // At the start of a batch, every product begins a new stripe.
            let (batch, entries) = (Some(segment.batch), Some(segment.entries));
            let layout = plan(&sizes, &LayoutOptions { batch, entries, ..options.layout.clone() });
            let written = writer.write(&layout, order, segment.entries, &mut uploads, call)?;
            for (lists, list) in lists.iter_mut().zip(written) {
                lists.insert(segment.id, list);
            }
        }
        uploads.finish(call)?;
        let mut last = None;
        for (product, lists) in template.new_products().into_iter().zip(lists) {
            let dataset = last.as_ref().map_or(dataset, |last: &CommitOutcome| &last.dataset);
            let replace = dataset.snapshot().products.iter().any(|known| known.name == product.name);
            let change = Change::Put { product, lists, replace };
            let made = options.made(std::slice::from_ref(input));
            last = Some(lease.commit(dataset, &change, made, call)?);
        }
        let last = last.ok_or_else(|| Error::usage("there is no product to add").url(file.url()))?;
        let entries = dataset.snapshot().segments.iter().map(|segment| segment.entries).sum();
        Ok(report(last, entries, &uploads, Vec::new()))
    })
}

fn open(input: &Input, call: &mut Call<'_>) -> Result<File> {
    match input {
        Input::Open(file) => Ok(file.clone()),
        Input::At(input) => input.open(call),
    }
}

fn report(committed: CommitOutcome, entries: u64, uploads: &Uploads, notes: Vec<String>) -> WriteReport {
    let CommitOutcome { dataset, already, .. } = committed;
    WriteReport { dataset, entries, objects: uploads.objects, bytes: uploads.sent, already, notes }
}
