//! A tree that is read: its record, and where its baskets lie.

use crate::file::Found;
use crate::{File, Interrupt};
use sapwood_core::{Deadline, Error, Result};
use sapwood_streamer::Compiler;
use sapwood_ttree::{Branch, BranchKind, Layout, Meaning, Tree, TreeOutline, interpret};
use std::collections::HashMap;
use std::sync::Arc;

/// A tree of an input.
#[derive(Debug)]
pub(crate) struct InputTree {
    pub(crate) file: File,
    /// Files beside it that hold baskets, by the names that branches have for them.
    elsewhere: HashMap<String, File>,
    /// Name and title of its key.
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) meta: Tree,
    pub(crate) outline: Arc<TreeOutline>,
    compiler: Compiler,
}

impl InputTree {
    pub(crate) fn open(
        file: &File,
        path: &str,
        cycle: u16,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<InputTree> {
        if file.dataset_tree().is_some() {
            return Err(Error::unsupported("a dataset is no file whose records can be taken over")
                .url(file.url())
                .hint("'sapwood stripe export' makes a file of it"));
        }
        let found = file.find(path, Some(cycle), deadline, interrupt)?;
        let Found { key, record, streamers, .. } = &found;
        let (payload, len, size) = (&record.payload, record.key_len, file.size());
        let outlined = TreeOutline::parse(&key.class_name, payload, len, size, streamers)
            .and_then(|outline| Ok((Tree::parse(&key.class_name, payload, len, size, streamers)?, outline)));
        let (meta, outline) = outlined.map_err(|error| record.locate(&key.name, &error).url(file.url()))?;
        let same = meta.branches.iter().zip(&outline.branches).all(|(a, b)| a.name == b.name);
        if !same || meta.branches.len() > outline.branches.len() {
            return Err(
                Error::corrupt(format!("the branches of '{path}' contradict each other")).url(file.url())
            );
        }
        let compiler = Compiler::new((**streamers).clone());
        Ok(InputTree {
            file: file.clone(),
            elsewhere: HashMap::new(),
            name: key.name.clone(),
            title: key.title.clone(),
            meta,
            outline: Arc::new(outline),
            compiler,
        })
    }

    /// Opens the files beside this one that hold baskets of some branches.
    pub(crate) fn open_elsewhere(
        &mut self,
        branches: impl Iterator<Item = usize>,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        for branch in branches {
            let Some(branch) = self.outline.branches.get(branch) else { continue };
            let name = &branch.file_name;
            if !name.is_empty() && !branch.baskets.is_empty() && !self.elsewhere.contains_key(name) {
                let file = self.file.open_beside(name, deadline, interrupt);
                let file = file.map_err(|error| {
                    error
                        .branch(&branch.name)
                        .hint(format!("its baskets lie there; {} names it", self.file.url()))
                })?;
                self.elsewhere.insert(name.clone(), file);
            }
        }
        Ok(())
    }

    /// The file with the baskets of a branch, by the name that the branch has for it.
    pub(crate) fn file_of(&self, name: &str) -> &File {
        self.elsewhere.get(name).unwrap_or(&self.file)
    }

    /// The path of a branch.
    pub(crate) fn path(&self, branch: usize) -> &str {
        let described = self.meta.branches.get(branch).map(|branch| branch.path.as_str());
        described
            .or_else(|| self.outline.branches.get(branch).map(|branch| branch.name.as_str()))
            .unwrap_or("")
    }

    /// First entry of a branch, and its end.
    pub(crate) fn extent(&self, branch: usize) -> (u64, u64) {
        let first = self.meta.branches.get(branch).map_or(0, |branch| branch.first_entry);
        let entries = self.outline.branches.get(branch).map_or(0, |branch| branch.entries);
        (first, first.saturating_add(entries).min(self.meta.entries))
    }

    /// True unless the entries of a branch are known to be numbers: only objects refer to places in an entry.
    pub(crate) fn has_references(&self, branch: usize) -> bool {
        match self.meta.branches.get(branch).map(|branch| &branch.kind) {
            Some(BranchKind::Plain) => false,
            Some(BranchKind::Element(_)) => {
                !matches!(self.layout(branch), Some(Layout::Fixed { .. } | Layout::Jagged { .. }))
            }
            _ => true,
        }
    }

    /// How the values of a branch stand in its entries, if they can be read.
    pub(crate) fn layout(&self, branch: usize) -> Option<Layout> {
        self.meta.branches.get(branch)?;
        match interpret(&self.meta, branch, &self.compiler, &[]).meaning {
            Meaning::Column(column) => Some(column.layout),
            Meaning::Group | Meaning::Unsupported(_) => None,
        }
    }

    /// What must be the same in two trees so that their baskets can stand in one branch.
    pub(crate) fn signature(&self, branch: usize) -> String {
        self.meta.branches.get(branch).map_or_else(String::new, |branch| signature(&self.meta, branch))
    }
}

fn signature(tree: &Tree, branch: &Branch) -> String {
    let kind = match &branch.kind {
        BranchKind::Plain => "numbers".to_owned(),
        BranchKind::Object { class_name } => class_name.clone(),
        BranchKind::Other(class) => class.clone(),
        BranchKind::Element(e) => format!(
            "{} version {} ({:#x}) element {} of type {}/{} {}",
            e.class_name, e.class_version, e.checksum, e.id, e.element_type, e.streamer_type, e.clones_name
        ),
    };
    let leaves = branch.leaves.iter().map(|leaf| {
        let count = leaf.count.and_then(|(branch, _)| tree.branches.get(branch));
        let counted = count.map_or(String::new(), |count| format!(" counted by {}", count.path));
        let sign = if leaf.unsigned { "unsigned " } else { "" };
        format!("{} {sign}{:?} {}x{}{counted}", leaf.name, leaf.kind, leaf.len, leaf.len_type)
    });
    let leaves: Vec<String> = leaves.collect();
    let table = if branch.entry_offset_len == 0 { "" } else { ", of any size" };
    format!("{kind}: {}{table}, features {}", leaves.join("; "), branch.io_bits)
}
