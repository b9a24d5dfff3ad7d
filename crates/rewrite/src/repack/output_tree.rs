//! A tree of the new file: where its baskets were placed, and its record, which is written at the end.

use super::baskets::{ClusterBorders, OutputBasket, OutputKey};
use super::entry_ranges::EntryRanges;
use super::input::InputTree;
use super::journal::{BasketTreatment, Placement, RepackJournal};
use super::options::RepackOptions;
use super::output_branch::OutputBranch;
use super::splitting::{InputObject, OutputObject};
use sapwood_core::{Error, Result};
use sapwood_table::write::ClusterSize;
use sapwood_tfile::write::{DirectoryId, FileWriter, NewKey};
use sapwood_ttree::{BasketRef, Branch, ClusterChange, ObjectBranches, References, TreeChange, TreeOutline};
use std::collections::HashMap;
use std::sync::Arc;

/// A tree of the new file.
#[derive(Debug)]
pub(super) struct OutputTree {
    /// The directory that contains it.
    pub directory: DirectoryId,
    class_name: String,
    name: String,
    title: String,
    outline: Arc<TreeOutline>,
    /// One for each branch of the outline; none for those that are dropped.
    pub branches: Vec<Option<OutputBranch>>,
    /// Objects whose split level changes.
    pub objects: Vec<OutputObject>,
    /// Indices of the branches by their paths.
    by_path: HashMap<String, usize>,
    /// Number of entries so far.
    pub entries: u64,
    /// Number of entries in each cluster, if all have the same size.
    every: Option<u64>,
    /// Otherwise, the sizes of the clusters so far.
    sizes: Vec<u64>,
    /// True if its entries are those of one input, unchanged, so that a tree index stays valid.
    complete: bool,
    inputs: usize,
}

impl OutputTree {
    /// A tree like that of an input, with the `wanted` branches. Unless baskets may be split (`may_split`), it does not
    /// matter whether their entries hold references.
    pub(super) fn new(
        input: &InputTree,
        directory: DirectoryId,
        wanted: &[bool],
        may_split: bool,
        options: &RepackOptions,
    ) -> OutputTree {
        let file_setting = input.file.header().compression;
        let branches: Vec<Option<OutputBranch>> = (input.branches().zip(&input.outline.branches).enumerate())
            .map(|(place, (branch, outline))| {
                let may_split =
                    may_split || input.baskets(place).iter().any(|basket| basket.embedded.is_some());
                let references = || if may_split { input.references(place) } else { References::Undescribed };
                let new = || {
                    let tree = &input.record().name;
                    OutputBranch::new(branch, outline, tree, file_setting, references(), options)
                };
                wanted.get(place).copied().unwrap_or(false).then(new)
            })
            .collect();
        let by_path = (0..branches.len()).map(|place| (input.path(place).to_owned(), place));
        OutputTree {
            directory,
            class_name: input.record().class_name.clone(),
            name: input.name.clone(),
            title: input.title.clone(),
            outline: Arc::clone(&input.outline),
            by_path: by_path.collect(),
            every: options.cluster.map(|size| cluster_entries(input, wanted, size)),
            branches,
            objects: Vec::new(),
            entries: 0,
            sizes: Vec::new(),
            complete: false,
            inputs: 0,
        }
    }

    /// Adds the branches of objects whose split level changes, in place of their old ones.
    ///
    /// # Errors
    /// `Unsupported` if the tree's record becomes too long.
    pub(super) fn split(
        &mut self,
        mut objects: Vec<OutputObject>,
        input: &InputTree,
        options: &RepackOptions,
    ) -> Result<()> {
        if objects.is_empty() {
            return Ok(());
        }
        let mut outline = TreeOutline::clone(&self.outline);
        let new = ObjectBranches::outline(objects.iter().map(|object| &object.branches))?;
        let mut first = outline.graft(&new, input.compiler().streamers())?;
        let file_setting = input.file.header().compression;
        for object in &mut objects {
            let old = input.place(&object.path).and_then(|top| input.branch(top));
            let (Ok(own), Some(old)) = (InputObject::at(input, &object.path), old) else {
                return Err(Error::corrupt("an object has no branches"));
            };
            for branch in own.places {
                if let Some(slot) = self.branches.get_mut(branch) {
                    *slot = None;
                }
            }
            object.first = first;
            for (place, name) in object.branches.names().enumerate() {
                let branch = Branch {
                    name: name.to_owned(),
                    compression: old.compression,
                    basket_size: old.basket_size.max(SMALLEST_BASKET),
                    entry_offset_len: if object.branches.is_fixed(place) { 0 } else { OFFSET_LEN },
                    ..Branch::default()
                };
                let shape = outline.branches.get(first + place);
                let shape = shape.ok_or_else(|| Error::corrupt("a new branch is missing"))?;
                let tree = &input.record().name;
                let new = OutputBranch::new(&branch, shape, tree, file_setting, References::None, options);
                self.branches.push(Some(new));
            }
            first += object.branches.len();
        }
        (self.outline, self.objects) = (Arc::new(outline), objects);
        Ok(())
    }

    /// Learns from the journal which of its entries an earlier run placed.
    pub(super) fn resume(&mut self, tree: usize, journal: &RepackJournal) {
        for (place, branch) in self.branches.iter_mut().enumerate() {
            branch.iter_mut().for_each(|branch| branch.placed = journal.placed(tree, place));
        }
    }

    /// For each branch of an input, the index of the branch of this tree that its baskets go to.
    pub(super) fn places(&self, input: &InputTree) -> Vec<Option<usize>> {
        let place = |branch| self.by_path.get(input.path(branch)).copied();
        let kept = |place: &usize| self.branches.get(*place).is_some_and(Option::is_some);
        (0..input.outline.branches.len()).map(|branch| place(branch).filter(kept)).collect()
    }

    /// Where clusters end while the selected entries of an input are added.
    pub(super) fn borders(&self, input: &InputTree, chosen: &EntryRanges) -> ClusterBorders {
        match self.every {
            Some(entries) => ClusterBorders::Every(entries),
            None => {
                let starts =
                    input.record().cluster_starts.iter().map(|&start| self.entries + chosen.rank(start));
                let mut borders: Vec<u64> = starts.filter(|&border| border > self.entries).collect();
                borders.push(self.entries + chosen.total());
                borders.dedup();
                ClusterBorders::At(borders)
            }
        }
    }

    /// Begins an input.
    pub(super) fn begin(
        &mut self,
        input: &InputTree,
        places: &[Option<usize>],
        chosen: &EntryRanges,
        resplit: bool,
    ) -> Result<()> {
        let base = self.entries;
        for (branch, place) in places.iter().enumerate() {
            let target = place.and_then(|place| self.branches.get_mut(place)).and_then(Option::as_mut);
            let (Some(target), Some(described), Some(outline)) =
                (target, input.branch(branch), input.outline.branches.get(branch))
            else {
                continue;
            };
            let (first, end) = input.extent(branch);
            let (first, end) = (base + chosen.rank(first), base + chosen.rank(end));
            if input.is_absent(branch) {
                let why = format!("they are in {}, which does not exist", described.file_name);
                (target.is_absent, target.kept_whole) = (true, Some(why));
                (target.first_entry, target.next_entry, target.end) = (first, end, end);
                continue;
            }
            target
                .begin(first, end, input.baskets(branch).is_empty(), &outline.maxima, resplit)
                .map_err(|error| error.branch(input.path(branch)).url(input.file.url()))?;
        }
        Ok(())
    }

    /// Begins the objects of an input whose split level changes; returns them as they are there.
    ///
    /// # Errors
    /// `Unsupported` if the input has them in another way.
    pub(super) fn begin_objects(
        &mut self,
        input: &InputTree,
        chosen: &EntryRanges,
    ) -> Result<Vec<InputObject>> {
        let base = self.entries;
        let mut found = Vec::with_capacity(self.objects.len());
        for object in &mut self.objects {
            let fault = |why: String| {
                Error::unsupported(why).branch(&object.path).url(input.file.url()).hint("drop the branch")
            };
            let own = InputObject::at(input, &object.path).map_err(fault)?;
            let extents: Vec<_> = own.with_entries().map(|branch| input.extent(branch)).collect();
            let (first, end) = extents.first().copied().unwrap_or_default();
            if extents.iter().any(|other| *other != (first, end)) {
                return Err(fault("its branches have different numbers of entries".to_owned()));
            }
            let outputs = self.branches.iter_mut().skip(object.first).take(object.branches.len());
            for (place, output) in outputs.enumerate() {
                let Some(output) = output else { continue };
                let is_empty = !object.branches.has_entries(place);
                output.begin(base + chosen.rank(first), base + chosen.rank(end), is_empty, &[], !is_empty)?;
            }
            object.begin(&own, first);
            found.push(own);
        }
        Ok(found)
    }

    /// Ends an input, after checking that all of its entries were placed or are in a cutter.
    pub(super) fn end(&mut self, input: &InputTree, chosen: &EntryRanges) -> Result<()> {
        for branch in self.branches.iter().flatten() {
            let reached = branch.cutter.as_ref().map_or(branch.next_entry, |cutter| cutter.next);
            if reached != branch.end {
                let message =
                    format!("its baskets hold {reached} entries, but the tree states {}", branch.end);
                return Err(Error::corrupt(message).branch(&branch.key.name).url(input.file.url()));
            }
        }
        if let ClusterBorders::At(borders) = self.borders(input, chosen) {
            let starts = [self.entries].into_iter().chain(borders.iter().copied());
            self.sizes.extend(starts.zip(&borders).map(|(start, end)| end - start));
        }
        self.entries += chosen.total();
        self.inputs += 1;
        self.complete = self.inputs == 1 && chosen.total() == input.record().entries;
        Ok(())
    }

    /// Places a basket in the file.
    pub(super) fn place(
        &mut self,
        place: usize,
        ready: OutputBasket,
        pid_shift: u16,
        file: &mut FileWriter,
    ) -> Result<Placement> {
        let Some(Some(branch)) = self.branches.get_mut(place) else {
            return Err(Error::corrupt("a basket belongs to no branch"));
        };
        if ready.first_entry != branch.next_entry {
            return Err(Error::corrupt(format!(
                "no basket holds the entries {} to {}",
                branch.next_entry, ready.first_entry
            )));
        }
        let (payload, object_len) = (ready.payload, ready.object_len);
        let (placed, treatment) = match &ready.key {
            OutputKey::Copied(key, true) => {
                (file.copied(self.directory, key, payload, pid_shift)?, BasketTreatment::Copied)
            }
            OutputKey::Copied(key, false) => {
                (file.copied(self.directory, key, payload, pid_shift)?, BasketTreatment::Recompressed)
            }
            OutputKey::New(fields) => (
                file.unlisted(self.directory, &branch.key, fields, payload, object_len)?,
                BasketTreatment::Resplit,
            ),
            OutputKey::NewNarrow(fields) => {
                let key = NewKey { wide: false, ..branch.key.clone() };
                (file.unlisted(self.directory, &key, fields, payload, object_len)?, BasketTreatment::Resplit)
            }
        };
        let placement = Placement {
            branch: place,
            end: branch.next_entry + ready.entries,
            bytes: placed.bytes,
            total: u64::from(placed.key_len) + object_len as u64,
            treatment,
        };
        self.placed(&placement, placed.offset)?;
        Ok(placement)
    }

    /// Messages about branches with baskets that were not re-split.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let branches = self.by_path.iter().filter_map(|(path, &place)| {
            let why = self.branches.get(place)?.as_ref()?.kept_whole.as_ref()?;
            Some(format!("'{path}': baskets were not re-split: {why}"))
        });
        let mut notes: Vec<String> = branches.collect();
        notes.sort_unstable();
        notes.into_iter()
    }

    /// Records where a basket was placed.
    pub(super) fn placed(&mut self, placement: &Placement, offset: u64) -> Result<()> {
        let Some(Some(branch)) = self.branches.get_mut(placement.branch) else {
            return Err(Error::corrupt("a basket belongs to no branch"));
        };
        branch.baskets.push((branch.next_entry, offset, placement.bytes));
        branch.next_entry = placement.end;
        branch.total_bytes += placement.total;
        branch.zip_bytes += u64::from(placement.bytes);
        Ok(())
    }

    /// Writes the tree's record.
    pub(super) fn finish(&self, resplit: bool, file: &mut FileWriter) -> Result<()> {
        let clusters = match self.every {
            Some(entries) => {
                let auto_flush = i64::try_from(entries).unwrap_or(i64::MAX);
                Some(ClusterChange { auto_flush, ranges: Vec::new() })
            }
            None if self.complete && !resplit => None,
            None => Some(ClusterChange::of_sizes(self.sizes.iter().copied())),
        };
        let change = TreeChange {
            entries: self.entries,
            clusters,
            branches: self.branches.iter().map(|branch| branch.as_ref().map(OutputBranch::change)).collect(),
            drop_index: !self.complete,
        };
        let key = NewKey::new(&self.class_name, &self.name, &self.title, file.wide());
        let record = self.outline.emit(key.len(), &change)?;
        file.object(self.directory, &self.class_name, &self.name, &self.title, |buffer| {
            buffer.bytes(&record);
        })?;
        Ok(())
    }
}

/// The smallest size of a basket, and `fEntryOffsetLen`, of new branches of objects (Splitting §4.2).
const SMALLEST_BASKET: u32 = 1100;
const OFFSET_LEN: i32 = 1000;

/// Number of entries in clusters of a size. A size in bytes is converted by the compressed size of the wanted branches.
fn cluster_entries(input: &InputTree, wanted: &[bool], size: ClusterSize) -> u64 {
    let bytes = match size {
        ClusterSize::Entries(entries) => return entries.max(1),
        ClusterSize::Bytes(bytes) => bytes,
    };
    let kept = wanted.iter().enumerate().filter(|(_, wanted)| **wanted);
    let sum: u64 = kept.flat_map(|(branch, _)| input.baskets(branch)).map(BasketRef::size).sum();
    let entries = u128::from(input.record().entries) * u128::from(bytes) / u128::from(sum.max(1));
    u64::try_from(entries).unwrap_or(u64::MAX).clamp(1, u64::from(u32::MAX >> 1))
}
