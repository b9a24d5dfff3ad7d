//! A tree of an input: its record, and where its baskets are.

use sapwood_core::{Call, Error, ErrorKind, Result};
use sapwood_root::{File, KeyRecord, RNTUPLES, TreeRecord, file_table, is_tree};
use sapwood_streamer::Compiler;
use sapwood_table::Table;
use sapwood_tfile::StreamerInfos;
use sapwood_ttree::{
    BasketRef, Branch, BranchKind, ItemClasses, Layout, LeafKind, Meaning, ObjectBranches, References, TTree,
    TreeOutline, TreeTable, interpret,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A tree of an input.
#[derive(Debug)]
pub struct InputTree {
    /// The file that contains the tree.
    pub file: File,
    /// Its branches, and where their baskets are.
    pub table: Arc<TreeTable>,
    /// Names of other files with baskets that do not exist; none if that is an error.
    absent: Option<HashSet<String>>,
    /// Name of its key.
    pub name: String,
    /// Title of its key.
    pub title: String,
    /// Positions of the numbers in its record that an edit may change.
    pub outline: Arc<TreeOutline>,
    compiler: Compiler,
    /// What is in the `TClonesArray`s of objects, by the index of the top-level branch.
    items: HashMap<usize, ItemClasses>,
}

impl InputTree {
    /// The tree at a path.
    ///
    /// # Errors
    /// `Missing` if there is none; errors of reading; `Corrupt` or `Unsupported` if its record is broken.
    pub fn open(file: &File, path: &str, cycle: u16, call: &mut Call<'_>) -> Result<InputTree> {
        if file.dataset_tree() == Some(path) {
            return InputTree::of_dataset(file, path, call);
        }
        let (file, cycle) = file.holder(path, Some(cycle), call)?;
        let KeyRecord { key, record, streamers, .. } = file.root().find(path, cycle, call)?;
        if RNTUPLES.contains(&key.class_name.as_str()) {
            return Err(Error::unsupported(format!("'{path}' is an RNTuple; this works only with a TTree"))
                .url(file.url())
                .hint("'sapwood repack --format ttree' writes it as one"));
        }
        if !is_tree(&key.class_name, &streamers) {
            let message = format!("'{path}' is a {}, not a tree", key.class_name);
            return Err(Error::unsupported(message).at(key.offset).url(file.url()));
        }
        let described = TreeRecord {
            name: key.name.clone(),
            title: key.title.clone(),
            class_name: key.class_name.clone(),
            key_len: record.key_len,
            payload: record.payload.clone(),
        };
        let table = |tree| file_table(file.root(), path, tree, &streamers);
        InputTree::parse(&file, described, &streamers, table)
            .map_err(|error| record.locate(&key.name, &error).url(file.url()))
    }

    /// The tree of a dataset, without its baskets.
    fn of_dataset(file: &File, path: &str, call: &mut Call<'_>) -> Result<InputTree> {
        let (record, cluster_starts, storage) = file.contents().tree_record(file.root(), call)?;
        let streamers = file.streamers(call)?;
        let table = |tree| {
            let compilers = vec![Compiler::new((*streamers).clone())];
            TreeTable::new(path, TTree { cluster_starts, ..tree }, storage, compilers, Vec::new())
        };
        InputTree::parse(file, record, &streamers, table).map_err(|error| error.url(file.url()))
    }

    fn parse(
        file: &File,
        record: TreeRecord,
        streamers: &StreamerInfos,
        table: impl FnOnce(TTree) -> TreeTable,
    ) -> Result<InputTree> {
        let TreeRecord { name, title, class_name, key_len, payload } = record;
        let size = file.root().size();
        let (tree, outline) = TreeOutline::parse(&class_name, &payload, key_len, size, streamers)?;
        Ok(InputTree {
            file: file.clone(),
            table: Arc::new(table(tree)),
            absent: None,
            name,
            title,
            outline: Arc::new(outline),
            compiler: Compiler::new(streamers.clone()),
            items: HashMap::new(),
        })
    }

    /// Locates the baskets of some branches: in the stripes of a dataset, or in other files, which it opens.
    pub fn find_baskets(&mut self, branches: impl Iterator<Item = usize>, call: &mut Call<'_>) -> Result<()> {
        let file_name = |branch: usize| self.branch(branch).map_or("", |branch| &branch.file_name);
        let (here, elsewhere): (Vec<usize>, Vec<usize>) =
            branches.partition(|one| file_name(*one).is_empty());
        self.table.locate_baskets(&here, call)?;
        for branch in elsewhere {
            if self.is_absent(branch) {
                continue;
            }
            match (self.table.locate_baskets(&[branch], call), &mut self.absent) {
                (Err(error), Some(absent)) if error.kind() == ErrorKind::NotFound => {
                    absent.extend(self.table.tree().stored_branch(branch).map(|one| one.file_name.clone()));
                }
                (located, _) => located?,
            }
        }
        Ok(())
    }

    /// From now on, a missing file with baskets of a branch is no error.
    pub fn allow_absent(&mut self) {
        self.absent = Some(HashSet::new());
    }

    /// Its record: its branches, and more.
    pub fn record(&self) -> &TTree {
        self.table.tree()
    }

    /// All branches, with that of references last.
    pub fn branches(&self) -> impl Iterator<Item = &Branch> + Clone {
        self.record().stored_branches()
    }

    /// A branch, by its index in [`branches`](InputTree::branches).
    pub fn branch(&self, branch: usize) -> Option<&Branch> {
        self.record().stored_branch(branch)
    }

    /// The baskets of a branch, once they are found.
    pub fn baskets(&self, branch: usize) -> &[BasketRef] {
        self.table.baskets(branch)
    }

    /// True if the baskets of a branch are in a file that does not exist.
    pub fn is_absent(&self, branch: usize) -> bool {
        let named = self.branch(branch).zip(self.absent.as_ref());
        named.is_some_and(|(branch, absent)| absent.contains(&branch.file_name))
    }

    /// True for the tree of a dataset, where each product is stored as a whole.
    pub fn is_of_dataset(&self) -> bool {
        self.file.dataset_tree() == Some(self.table.path())
    }

    /// The path of a branch.
    pub fn path(&self, branch: usize) -> &str {
        self.branch(branch).map_or("", |branch| &branch.path)
    }

    /// The index of the branch with a path.
    pub fn place(&self, path: &str) -> Option<usize> {
        self.record().branches.iter().position(|branch| branch.path == path)
    }

    /// The first entry of a branch, and one past its last.
    pub fn extent(&self, branch: usize) -> (u64, u64) {
        let first = self.record().branches.get(branch).map_or(0, |branch| branch.first_entry);
        let entries = self.branch(branch).map_or(0, |branch| branch.entries);
        (first, first.saturating_add(entries).min(self.record().entries))
    }

    /// How to find references inside the entries of a branch. Only objects have any.
    pub fn references(&self, branch: usize) -> References {
        if self.record().branches.get(branch).is_some_and(|branch| matches!(branch.kind, BranchKind::Plain)) {
            return References::None;
        }
        match self.layout(branch) {
            Some(Layout::Fixed { .. } | Layout::Jagged { .. }) => References::None,
            Some(Layout::Program(program)) if program.is_plain() => References::None,
            Some(Layout::Program(program)) => References::Described(program),
            None => References::Undescribed,
        }
    }

    /// The layout of the values in the entries of a branch, if they can be decoded.
    pub fn layout(&self, branch: usize) -> Option<Layout> {
        self.record().branches.get(branch)?;
        match interpret(self.record(), branch, &self.compiler, &[]).meaning {
            Meaning::Column(column) => Some(column.layout),
            Meaning::Group | Meaning::Unsupported(_) => None,
        }
    }

    /// The type of a branch, as people name it.
    pub fn typename(&self, branch: usize) -> Option<String> {
        self.record().branches.get(branch)?;
        Some(interpret(self.record(), branch, &self.compiler, &[]).typename)
    }

    /// The branches at a split level of the object of a top-level branch.
    ///
    /// # Errors
    /// Why there are none.
    pub fn object(&self, branch: usize, level: i32) -> std::result::Result<ObjectBranches, String> {
        let unknown = ItemClasses::new();
        let items = self.items.get(&branch).unwrap_or(&unknown);
        ObjectBranches::new(self.record(), branch, &self.compiler, items, level)
    }

    /// Remembers the class of the items of a `TClonesArray` in an object.
    pub fn set_items(&mut self, branch: usize, member: String, class: String) {
        self.items.entry(branch).or_default().insert(member, class);
    }

    /// The compiler of its classes.
    pub fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// A description of a branch. Baskets of branches with the same signature can be merged.
    pub fn signature(&self, branch: usize) -> String {
        self.record().branches.get(branch).map_or_else(String::new, |branch| signature(self.record(), branch))
    }
}

/// Which branches are written: those at some paths (default: all), and their sub-branches, parents and count branches.
///
/// # Errors
/// `Missing` if there is no branch at a path.
pub fn wanted_branches(tree: &InputTree, paths: Option<&[String]>) -> Result<Vec<bool>> {
    let branches: Vec<&Branch> = tree.branches().collect();
    let Some(paths) = paths else { return Ok(vec![true; branches.len()]) };
    let asked: HashSet<&str> = paths.iter().map(String::as_str).collect();
    let known: HashSet<&str> = branches.iter().map(|branch| branch.path.as_str()).collect();
    if let Some(path) = asked.iter().find(|path| !known.contains(*path)) {
        let message = format!("there is no branch '{path}'");
        return Err(Error::new(ErrorKind::Missing, message).url(tree.file.url()));
    }
    let described = tree.record().branches.len();
    let mut wanted = vec![false; branches.len()];
    for (place, branch) in branches.iter().enumerate() {
        // A branch comes before its sub-branches. That of references has no path, and is needed by all others.
        let inside = branch.parent.and_then(|parent| wanted.get(parent)).copied().unwrap_or(false);
        if let Some(wanted) = wanted.get_mut(place) {
            *wanted = inside || place >= described || asked.contains(branch.path.as_str());
        }
    }
    let mut ahead: Vec<usize> =
        (0..branches.len()).filter(|&place| wanted.get(place) == Some(&true)).collect();
    while let Some(branch) = ahead.pop().and_then(|place| branches.get(place)) {
        for needed in branch.counters().chain(branch.parent) {
            if let Some(wanted) = wanted.get_mut(needed).filter(|wanted| !**wanted) {
                *wanted = true;
                ahead.push(needed);
            }
        }
    }
    Ok(wanted)
}

fn signature(tree: &TTree, branch: &Branch) -> String {
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
        // The length of the longest text does not matter.
        let len = if leaf.kind == LeafKind::Text { 1 } else { leaf.len };
        format!("{} {sign}{:?} {len}x{}{counted}", leaf.name, leaf.kind, leaf.len_type)
    });
    let leaves: Vec<String> = leaves.collect();
    let table = if branch.entry_offset_len == 0 { "" } else { ", of any size" };
    format!("{kind}: {}{table}, features {}", leaves.join("; "), branch.io_bits)
}
