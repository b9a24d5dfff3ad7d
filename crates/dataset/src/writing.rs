//! Datasets out of ROOT files: created, appended to, and given products.

use super::cutting::Order;
use super::held::while_held;
use super::identity;
use super::matching::orders;
use super::options::{AddOptions, WriteOptions, Written};
use super::scattered;
use super::segment::{Part, Writing, put_whole, sizes};
use super::template::{Template, auxiliary, open_tree};
use super::uploads::Uploads;
use sapwood_core::{Call, Error, Result};
use sapwood_rewrite::repack::Input;
use sapwood_rewrite::repack::input::InputTree;
use sapwood_root::File;
use sapwood_source::SourceOptions;
use sapwood_store::Store;
use sapwood_store::open_store;
use sapwood_stripe::{Change, CommitOutcome, Dataset, EventIndex, LayoutOptions, Log, NewSegment, plan};
use sapwood_table::pool::computing;
use sapwood_table::pool::wait;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Where a dataset is, and how it is reached.
#[derive(Debug, Clone)]
pub struct Place {
    store: Arc<dyn Store>,
    log: Option<Arc<dyn Log>>,
    options: Arc<SourceOptions>,
}

impl Place {
    /// At a path or URL. `log` is given where the log is not in the store.
    ///
    /// # Errors
    /// Those of [`open_store`].
    pub fn new(url: &str, options: &SourceOptions, log: Option<Arc<dyn Log>>) -> Result<Place> {
        Ok(Place { store: open_store(url, options)?, log, options: Arc::new(options.clone()) })
    }

    /// The URL, without secrets.
    pub fn url(&self) -> &str {
        self.store.url()
    }

    /// Store and log.
    pub fn parts(&self) -> (Arc<dyn Store>, Option<Arc<dyn Log>>) {
        (Arc::clone(&self.store), self.log.clone())
    }

    /// A version: `v12`, `latest`, or a tag.
    ///
    /// # Errors
    /// Those of [`Dataset::open`].
    pub fn open(&self, version: &str, call: &mut Call<'_>) -> Result<Dataset> {
        let ((store, log), version) = (self.parts(), version.parse()?);
        let dataset = self.wait(Dataset::open(store, log, &version, call.deadline()), call)?;
        dataset.open_bases_with(SourceOptions::clone(&self.options));
        Ok(dataset)
    }

    /// Waits for something that is done with the dataset.
    ///
    /// # Errors
    /// Those of the future; `Timeout` and `Cancelled`.
    pub fn wait<T>(&self, future: impl Future<Output = Result<T>>, call: &mut Call<'_>) -> Result<T> {
        wait(future, call)
    }
}

/// Creates a dataset of the trees at `tree` of some files, in their order.
///
/// # Errors
/// `Usage` if there is a dataset with entries already; those of [`append`].
pub fn create(
    place: &Place,
    tree: &str,
    inputs: &[Input],
    options: &WriteOptions,
    call: &mut Call<'_>,
) -> Result<Written> {
    // Inputs that cannot be read are told before anything is written.
    if let Some(first) = inputs.first() {
        open_tree(&open(first, call)?, tree, call)?;
    }
    let (store, log) = place.parts();
    let dataset = Dataset::open_or_create(store, log, tree, options.made(&[]), call.deadline());
    let dataset = wait(dataset, call)?;
    if !dataset.snapshot().segments.is_empty() && options.job.is_none() {
        return Err(Error::usage("there is a dataset already")
            .url(place.url())
            .hint("append to it, or choose another place"));
    }
    append(&dataset, inputs, options, call)
}

/// Appends the entries of some files, in their order.
///
/// # Errors
/// Those of opening and reading the inputs; `Unsupported` if a tree is not like the dataset; those of the store, and of
/// [`Dataset::commit`]. The dataset is then as it was.
pub fn append(
    dataset: &Dataset,
    inputs: &[Input],
    options: &WriteOptions,
    call: &mut Call<'_>,
) -> Result<Written> {
    while_held(dataset, call, |held, call| {
        let appended = appended(dataset, inputs, options, call)?;
        let committed = held.commit(dataset, &appended.change, options.made(inputs), call)?;
        Ok(appended.written(committed))
    })
}

/// Entries that were stored, and are not committed yet.
pub(super) struct Appended {
    pub(super) change: Change,
    pub(super) entries: u64,
    pub(super) uploads: Uploads,
    pub(super) notes: Vec<String>,
}

impl Appended {
    fn written(self, committed: CommitOutcome) -> Written {
        written(committed, self.entries, &self.uploads, self.notes)
    }
}

/// Stores the entries of some files.
pub(super) fn appended(
    dataset: &Dataset,
    inputs: &[Input],
    options: &WriteOptions,
    call: &mut Call<'_>,
) -> Result<Appended> {
    let (deadline, path) = (call.deadline(), dataset.snapshot().tree.clone());
    let known = !dataset.snapshot().products.is_empty();
    let mut template = match known {
        true => Some(Template::of_snapshot(dataset.snapshot(), call)?),
        false => None,
    };
    let mut uploads = Uploads::of(dataset, options.base.as_deref(), deadline)?;
    let (mut segments, mut notes) = (Vec::new(), Vec::new());
    for (place, input) in inputs.iter().enumerate() {
        let whole = open(input, call)?;
        let mut first = 0;
        for part in 0..whole.part_count() {
            let file = whole.part(part, call)?;
            let tree = open_tree(&file, &path, call)?;
            let template = match &mut template {
                Some(template) => template,
                none => none.insert(match &options.chosen.branches {
                    Some(branches) => Template::of_branches(&tree, &path, branches, call)?,
                    None => Template::of_tree(&tree, &path, None, call)?,
                }),
            };
            let chosen = options.chosen.entries(place, first, tree.meta.entries);
            first += tree.meta.entries;
            if chosen.is_empty() {
                let what =
                    if tree.meta.entries == 0 { "has no entries" } else { "has no entries that were chosen" };
                notes.push(format!("{} {what}", file.url()));
                continue;
            }
            segments.push(segment(template, tree, &chosen, options, &mut uploads, call)?);
        }
    }
    uploads.finish(call)?;
    let products = template.filter(|_| !known).map_or_else(Vec::new, |template| template.new_products());
    let entries = segments.iter().map(|segment| segment.entries).sum();
    Ok(Appended { change: Change::Append { products, segments }, entries, uploads, notes })
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
    let places = template.places(&tree, options.chosen.branches.is_none())?;
    let parts: Vec<Part> = (template.products.iter().zip(places))
        .map(|(product, branches)| Part { name: product.name.clone(), branches })
        .collect();
    tree.find_baskets(parts.iter().flat_map(|part| part.branches.iter().copied()), call)?;
    let entries = chosen.iter().map(|range| range.end - range.start).sum();
    let cluster = regular(&tree.meta.cluster_starts);
    let layout = LayoutOptions { entries: Some(entries), cluster, ..options.layout.clone() };
    let layout = plan(&sizes(&tree, &parts), &layout);
    let pool = computing(options.threads)?;
    let writing = Writing {
        input: &tree,
        parts: &parts,
        layout: &layout,
        order: match chosen {
            [one] => Order::From(one.start),
            several => Order::Each(several.iter().cloned().flatten().collect()),
        },
        entries,
        compression: options.compression()?,
        statistics: !options.without_statistics,
        pool: &pool,
    };
    let lists = writing.run(uploads, call)?;
    let read = tree.file.tree(&template.tree, None, call)?;
    let events = identity::events(&read, &options.read(), call)?;
    let events = events.map(|events| of_entries(&events, chosen)).transpose()?;
    let events = events.map(|events| put_whole(events.encode()?, uploads, call)).transpose()?;
    let auxiliary = auxiliary(&tree.file, &template.tree, options.threads, call)?;
    let auxiliary = put_whole(auxiliary, uploads, call)?;
    Ok(NewSegment {
        entries,
        batch: layout.batch,
        lists: parts.into_iter().map(|part| part.name).zip(lists).collect(),
        events,
        auxiliary: Some(auxiliary),
    })
}

/// The entries of each cluster, if there are several, and only the last may have fewer.
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

/// Adds products of a tree to the entries that the dataset has; those of the same name are replaced.
///
/// # Errors
/// `Usage` if the tree does not have the same events, each once, or nothing says which they are; `Limit` if they come in so
/// different an order that more than 2 GiB would have to be held; those of [`append`].
pub fn add(
    dataset: &Dataset,
    input: &Input,
    path: &str,
    what: &AddOptions,
    options: &WriteOptions,
    call: &mut Call<'_>,
) -> Result<Written> {
    let deadline = call.deadline();
    let file = open(input, call)?;
    let mut tree = open_tree(&file, path, call)?;
    if path != dataset.snapshot().tree {
        let message =
            format!("the tree is called '{path}', that of the dataset '{}'", dataset.snapshot().tree);
        return Err(Error::unsupported(message).url(file.url()).hint("write it under that name"));
    }
    let template = Template::of_tree(&tree, path, what.products.as_deref(), call)?;
    let orders = orders(dataset, &tree, path, what, options, call)?;
    let places = template.places(&tree, false)?;
    let parts: Vec<Part> = (template.products.iter().zip(places))
        .map(|(product, branches)| Part { name: product.name.clone(), branches })
        .collect();
    tree.find_baskets(parts.iter().flat_map(|part| part.branches.iter().copied()), call)?;
    for (segment, order) in dataset.snapshot().segments.iter().zip(&orders) {
        if let Order::Each(order) = order {
            scattered::check(&tree, &parts, order, segment.batch)?;
        }
    }
    let sizes = sizes(&tree, &parts);
    while_held(dataset, call, |held, call| {
        let mut uploads = Uploads::of(dataset, options.base.as_deref(), deadline)?;
        let pool = computing(options.threads)?;
        let mut lists: Vec<BTreeMap<u32, _>> = vec![BTreeMap::new(); parts.len()];
        for (segment, order) in dataset.snapshot().segments.iter().zip(orders) {
            // At the borders of batches all products begin a new stripe.
            let (batch, entries) = (Some(segment.batch), Some(segment.entries));
            let layout = LayoutOptions { batch, entries, ..options.layout.clone() };
            let writing = Writing {
                input: &tree,
                parts: &parts,
                layout: &plan(&sizes, &layout),
                order,
                entries: segment.entries,
                compression: options.compression()?,
                statistics: !options.without_statistics,
                pool: &pool,
            };
            for (lists, list) in lists.iter_mut().zip(writing.run(&mut uploads, call)?) {
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
            last = Some(held.commit(dataset, &change, made, call)?);
        }
        let last = last.ok_or_else(|| Error::usage("there is no product to add").url(file.url()))?;
        let entries = dataset.snapshot().segments.iter().map(|segment| segment.entries).sum();
        Ok(written(last, entries, &uploads, Vec::new()))
    })
}

fn open(input: &Input, call: &mut Call<'_>) -> Result<File> {
    match input {
        Input::Open(file) => Ok(file.clone()),
        Input::At(input) => input.open(call),
    }
}

fn written(committed: CommitOutcome, entries: u64, uploads: &Uploads, notes: Vec<String>) -> Written {
    let CommitOutcome { dataset, already, .. } = committed;
    Written { dataset, entries, objects: uploads.objects, bytes: uploads.sent, already, notes }
}
