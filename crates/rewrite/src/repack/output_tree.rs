//! A tree of the new file: where its baskets were placed, and its record, which is written at the end.

use super::baskets::{ClusterBorders, ClusterCutter, OutputBasket, OutputKey};
use super::entry_ranges::EntryRanges;
use super::input::InputTree;
use super::journal::{BasketTreatment, Placement, RepackJournal};
use super::options::RepackOptions;
use sapwood_codec::{Algorithm, Compression};
use sapwood_core::{Error, Result};
use sapwood_table::write::ClusterSize;
use sapwood_tfile::write::{DirectoryId, FileWriter, NewKey};
use sapwood_ttree::{
    Branch, BranchChange, BranchOutline, ClusterChange, Cutter, Maximum, References, TreeChange, TreeOutline,
};
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

/// A branch of the new file.
#[derive(Debug)]
pub(super) struct OutputBranch {
    /// Compression of its baskets.
    pub compression: Compression,
    /// `fCompress`.
    compression_number: i32,
    /// True if baskets are recompressed even if they are not re-split.
    pub recompress: bool,
    basket_size: i32,
    /// The key of its baskets.
    pub key: NewKey,
    offset_len: i32,
    /// How to find references inside its entries.
    pub references: References,
    /// Why some of its baskets were not re-split.
    pub kept_whole: Option<String>,
    /// True if its baskets are in another file, which does not exist; the new tree refers to that file, too.
    is_absent: bool,
    maxima: Vec<i64>,
    first_entry: u64,
    /// One past the last entry whose basket was placed.
    next_entry: u64,
    /// What `next_entry` must be after this input.
    end: u64,
    /// One past the last entry whose basket an earlier run placed.
    pub placed: u64,
    total_bytes: u64,
    zip_bytes: u64,
    baskets: Vec<(u64, u64, u32)>,
    /// The cutter of its baskets, if they are re-split.
    pub cutter: Option<ClusterCutter>,
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
                let may_split = may_split || branch.baskets.iter().any(|basket| basket.embedded.is_some());
                let references = || if may_split { input.references(place) } else { References::Undescribed };
                let new = || {
                    let tree = &input.meta.name;
                    OutputBranch::new(branch, outline, tree, file_setting, references(), options)
                };
                wanted.get(place).copied().unwrap_or(false).then(new)
            })
            .collect();
        let by_path = (0..branches.len()).map(|place| (input.path(place).to_owned(), place));
        OutputTree {
            directory,
            class_name: input.meta.class_name.clone(),
            name: input.name.clone(),
            title: input.title.clone(),
            outline: Arc::clone(&input.outline),
            by_path: by_path.collect(),
            every: options.cluster.map(|size| cluster_entries(input, wanted, size)),
            branches,
            entries: 0,
            sizes: Vec::new(),
            complete: false,
            inputs: 0,
        }
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
                let starts = input.meta.cluster_starts.iter().map(|&start| self.entries + chosen.rank(start));
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
                .begin(first, end, described.baskets.is_empty(), &outline.maxima, resplit)
                .map_err(|error| error.branch(input.path(branch)).url(input.file.url()))?;
        }
        Ok(())
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
        self.complete = self.inputs == 1 && chosen.total() == input.meta.entries;
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

impl OutputBranch {
    fn new(
        branch: &Branch,
        outline: &BranchOutline,
        tree: &str,
        file_setting: i32,
        references: References,
        options: &RepackOptions,
    ) -> OutputBranch {
        let number = if branch.compression < 0 { file_setting } else { branch.compression };
        let own = Compression::from_number(number);
        // Compressions that are no longer written (ROOT's first ZLIB) become the closest one.
        let own = own.or_else(|_| Compression::new(Algorithm::Zlib, 1)).unwrap_or_default();
        let basket_size = options.basket_size.and_then(|size| i32::try_from(size).ok());
        OutputBranch {
            compression: options.compression.unwrap_or(own),
            compression_number: options.compression.map_or(branch.compression, Compression::number),
            recompress: options.compression.is_some(),
            basket_size: basket_size.unwrap_or_else(|| i32::try_from(branch.basket_size).unwrap_or(i32::MAX)),
            key: NewKey::new("TBasket", &branch.name, tree, true),
            offset_len: branch.entry_offset_len,
            references,
            kept_whole: None,
            is_absent: false,
            maxima: outline.maxima.iter().map(|maximum| maximum.value).collect(),
            first_entry: 0,
            next_entry: 0,
            end: 0,
            placed: 0,
            total_bytes: 0,
            zip_bytes: 0,
            baskets: Vec::new(),
            cutter: None,
        }
    }

    fn begin(
        &mut self,
        first: u64,
        end: u64,
        is_empty: bool,
        maxima: &[Maximum],
        resplit: bool,
    ) -> Result<()> {
        // Readers reject more items than this, so it is the maximum over all inputs.
        for (mine, maximum) in self.maxima.iter_mut().zip(maxima) {
            *mine = maximum.value.max(*mine);
        }
        let reached = self.cutter.as_ref().map_or(self.next_entry, |cutter| cutter.next);
        // An input without entries of the branch changes nothing.
        if first == end {
            self.end = reached;
            return Ok(());
        }
        let fresh = self.baskets.is_empty() && self.cutter.is_none();
        if fresh && self.first_entry == reached {
            (self.first_entry, self.next_entry) = (first, first);
        } else if first != reached {
            return Err(Error::unsupported(format!(
                "the branch continues at entry {first} instead of {reached}: an input has fewer entries of it"
            ))
            .hint("drop the branch"));
        }
        self.end = end;
        if is_empty {
            if !fresh {
                return Err(Error::corrupt("the branch has no baskets in this file"));
            }
            self.next_entry = end;
        } else if resplit && self.cutter.is_none() {
            let base = first.max(self.placed);
            self.cutter =
                Some(ClusterCutter { cutter: self.new_cutter(self.basket_size), base, next: first });
        }
        Ok(())
    }

    /// A cutter of baskets of at most `limit` bytes.
    fn new_cutter(&self, limit: i32) -> Cutter {
        let limit = usize::try_from(limit).unwrap_or(0);
        Cutter::new(limit, self.key.len(), self.offset_len, false)
    }

    /// A cutter that makes a single basket of any size, with a narrow or wide key.
    pub(super) fn single(&self, narrow: bool) -> Cutter {
        let key = NewKey { wide: !narrow, ..self.key.clone() };
        Cutter::new(usize::MAX, key.len(), self.offset_len, false)
    }

    fn change(&self) -> BranchChange {
        BranchChange {
            compression: self.compression_number,
            basket_size: self.basket_size,
            first_entry: self.first_entry,
            entry_number: self.next_entry,
            total_bytes: self.total_bytes,
            zip_bytes: self.zip_bytes,
            maxima: self.maxima.clone(),
            baskets: self.baskets.clone(),
            keeps_baskets: self.is_absent,
        }
    }
}

/// Number of entries in clusters of a size. A size in bytes is converted by the compressed size of the wanted branches.
fn cluster_entries(input: &InputTree, wanted: &[bool], size: ClusterSize) -> u64 {
    let bytes = match size {
        ClusterSize::Entries(entries) => return entries.max(1),
        ClusterSize::Bytes(bytes) => bytes,
    };
    let kept = input.branches().zip(wanted).filter(|(_, wanted)| **wanted);
    let baskets = kept.flat_map(|(branch, _)| branch.baskets.iter());
    let sum: u64 = baskets
        .map(|basket| basket.embedded.as_ref().map_or(basket.len, |embedded| embedded.len() as u64))
        .sum();
    let entries = u128::from(input.meta.entries) * u128::from(bytes) / u128::from(sum.max(1));
    u64::try_from(entries).unwrap_or(u64::MAX).clamp(1, u64::from(u32::MAX >> 1))
}
