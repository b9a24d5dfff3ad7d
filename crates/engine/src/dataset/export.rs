//! A ROOT file out of a dataset: its baskets copied as they are, and all that came beside them.

use super::beside;
use super::stripes::{Basket, SegmentStripes};
use super::template::{Schema, Template, open_tree};
use crate::Interrupt;
use crate::repack::input::InputTree;
use crate::repack::inputs::Inputs;
use crate::repack::objects::{copy_objects, copy_process_ids};
use crate::repack::survey::Survey;
use crate::repack::writing::Output;
use crate::repack::{Input, RepackReport, copy_trees};
use sapwood_codec::{Algorithm, Compression};
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use sapwood_source::sink::Sink;
use sapwood_stripe::Dataset;
use sapwood_tfile::write::{DirectoryId, FileWriter, NewKey, Origin};
use sapwood_ttree::{BasketHeader, BranchChange, ClusterChange, TreeChange};
use std::collections::HashMap;

/// Writes a version of a dataset to a ROOT file, `name` being what ROOT shows as its name.
///
/// # Errors
/// `Missing` if the version has no products, or one of them is not there for all entries; `Checksum` or `Corrupt` if
/// objects are damaged or lost; those of the store and of the sink. There is nothing at the target then.
pub fn export(
    dataset: &Dataset,
    sink: Box<dyn Sink>,
    name: &str,
    threads: Option<usize>,
    deadline: Deadline,
    interrupt: Interrupt<'_>,
) -> Result<RepackReport> {
    let snapshot = dataset.snapshot();
    if snapshot.products.is_empty() {
        return Err(Error::new(ErrorKind::Missing, "the dataset has no products").url(dataset.store().url()));
    }
    let options = beside::joining(threads, deadline);
    let template = Template::of_snapshot(snapshot, deadline, interrupt)?;
    let store = |base| dataset.base(base);
    let beside = beside::files(snapshot, store, deadline, interrupt);
    let beside = beside.map_err(|error| error.url(dataset.store().url()))?;
    let mut tree = Grafted::new(&template, deadline, interrupt)?;
    for file in &beside {
        tree.raise(&open_tree(file, &template.tree, deadline, interrupt)?);
    }
    let inputs: Vec<Input> = beside.into_iter().map(Input::Open).collect();
    let mut inputs = Inputs::new(&inputs);
    let mut report = RepackReport::default();
    let mut survey = Survey::new(&mut inputs, &options, &mut report.notes, interrupt)?;
    survey.trees.retain(|other| other.path != template.tree);
    for schema in &template.schemas {
        let file = &schema.tree.file;
        let record = file.0.parse(deadline, interrupt, |tfile, known| tfile.streamers_record(known))?;
        record.map(|record| survey.descriptions.add_record(&record, file.header().version)).transpose()?;
    }
    let compression = Compression::new(Algorithm::Zstd, 5)?;
    let mut output = Output::new(FileWriter::new(name, "", compression, Origin::now())?, sink);
    output.file.descriptions().unite(&survey.descriptions);
    for (path, title) in &survey.directories {
        output.directory(path, Some(title))?;
    }
    copy_process_ids(&survey.process_ids, &mut inputs, &mut output, &options, interrupt)?;
    copy_objects(&survey.objects, &mut inputs, &mut output, &options, &mut report, interrupt)?;
    copy_trees(&mut survey, &mut inputs, &mut output, &options, &mut report, interrupt)?;
    let parent = tree.parent(&template.tree);
    let directory = output.directory(parent, None)?;
    let mut shifts = survey.shifts.iter();
    for segment in &snapshot.segments {
        let shift = segment.auxiliary.as_ref().and_then(|_| shifts.next()).copied().unwrap_or(0);
        let stripes = SegmentStripes::open(dataset, segment, deadline, interrupt)?;
        stripes.each_batch(interrupt, &mut |baskets| {
            tree.place(baskets, directory, shift, &mut output, &mut report)
        })?;
        tree.end_segment(segment.entries, segment.batch);
    }
    tree.finish(directory, compression, &mut output)?;
    report.trees.push((template.tree.clone(), tree.entries));
    report.bytes = output.commit()?;
    Ok(report)
}

/// The tree that is written: that of the first schema, with the branches of the others.
#[derive(Debug)]
pub(crate) struct Grafted {
    name: String,
    title: String,
    class_name: String,
    outline: sapwood_ttree::TreeOutline,
    /// By the places of the outline's branches; none for those of no product.
    branches: Vec<Option<BranchChange>>,
    /// For each product, the places of its branches.
    places: Vec<Vec<usize>>,
    of_path: HashMap<String, usize>,
    entries: u64,
    clusters: Vec<u64>,
}

impl Grafted {
    pub(crate) fn new(template: &Template, deadline: Deadline, interrupt: Interrupt<'_>) -> Result<Grafted> {
        let no_schema = || Error::corrupt("the dataset has no schema");
        let Schema { tree: first, .. } = template.schemas.first().ok_or_else(no_schema)?;
        let mut outline = (*first.outline).clone();
        let mut starts = vec![0];
        for schema in template.schemas.iter().skip(1) {
            let streamers = schema.tree.file.streamers(deadline, interrupt)?;
            starts.push(outline.graft(&schema.tree.outline, &streamers)?);
        }
        let mut branches: Vec<Option<BranchChange>> = outline.branches.iter().map(|_| None).collect();
        let (mut places, mut of_path) = (Vec::new(), HashMap::new());
        for product in &template.products {
            let start = starts.get(product.schema).copied().ok_or_else(no_schema)?;
            let schema = template.schemas.get(product.schema).ok_or_else(no_schema)?;
            let own: Vec<usize> = product.branches.iter().map(|branch| start + branch).collect();
            for (&place, &branch) in own.iter().zip(&product.branches) {
                let (Some(slot), Some(known)) = (branches.get_mut(place), outline.branches.get(place)) else {
                    return Err(Error::corrupt("a product has a branch that its schema lacks"));
                };
                *slot = Some(BranchChange {
                    basket_size: known.basket_size,
                    maxima: known.maxima.iter().map(|maximum| maximum.value).collect(),
                    ..BranchChange::default()
                });
                of_path.insert(schema.tree.path(branch).to_owned(), place);
            }
            places.push(own);
        }
        Ok(Grafted {
            name: first.name.clone(),
            title: first.title.clone(),
            class_name: first.meta.class_name.clone(),
            outline,
            branches,
            places,
            of_path,
            entries: 0,
            clusters: Vec::new(),
        })
    }

    /// Readers take no more items than the largest number that any of the segments says.
    fn raise(&mut self, tree: &InputTree) {
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

    /// Path of the directory that a tree at `path` is in.
    pub(crate) fn parent<'p>(&self, path: &'p str) -> &'p str {
        path.strip_suffix(&self.name).unwrap_or("")
    }

    /// Writes baskets.
    pub(crate) fn place(
        &mut self,
        baskets: Vec<Basket>,
        directory: DirectoryId,
        pid_shift: u16,
        output: &mut Output,
        report: &mut RepackReport,
    ) -> Result<()> {
        for basket in baskets.into_iter().filter(|basket| !basket.record.is_empty()) {
            let place = self.places.get(basket.product).and_then(|places| places.get(basket.branch)).copied();
            let change = place.and_then(|place| self.branches.get_mut(place)).and_then(Option::as_mut);
            let change = change.ok_or_else(|| Error::corrupt("a basket belongs to no branch"))?;
            let header = BasketHeader::parse(&basket.record)?;
            header.check_record(&basket.record)?;
            if header.entries as u64 != basket.entries || header.record_len != basket.record.len() {
                return Err(Error::corrupt("a basket is not what its stripe says"));
            }
            let key = basket.record.slice(..header.key_len);
            let payload = basket.record.slice(header.key_len..);
            let placed = output.file.copied(directory, &key, payload, pid_shift)?;
            change.total_bytes += header.key_len as u64 + header.object_len as u64;
            change.zip_bytes += u64::from(placed.bytes);
            change.baskets.push((self.entries + basket.first_entry, placed.offset, placed.bytes));
            report.copied_baskets += 1;
            output.hand_on()?;
        }
        Ok(())
    }

    pub(crate) fn end_segment(&mut self, entries: u64, batch: u64) {
        let batch = batch.max(1);
        let mut left = entries;
        while left > 0 {
            self.clusters.push(left.min(batch));
            left -= left.min(batch);
        }
        self.entries += entries;
    }

    /// Writes the tree's record.
    pub(crate) fn finish(
        &mut self,
        directory: DirectoryId,
        compression: Compression,
        output: &mut Output,
    ) -> Result<()> {
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
        let key = NewKey::new(&self.class_name, &self.name, &self.title, output.file.wide());
        let record = self.outline.emit(key.len(), &change)?;
        output
            .file
            .object(directory, &self.class_name, &self.name, &self.title, |buffer| buffer.bytes(&record))?;
        output.hand_on()
    }
}
