//! Branches that are added to an existing tree: their baskets are written at once, and a new record of the tree at the
//! end. Whatever the other branches are, their bytes stay as they are.

use crate::new_table::{Format, NewTable};
use crate::repack::input::InputTree;
use sapwood_core::{Call, Error, Result};
use sapwood_root::File;
use sapwood_sink::Sink;
use sapwood_streamer::write::descriptions_for;
use sapwood_table::write::{ClusterSize, ColumnView};
use sapwood_tfile::StreamerInfos;
use sapwood_tfile::write::{DirectoryId, FileWriter, NewKey};
use sapwood_ttree::write::{BranchSpec, TreeBuilder};
use sapwood_ttree::{Branch, BranchChange, TTree, TreeChange, TreeOutline};
use std::collections::HashSet;
use std::sync::atomic::AtomicBool;

/// A tree that gets branches.
#[derive(Debug)]
pub(super) struct WidenedTree {
    /// Its path in the file.
    path: String,
    directory: DirectoryId,
    /// Cycle of its present record.
    cycle: u16,
    tree: InputTree,
    /// The record, with the new branches so far.
    outline: TreeOutline,
    changes: Vec<Option<BranchChange>>,
    /// Names of the top-level branches.
    names: HashSet<String>,
}

impl WidenedTree {
    /// The tree at a path of the file as it was.
    pub(super) fn open(
        file: &File,
        path: &str,
        (directory, cycle): (DirectoryId, u16),
        call: &mut Call<'_>,
    ) -> Result<WidenedTree> {
        let tree = InputTree::open(file, path, cycle, call)?;
        let outline = (*tree.outline).clone();
        let changes = kept(tree.branches());
        if changes.len() != outline.branches.len() {
            return Err(Error::corrupt("the branches of a tree differ from its record").url(file.url()));
        }
        let top = tree.record().branches.iter().filter(|branch| branch.parent.is_none());
        let names = top.map(|branch| branch.name.clone()).collect();
        Ok(WidenedTree { path: path.to_owned(), directory, cycle, tree, outline, changes, names })
    }

    /// True if it is the tree of this name in a directory.
    pub(super) fn is_at(&self, directory: DirectoryId, name: &str) -> bool {
        self.directory == directory && self.tree.name == name
    }

    /// True if branches were added.
    pub(super) fn is_wider(&self) -> bool {
        self.changes.len() > self.tree.outline.branches.len()
    }

    pub(super) fn entries(&self) -> u64 {
        self.tree.record().entries
    }

    /// The branches, without entries so far, as a table of their own.
    ///
    /// # Errors
    /// `Usage` for names that are in use, and for another number of entries than that of the tree.
    pub(super) fn begin(&self, branches: Vec<BranchSpec>, entries: usize) -> Result<NewTable> {
        let TTree { name, title, .. } = self.tree.record();
        if entries as u64 != self.entries() {
            let message = format!(
                "the new branches have {entries} entries, but the tree '{}' has {}",
                self.path,
                self.entries()
            );
            return Err(Error::usage(message).url(self.tree.file.url()));
        }
        if let Some(used) = branches.iter().find(|branch| self.names.contains(&branch.name)) {
            let message = format!("the tree '{}' already has a branch '{}'", self.path, used.name);
            return Err(Error::usage(message).branch(&used.name).url(self.tree.file.url()));
        }
        let builder = Box::new(TreeBuilder::new(name, title, branches, ClusterSize::Entries(u64::MAX))?);
        Ok(NewTable {
            format: Format::Tree { builder, replaces: None },
            directory: self.directory,
            name: name.clone(),
            title: title.clone(),
        })
    }

    /// Writes the entries of new branches, in baskets that end with the clusters of the tree, and adds the branches to the
    /// record.
    pub(super) fn add(
        &mut self,
        mut table: NewTable,
        columns: &[ColumnView<'_>],
        cancelled: &AtomicBool,
        file: &mut FileWriter,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let place = |entry: &u64| usize::try_from(*entry).unwrap_or(usize::MAX);
        let starts: Vec<usize> = match self.tree.record().cluster_starts.as_slice() {
            [] => vec![0, place(&self.entries())],
            starts => starts.iter().map(place).collect(),
        };
        for bounds in starts.windows(2) {
            let &[start, end] = bounds else { continue };
            table.extend_with(columns, start..end, cancelled, file, sink)?;
            table.end_cluster(file, sink)?;
        }
        let Format::Tree { builder, .. } = &table.format else { return Ok(()) };
        for info in descriptions_for(builder.classes())?.iter().chain(&builder.descriptions()) {
            file.descriptions().add(info)?;
        }
        let key_len = NewKey::new("TTree", &table.name, &table.title, file.wide()).len();
        let record = builder.record(key_len)?.into();
        // Sapwood writes no objects whose class must be described.
        let streamers = StreamerInfos::default();
        let (tree, outline) = TreeOutline::parse("TTree", &record, key_len, file.end(), &streamers)?;
        self.outline.graft(&outline, &streamers)?;
        self.names.extend(tree.branches.iter().map(|branch| branch.name.clone()));
        self.changes.extend(kept(tree.branches.iter()));
        Ok(())
    }

    /// Writes the new record, and removes the old one, if branches were added.
    pub(super) fn end(self, file: &mut FileWriter) -> Result<()> {
        if !self.is_wider() {
            return Ok(());
        }
        let WidenedTree { directory, cycle, tree, outline, changes, .. } = self;
        let (class, name, title) = (&tree.record().class_name, &tree.name, &tree.title);
        let key_len = NewKey::new(class, name, title, file.wide()).len();
        let change = TreeChange {
            entries: tree.record().entries,
            clusters: None,
            branches: changes,
            drop_index: false,
        };
        let record = outline.emit(key_len, &change)?;
        file.object(directory, class, name, title, |buffer| buffer.bytes(&record))?;
        file.remove(directory, name, cycle)
    }
}

/// Changes that keep branches as they are.
fn kept<'b>(branches: impl Iterator<Item = &'b Branch>) -> Vec<Option<BranchChange>> {
    let kept = |branch: &Branch| BranchChange {
        total_bytes: branch.total_bytes,
        zip_bytes: branch.zip_bytes,
        keeps_baskets: true,
        ..BranchChange::default()
    };
    branches.map(|branch| Some(kept(branch))).collect()
}
