//! What is in the inputs, before anything is written.

use super::input::InputTree;
use super::options::{Drift, Input, RepackOptions};
use crate::file::{RNTUPLES, is_tree};
use crate::{File, Interrupt, KeyEntry};
use sapwood_core::{Error, Result};
use sapwood_tfile::write::Descriptions;
use std::collections::{HashMap, HashSet};

/// So many inputs stay open.
const MOST_OPEN: usize = 16;

/// The inputs, of which a few stay open.
#[derive(Debug)]
pub(crate) struct Inputs<'a> {
    inputs: &'a [Input],
    open: HashMap<usize, File>,
}

impl<'a> Inputs<'a> {
    pub(crate) fn new(inputs: &'a [Input]) -> Inputs<'a> {
        Inputs { inputs, open: HashMap::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.inputs.len()
    }

    /// One of them, opened.
    pub(crate) fn get(&mut self, index: usize, interrupt: Interrupt<'_>) -> Result<File> {
        if let Some(file) = self.open.get(&index) {
            return Ok(file.clone());
        }
        let file = match self.inputs.get(index) {
            Some(Input::Open(file)) => file.clone(),
            Some(Input::At(url, options)) => File::open(url, (**options).clone(), interrupt)?,
            None => return Err(Error::usage("there is no such input")),
        };
        if self.open.len() < MOST_OPEN {
            self.open.insert(index, file.clone());
        }
        Ok(file)
    }
}

/// What is to be written.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Path and title of each directory.
    pub(crate) directories: Vec<(String, String)>,
    /// Everything that is no tree: by path and cycle, the inputs that have it, and the key in the first.
    pub(crate) objects: Vec<(KeyEntry, Vec<usize>)>,
    /// The process ids of the new file: the input that has each, and its key there; where several inputs are joined.
    pub(crate) process_ids: Vec<(usize, KeyEntry)>,
    /// For each input, what is to be added to the numbers of its process ids.
    pub(crate) shifts: Vec<u16>,
    /// Places in `objects`, by path.
    of_path: HashMap<String, Vec<usize>>,
    pub(crate) trees: Vec<SurveyedTree>,
    pub(crate) descriptions: Descriptions,
}

/// A tree that is to be written.
#[derive(Debug)]
pub(crate) struct SurveyedTree {
    pub(crate) path: String,
    /// The inputs that have it, with the cycle of their newest one.
    pub(crate) inputs: Vec<(usize, u16)>,
    /// Branches of the first that are written, by their places.
    pub(crate) wanted: Vec<bool>,
    /// True if baskets are cut anew.
    pub(crate) cut: bool,
    /// The tree, if one input has it.
    pub(crate) only: Option<InputTree>,
}

impl Survey {
    pub(crate) fn new(
        inputs: &mut Inputs<'_>,
        options: &RepackOptions,
        notes: &mut Vec<String>,
        interrupt: Interrupt<'_>,
    ) -> Result<Survey> {
        let mut survey = Survey::default();
        for index in 0..inputs.len() {
            let file = inputs.get(index, interrupt)?;
            let process_ids = survey.add(index, &file, options, interrupt)?;
            survey.add_process_ids(index, process_ids).map_err(|error| error.url(file.url()))?;
        }
        let missing = |path: &String| !survey.trees.iter().any(|tree| tree.path == *path);
        let chosen = options.choices.iter().map(|choice| &choice.tree);
        if let Some(path) = options.trees.iter().flatten().chain(chosen).find(|path| missing(path)) {
            return Err(Error::new(sapwood_core::ErrorKind::Missing, format!("there is no tree '{path}'")));
        }
        for tree in &mut survey.trees {
            tree.compare(inputs, options, notes, interrupt)?;
        }
        Ok(survey)
    }

    fn add(
        &mut self,
        index: usize,
        file: &File,
        options: &RepackOptions,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<KeyEntry>> {
        let streamers = file.streamers(options.deadline, interrupt)?;
        let record =
            file.0.parse(options.deadline, interrupt, |tfile, known| tfile.streamers_record(known))?;
        if let Some(record) = record {
            self.descriptions.add_record(&record, file.header().version)?;
        }
        let (mut seen, mut process_ids) = (HashSet::new(), Vec::new());
        for entry in file.keys(options.deadline, interrupt)? {
            let class = entry.key.class_name.as_str();
            let tree = is_tree(class, &streamers);
            let wanted = options.trees.as_ref().is_none_or(|trees| trees.contains(&entry.path));
            if entry.key.is_directory() {
                if !self.directories.iter().any(|(path, _)| *path == entry.path) {
                    self.directories.push((entry.path, entry.key.title));
                }
            } else if tree && wanted {
                self.add_tree(index, entry, &mut seen);
            } else if RNTUPLES.contains(&class) && wanted {
                let message = format!("'{}' is an RNTuple, which cannot be written yet", entry.path);
                return Err(Error::unsupported(message)
                    .url(file.url())
                    .hint("name the trees that are to be written, and it is left out"));
            } else if class == "TProcessID" {
                process_ids.push(entry);
            } else if !tree && !RNTUPLES.contains(&class) && !options.only_trees {
                self.add_object(index, entry);
            }
        }
        Ok(process_ids)
    }

    /// Finds the place of the process ids of an input among those of the new file. References name them by number:
    /// those of each input stay together, and the keys of its baskets say from where they count.
    fn add_process_ids(&mut self, index: usize, mut own: Vec<KeyEntry>) -> Result<()> {
        let number =
            |entry: &KeyEntry| entry.path.strip_prefix("ProcessID").and_then(|n| n.parse::<usize>().ok());
        own.sort_by_key(number);
        if own.iter().enumerate().any(|(place, entry)| number(entry) != Some(place)) {
            return Err(Error::unsupported("the process ids of the file are not numbered from 0 on"));
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
        let too_many = || Error::unsupported("there are more process ids than ROOT can count");
        self.shifts.push(u16::try_from(shift).map_err(|_| too_many())?);
        Ok(())
    }

    fn add_tree(&mut self, index: usize, entry: KeyEntry, seen: &mut HashSet<String>) {
        let cycle = entry.key.cycle;
        let place = self.trees.iter().position(|tree| tree.path == entry.path);
        match place.and_then(|place| self.trees.get_mut(place)) {
            // Of the cycles of one tree, the highest is that which was written last.
            Some(tree) if !seen.insert(entry.path.clone()) => {
                if let Some(last) = tree.inputs.last_mut() {
                    last.1 = last.1.max(cycle);
                }
            }
            Some(tree) => tree.inputs.push((index, cycle)),
            None => {
                seen.insert(entry.path.clone());
                let inputs = vec![(index, cycle)];
                self.trees.push(SurveyedTree {
                    path: entry.path,
                    inputs,
                    wanted: Vec::new(),
                    cut: false,
                    only: None,
                });
            }
        }
    }

    fn add_object(&mut self, index: usize, entry: KeyEntry) {
        let places = self.of_path.entry(entry.path.clone()).or_default();
        let same = places.iter().copied().find(|&place| {
            // Within one file, cycles are kept apart; of other files, only what is not there yet is new.
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

impl SurveyedTree {
    /// Finds out which branches are written; that they can be joined, where there are several inputs.
    fn compare(
        &mut self,
        inputs: &mut Inputs<'_>,
        options: &RepackOptions,
        notes: &mut Vec<String>,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        let Some(&(first, cycle)) = self.inputs.first() else { return Ok(()) };
        let file = inputs.get(first, interrupt)?;
        let tree = InputTree::open(&file, &self.path, cycle, options.deadline, interrupt)?;
        let choice = options.choices.iter().find(|choice| choice.tree == self.path);
        let scattered = choice.and_then(|choice| choice.entries.as_ref());
        let scattered = scattered.is_some_and(|inputs| inputs.iter().any(|ranges| ranges.len() > 1));
        self.cut = options.basket_size.is_some() || options.cluster.is_some() || scattered;
        self.wanted = wanted(&tree, choice.and_then(|choice| choice.branches.as_deref()))?;
        if self.inputs.len() == 1 {
            self.only = Some(tree);
            return Ok(());
        }
        let others: Vec<_> = self.inputs.iter().skip(1).copied().collect();
        for (index, cycle) in others {
            let file = inputs.get(index, interrupt)?;
            let other = InputTree::open(&file, &self.path, cycle, options.deadline, interrupt)?;
            let differences = self.differences(&tree, &other);
            if differences.is_empty() {
                continue;
            }
            let shown: Vec<_> = differences.iter().take(5).map(|(_, text)| text.as_str()).collect();
            let more = differences.len().saturating_sub(shown.len());
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            let message = format!(
                "'{}' differs from that in {}: {}{more}",
                self.path,
                tree.file.url(),
                shown.join("; ")
            );
            if options.drift == Drift::Strict {
                return Err(Error::unsupported(message)
                    .url(file.url())
                    .hint("merge what all have, of the same type, with --schema intersection"));
            }
            notes.push(format!("{}: {message}", file.url()));
            for place in differences.into_iter().filter_map(|(place, _)| place) {
                self.leave_out(&tree, place);
            }
        }
        if self.wanted.contains(&true) || tree.outline.branches.is_empty() {
            return Ok(());
        }
        Err(Error::unsupported(format!("the trees '{}' have no branch in common", self.path)))
    }

    /// What differs in another tree: in words, with the place of the branch in the first.
    fn differences(&self, first: &InputTree, other: &InputTree) -> Vec<(Option<usize>, String)> {
        let of_path: HashMap<&str, usize> =
            (0..other.outline.branches.len()).map(|branch| (other.path(branch), branch)).collect();
        let mut differences = Vec::new();
        let mut met = HashSet::new();
        for (place, _) in self.wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
            let path = first.path(place);
            met.insert(path);
            match of_path.get(path) {
                None => differences.push((Some(place), format!("{path} is missing"))),
                Some(&branch) => {
                    let (here, there) = (first.signature(place), other.signature(branch));
                    if here != there {
                        differences.push((Some(place), format!("{path} is {there}, not {here}")));
                    }
                }
            }
        }
        let known: HashSet<&str> =
            (0..first.outline.branches.len()).map(|branch| first.path(branch)).collect();
        for (branch, _) in other.outline.branches.iter().enumerate() {
            let path = other.path(branch);
            if !known.contains(path) {
                differences.push((None, format!("{path} is new")));
            }
        }
        differences
    }

    /// Leaves out a branch, what is in it, and what it counts.
    fn leave_out(&mut self, tree: &InputTree, place: usize) {
        if !std::mem::replace(self.wanted.get_mut(place).unwrap_or(&mut false), false) {
            return;
        }
        let branches = tree.outline.branches.iter().enumerate();
        let dependent: Vec<usize> = branches
            .filter(|(_, branch)| branch.parent == Some(place) || branch.needs.contains(&place))
            .map(|(index, _)| index)
            .collect();
        dependent.into_iter().for_each(|index| self.leave_out(tree, index));
    }
}

/// The branches that are written: those of some paths, what is in them, what holds them, and what is needed to read
/// them.
fn wanted(tree: &InputTree, paths: Option<&[String]>) -> Result<Vec<bool>> {
    let branches = &tree.outline.branches;
    let Some(paths) = paths else { return Ok(vec![true; branches.len()]) };
    let asked: HashSet<&str> = paths.iter().map(String::as_str).collect();
    let known: HashSet<&str> = (0..branches.len()).map(|branch| tree.path(branch)).collect();
    if let Some(path) = asked.iter().find(|path| !known.contains(*path)) {
        let message = format!("there is no branch '{path}'");
        return Err(Error::new(sapwood_core::ErrorKind::Missing, message).url(tree.file.url()));
    }
    let described = tree.meta.branches.len();
    let mut wanted = vec![false; branches.len()];
    for (place, branch) in branches.iter().enumerate() {
        // A branch stands before its sub-branches. That of references, which has no path, serves all others.
        let inside = branch.parent.and_then(|parent| wanted.get(parent)).copied().unwrap_or(false);
        if let Some(wanted) = wanted.get_mut(place) {
            *wanted = inside || place >= described || asked.contains(tree.path(place));
        }
    }
    let mut ahead: Vec<usize> =
        (0..branches.len()).filter(|&place| wanted.get(place) == Some(&true)).collect();
    while let Some(branch) = ahead.pop().and_then(|place| branches.get(place)) {
        for &needed in branch.needs.iter().chain(&branch.parent) {
            if let Some(wanted) = wanted.get_mut(needed).filter(|wanted| !**wanted) {
                *wanted = true;
                ahead.push(needed);
            }
        }
    }
    Ok(wanted)
}
