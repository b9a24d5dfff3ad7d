//! Plans a repack: reads what the inputs contain, and decides what the new file gets from which of them.

use super::entry_ranges::EntryRanges;
use super::input::InputTree;
use super::input_table::InputTable;
use super::inputs::Inputs;
use super::options::{OutputFormat, RepackOptions, SchemaDrift};
use sapwood_core::{Call, Error, Result};
use sapwood_rntuple::ExtraTypeInfo;
use sapwood_root::{File, KeyEntry, RNTUPLES, Tree, is_tree};
use sapwood_tfile::write::Descriptions;
use std::collections::{HashMap, HashSet};
use std::fmt::{Result as Written, Write};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// The content of the new file, and the inputs it comes from.
#[derive(Debug, Default)]
pub struct RepackPlan {
    /// Path and title of each directory.
    pub directories: Vec<(String, String)>,
    /// Objects that are not trees, one for each path and cycle: the key in the first input that has it, and the indices
    /// of all inputs that do.
    pub objects: Vec<(KeyEntry, Vec<usize>)>,
    /// The process ids of the new file, in order: the input that has each, and its key there.
    pub process_ids: Vec<(usize, KeyEntry)>,
    /// For each input, the offset that its process ids get in the new file.
    pub shifts: Vec<u16>,
    /// Indices into `objects`, by path.
    of_path: HashMap<String, Vec<usize>>,
    /// The trees and RNTuples, in the order in which the inputs list them.
    pub trees: Vec<TreePlan>,
    /// The class descriptions of all inputs.
    pub descriptions: Descriptions,
    /// Hash of the identities of all inputs, which change with their content.
    identities: DefaultHasher,
    /// True if some baskets are in other files.
    elsewhere: bool,
}

/// A tree or an RNTuple to write.
#[derive(Debug)]
pub struct TreePlan {
    /// Its path.
    pub path: String,
    /// The inputs that have it.
    pub inputs: Vec<TreeInput>,
    /// Which branches of the first input's tree are written.
    pub wanted: Vec<bool>,
    /// True if baskets are re-split.
    pub resplit: bool,
    /// True for an RNTuple.
    pub is_rntuple: bool,
    /// What the RNTuples of all inputs say about types.
    pub types: Vec<ExtraTypeInfo>,
    /// The table of the first input, until it is opened to be copied.
    first: Option<InputTable>,
}

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableTreatment {
    /// A tree's baskets are copied, recompressed or re-split.
    Baskets,
    /// An RNTuple's pages are copied, or made from its values.
    Pages,
    /// The values of a tree are written as an RNTuple.
    ToRNTuple,
    /// The values of an RNTuple are written as a tree.
    ToTree,
}

/// An input that has a tree.
#[derive(Debug)]
pub struct TreeInput {
    /// Index of the input.
    pub index: usize,
    /// Rank of the given file or dataset among those that have the tree, and the input's first entry in it.
    given: (usize, u64),
    /// The tree's highest cycle.
    cycle: u16,
    class_name: String,
    entries: u64,
}

impl RepackPlan {
    /// Opens all inputs, and plans what is written.
    ///
    /// # Errors
    /// Errors of opening and reading the inputs; `Unsupported` if their trees cannot be merged.
    pub fn new(
        inputs: &mut Inputs<'_>,
        options: &RepackOptions,
        notes: &mut Vec<String>,
        call: &mut Call<'_>,
    ) -> Result<RepackPlan> {
        let mut plan = RepackPlan::default();
        let mut index = 0;
        while index < inputs.len() {
            inputs.ahead(index);
            let file = inputs.expand(index, call)?;
            let identity = file.fetcher().source().identity();
            write!(HashWriter(&mut plan.identities), "{identity:?} {:?}", file.header()).ok();
            let process_ids = plan.add(index, &file, options, call)?;
            plan.add_process_ids(index, process_ids).map_err(|error| error.url(file.url()))?;
            for tree in &mut plan.trees {
                plan.elsewhere |= tree.join(index, inputs, &file, options, notes, call)?;
            }
            index += 1;
        }
        let missing = |path: &String| !plan.trees.iter().any(|tree| tree.path == *path);
        let chosen = options.selections.iter().map(|selection| &selection.tree);
        if let Some(path) = options.trees.iter().flatten().chain(chosen).find(|path| missing(path)) {
            return Err(Error::new(sapwood_core::ErrorKind::Missing, format!("there is no tree '{path}'")));
        }
        for tree in &plan.trees {
            let empty = tree.first.as_ref().is_none_or(|first| first.paths().is_empty());
            if !empty && !tree.wanted.contains(&true) {
                let message = format!("the trees '{}' have no branch in common", tree.path);
                return Err(Error::unsupported(message));
            }
        }
        Ok(plan)
    }

    /// A hash of everything that determines the bytes of the new file; none if some of that is unknown.
    pub fn job(&self, name: &str, options: &RepackOptions) -> Option<u64> {
        let RepackOptions {
            compression,
            basket_size,
            cluster,
            split,
            trees,
            only_trees,
            selections,
            drift,
            sets,
            format,
            ..
        } = options;
        let layout = (format, compression, basket_size, cluster, split);
        let asked = (layout, trees, only_trees, selections, drift, sets);
        let mut hasher = self.identities.clone();
        (env!("CARGO_PKG_VERSION"), name).hash(&mut hasher);
        write!(HashWriter(&mut hasher), "{asked:?}").ok()?;
        (!self.elsewhere).then(|| hasher.finish())
    }

    fn add(
        &mut self,
        index: usize,
        file: &File,
        options: &RepackOptions,
        call: &mut Call<'_>,
    ) -> Result<Vec<KeyEntry>> {
        let streamers = file.streamers(&mut call.step())?;
        for (record, version) in file.descriptions(&mut call.step())? {
            self.descriptions.add_record(&record, version)?;
        }
        let (mut seen, mut process_ids) = (HashSet::new(), Vec::new());
        for entry in file.keys(&mut call.step())? {
            let class = entry.key.class_name.as_str();
            let tree = is_tree(class, &streamers) || RNTUPLES.contains(&class);
            let wanted = options.trees.as_ref().is_none_or(|trees| trees.contains(&entry.path));
            if entry.key.is_directory() {
                if !self.directories.iter().any(|(path, _)| *path == entry.path) {
                    self.directories.push((entry.path, entry.key.title));
                }
            } else if tree && wanted {
                self.add_tree(index, entry, &mut seen);
            } else if class == "TProcessID" {
                // Only objects refer to process ids.
                process_ids.extend(Some(entry).filter(|_| !options.only_trees));
            } else if !tree && !options.only_trees {
                self.add_object(index, entry);
            }
        }
        Ok(process_ids)
    }

    /// Finds the position of an input's process ids among those of the new file. References name them by number, so those
    /// of an input stay together, and the keys of its baskets state the number of the first.
    fn add_process_ids(&mut self, index: usize, mut own: Vec<KeyEntry>) -> Result<()> {
        let number =
            |entry: &KeyEntry| entry.path.strip_prefix("ProcessID").and_then(|n| n.parse::<usize>().ok());
        own.sort_by_key(number);
        if own.iter().enumerate().any(|(place, entry)| number(entry) != Some(place)) {
            return Err(Error::unsupported(
                "the process ids of the file are not numbered consecutively from 0",
            ));
        }
        let titles =
            |entries: &[(usize, KeyEntry)]| entries.iter().map(|(_, e)| e.key.title.clone()).collect();
        let (all, mine): (Vec<String>, Vec<_>) =
            (titles(&self.process_ids), own.iter().map(|entry| entry.key.title.clone()).collect());
        let known = all.windows(mine.len().max(1)).position(|some| *some == *mine);
        let shift = if mine.is_empty() { 0 } else { known.unwrap_or(all.len()) };
        if !mine.is_empty() && known.is_none() {
            self.process_ids.extend(own.into_iter().map(|entry| (index, entry)));
        }
        let too_many = || Error::unsupported("there are more process ids than a file can have");
        self.shifts.push(u16::try_from(shift).map_err(|_| too_many())?);
        Ok(())
    }

    fn add_tree(&mut self, index: usize, entry: KeyEntry, seen: &mut HashSet<String>) {
        let KeyEntry { path, key } = entry;
        let (cycle, class) = (key.cycle, key.class_name);
        let place = self.trees.iter().position(|tree| tree.path == path);
        match place.and_then(|place| self.trees.get_mut(place)) {
            // The highest cycle was written last.
            Some(tree) if !seen.insert(path.clone()) => {
                if let Some(last) = tree.inputs.last_mut().filter(|last| last.cycle < cycle) {
                    (last.cycle, last.class_name) = (cycle, class);
                }
            }
            Some(tree) => tree.inputs.push(TreeInput::new(index, cycle, class)),
            None => {
                seen.insert(path.clone());
                self.trees.push(TreePlan {
                    path,
                    inputs: vec![TreeInput::new(index, cycle, class)],
                    wanted: Vec::new(),
                    resplit: false,
                    is_rntuple: false,
                    types: Vec::new(),
                    first: None,
                });
            }
        }
    }

    fn add_object(&mut self, index: usize, entry: KeyEntry) {
        let places = self.of_path.entry(entry.path.clone()).or_default();
        let same = places.iter().copied().find(|&place| {
            // Cycles of one file are separate objects; an object of a later file is new only if its path is.
            self.objects
                .get(place)
                .is_some_and(|(other, of)| of.first() != Some(&index) || other.key.cycle == entry.key.cycle)
        });
        match same.and_then(|place| self.objects.get_mut(place)) {
            Some((_, inputs)) if inputs.last() != Some(&index) => inputs.push(index),
            Some(_) => {}
            None => {
                places.push(self.objects.len());
                self.objects.push((entry, vec![index]));
            }
        }
    }
}

impl TreeInput {
    fn new(index: usize, cycle: u16, class_name: String) -> TreeInput {
        TreeInput { index, given: (0, 0), cycle, class_name, entries: 0 }
    }
}

impl TreePlan {
    /// The tree in one of its inputs, by the position among these.
    pub(super) fn open(
        &mut self,
        position: usize,
        inputs: &mut Inputs<'_>,
        call: &mut Call<'_>,
    ) -> Result<InputTree> {
        if let Some(InputTable::Tree(first)) = self.first.take() {
            return Ok(*first);
        }
        let input = self.inputs.get(position).ok_or_else(|| Error::usage("no such input of the tree"))?;
        let file = inputs.get(input.index, call)?;
        InputTree::open(&file, &self.path, input.cycle, &mut call.step())
    }

    /// The tree in one of its inputs to be read, and its number of entries.
    pub(super) fn table(
        &self,
        position: usize,
        inputs: &mut Inputs<'_>,
        call: &mut Call<'_>,
    ) -> Result<(Tree, u64)> {
        let input = self.inputs.get(position).ok_or_else(|| Error::usage("no such input of the tree"))?;
        let file = inputs.get(input.index, call)?;
        Ok((file.tree(&self.path, Some(input.cycle), &mut call.step())?, input.entries))
    }

    /// How it is written in this format.
    pub fn treatment(&self, format: OutputFormat) -> TableTreatment {
        match (self.is_rntuple, format) {
            (false, OutputFormat::RNTuple) => TableTreatment::ToRNTuple,
            (false, _) => TableTreatment::Baskets,
            (true, OutputFormat::Tree) => TableTreatment::ToTree,
            (true, _) => TableTreatment::Pages,
        }
    }

    /// The selected entries of one of its inputs, by the position among these; `ranges` are those of the given files.
    pub fn chosen(&self, position: usize, ranges: Option<&Vec<Vec<Range<u64>>>>) -> EntryRanges {
        let Some(input) = self.inputs.get(position) else { return EntryRanges::new(None, 0) };
        let (given, first) = input.given;
        let ranges = ranges.and_then(|inputs| inputs.get(given)).map(Vec::as_slice);
        EntryRanges::counted_from(ranges, first, input.entries)
    }

    /// Adds the tree of an input: the first decides which branches are written, and others must be mergeable with it.
    /// Returns true if some of its baskets are in other files.
    fn join(
        &mut self,
        index: usize,
        inputs: &Inputs<'_>,
        file: &File,
        options: &RepackOptions,
        notes: &mut Vec<String>,
        call: &mut Call<'_>,
    ) -> Result<bool> {
        let Some((last, before)) = self.inputs.split_last_mut().filter(|(last, _)| last.index == index)
        else {
            return Ok(false);
        };
        let before = before.last();
        let goes_on = before.is_some_and(|before| inputs.given(before.index) == inputs.given(index));
        last.given = match before {
            None => (0, 0),
            Some(before) if goes_on => (before.given.0, before.given.1 + before.entries),
            Some(before) => (before.given.0 + 1, 0),
        };
        if goes_on
            && file.dataset_tree() == Some(&self.path)
            && let Some(entries) = file.contents().virtual_entries()
        {
            // All segments of a dataset have the same branches.
            last.entries = entries;
            return Ok(false);
        }
        let table = InputTable::open(file, &self.path, last.cycle, &last.class_name, &mut call.step())?;
        let elsewhere = table.is_elsewhere();
        last.entries = table.entries();
        if let InputTable::RNTuple(table) = &table {
            let new = table.type_infos().iter().filter(|info| !self.types.contains(info));
            self.types.extend(new.cloned().collect::<Vec<_>>());
        }
        let Some(first) = self.first.take() else {
            let selection = options.selections.iter().find(|selection| selection.tree == self.path);
            let scattered = selection.and_then(|selection| selection.entries.as_ref());
            let scattered = scattered.is_some_and(|inputs| inputs.iter().any(|ranges| ranges.len() > 1));
            self.resplit = scattered
                || options.basket_size.is_some()
                || options.cluster.is_some()
                || options.split.is_some();
            self.wanted = table.wanted(selection.and_then(|selection| selection.branches.as_deref()))?;
            self.is_rntuple = table.is_rntuple();
            self.first = Some(table);
            return Ok(elsewhere);
        };
        let compared = self.compare(&first, &table, options.drift, notes);
        self.first = Some(first);
        compared.map(|()| elsewhere)
    }

    /// Drops the branches that differ in another tree, or fails.
    fn compare(
        &mut self,
        first: &InputTable,
        other: &InputTable,
        drift: SchemaDrift,
        notes: &mut Vec<String>,
    ) -> Result<()> {
        if first.is_rntuple() != other.is_rntuple() {
            let [here, there] =
                [first, other].map(|one| if one.is_rntuple() { "an RNTuple" } else { "a TTree" });
            let message = format!("'{}' is {there}, but {here} in {}", self.path, first.url());
            return Err(Error::unsupported(message)
                .url(other.url())
                .hint("repack one of the files to the format of the other"));
        }
        let differences = self.differences(first, other);
        if differences.is_empty() {
            return Ok(());
        }
        let shown: Vec<_> = differences.iter().take(5).map(|(_, text)| text.as_str()).collect();
        let more = differences.len().saturating_sub(shown.len());
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let (path, place) = (&self.path, first.url());
        let message = format!("'{path}' differs from the tree in {place}: {}{more}", shown.join("; "));
        if drift == SchemaDrift::Strict {
            return Err(Error::unsupported(message).url(other.url()).hint(
                "to merge only the branches that all files have in common, use --schema intersection",
            ));
        }
        notes.push(format!("{}: {message}", other.url()));
        for place in differences.into_iter().filter_map(|(place, _)| place) {
            self.drop_branch(first, place);
        }
        Ok(())
    }

    /// The differences of another tree: a text for each, and the index of the branch in the first tree.
    fn differences(&self, first: &InputTable, other: &InputTable) -> Vec<(Option<usize>, String)> {
        let (paths, others) = (first.paths(), other.paths());
        let (signatures, other_signatures) = (first.signatures(), other.signatures());
        let of_path: HashMap<&str, usize> =
            others.iter().enumerate().map(|(index, path)| (*path, index)).collect();
        let mut differences = Vec::new();
        for (place, _) in self.wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
            let path = paths.get(place).copied().unwrap_or_default();
            match of_path.get(path) {
                None => differences.push((Some(place), format!("{path} is missing"))),
                Some(&branch) => {
                    let (here, there) = (signatures.get(place), other_signatures.get(branch));
                    if let (Some(here), Some(there)) = (here, there)
                        && here != there
                    {
                        // The same types may be stored in different ways.
                        let types = first.typename(place).zip(other.typename(branch));
                        let types = types.filter(|(here, there)| here != there);
                        let (here, there) = types.unwrap_or_else(|| (here.clone(), there.clone()));
                        differences.push((Some(place), format!("{path} is {there}, not {here}")));
                    }
                }
            }
        }
        let known: HashSet<&str> = paths.into_iter().collect();
        for path in others {
            if !known.contains(path) {
                differences.push((None, format!("{path} is new")));
            }
        }
        differences
    }

    /// Drops a branch, its sub-branches, and the branches that it counts.
    fn drop_branch(&mut self, table: &InputTable, place: usize) {
        if std::mem::replace(self.wanted.get_mut(place).unwrap_or(&mut false), false) {
            table.dependents(place).into_iter().for_each(|index| self.drop_branch(table, index));
        }
    }
}

/// Hashes the text written to it.
struct HashWriter<'a>(&'a mut DefaultHasher);

impl Write for HashWriter<'_> {
    fn write_str(&mut self, text: &str) -> Written {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
