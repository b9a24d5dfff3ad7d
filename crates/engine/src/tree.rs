//! A tree of an open file: what it holds, and the ways to read it.

use crate::dataset::{Origin, View};
use crate::elsewhere::Elsewhere;
use crate::member::{member_form, spelled};
use crate::request::names;
use crate::{File, Form, Interrupt, ReadOptions, Request, Scan, plan, read};
use sapwood_core::{Column, Deadline, Result};
use sapwood_streamer::Compiler;
use sapwood_tfile::{Key, Record, StreamerInfos};
use sapwood_ttree::{Branch, BranchKind, Layout, Meaning, Outcome, interpret};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Columns of all branches together: branches that share a large class could have any number of them.
const MOST_COLUMNS: usize = 1 << 19;

/// A tree. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Tree(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) file: File,
    path: String,
    pub(crate) meta: sapwood_ttree::Tree,
    outcomes: Vec<Outcome>,
    pub(crate) elsewhere: Elsewhere,
    /// What compiles the classes: of a dataset, those of each schema.
    compilers: Vec<Compiler>,
    /// Of the branches of a dataset.
    pub(crate) origins: Vec<Origin>,
    selected: Mutex<Selected>,
    /// Offset of the record that it was read from.
    record: u64,
    /// That, if no list of keys has named it.
    assumed: Option<u64>,
}

/// What was selected of branches before: by index and the paths of the members.
type Selected = HashMap<(usize, Vec<String>), Option<Arc<Outcome>>>;

/// What a member of the objects in a branch holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The C++ type, with `[]` for each list around it: `float[]`.
    pub typename: String,
    /// The shape and type of its column.
    pub form: Form,
    /// What in it cannot be read: path and reason.
    pub skipped: Vec<(String, String)>,
}

impl Tree {
    pub(crate) fn new(
        file: File,
        path: &str,
        key: &Key,
        record: &Record,
        streamers: &StreamerInfos,
    ) -> Result<Tree> {
        Tree::read_from(file, path, key, record, streamers).map(|inner| Tree(Arc::new(inner)))
    }

    /// A tree that no list of keys has named yet. None if it needs descriptions of classes, or makes no sense.
    pub(crate) fn assumed(file: File, path: &str, key: &Key, record: &Record) -> Option<Tree> {
        let inner = Tree::read_from(file, path, key, record, &StreamerInfos::default()).ok()?;
        let plain = inner.meta.branches.iter().all(|branch| matches!(branch.kind, BranchKind::Plain));
        plain.then(|| Tree(Arc::new(Inner { assumed: Some(key.offset), ..inner })))
    }

    /// Looks whether the list of keys names this tree, where that was assumed. None if it does; else the tree that it
    /// names.
    ///
    /// # Errors
    /// Those of [`File::tree`].
    pub fn settled(&self, deadline: Deadline, interrupt: Interrupt<'_>) -> Result<Option<Tree>> {
        let Some(offset) = self.0.assumed else { return Ok(None) };
        let tree = self.file().tree(self.path(), None, deadline, interrupt)?;
        Ok(Some(tree).filter(|tree| tree.0.record != offset))
    }

    fn read_from(
        file: File,
        path: &str,
        key: &Key,
        record: &Record,
        streamers: &StreamerInfos,
    ) -> Result<Inner> {
        let meta = sapwood_ttree::Tree::parse(
            &key.class_name,
            &record.payload,
            record.key_len,
            file.size(),
            streamers,
        )?;
        let compilers = vec![Compiler::new(streamers.clone())];
        Ok(Inner::new(file, path, record.offset, meta, compilers, Vec::new()))
    }

    /// A tree whose record was parsed by the caller.
    pub(crate) fn parsed(
        file: File,
        path: &str,
        record: u64,
        meta: sapwood_ttree::Tree,
        streamers: &StreamerInfos,
    ) -> Tree {
        let compilers = vec![Compiler::new(streamers.clone())];
        Tree(Arc::new(Inner::new(file, path, record, meta, compilers, Vec::new())))
    }

    /// The tree of a dataset; `record` is that of the first of its schemas.
    pub(crate) fn of_dataset(file: File, path: &str, record: u64, dataset: &View) -> Result<Tree> {
        let (meta, origins) = dataset.tree()?;
        Ok(Tree(Arc::new(Inner::new(file, path, record, meta, dataset.compilers(), origins))))
    }

    /// The file it is in.
    pub fn file(&self) -> &File {
        &self.0.file
    }

    /// Its path in the file, as it was asked for.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// True if reading has to wait for something beyond this machine.
    pub fn is_distant(&self) -> bool {
        !self.file().0.fetcher.source().cost_model().immediate
    }

    /// Bytes that are on their way when the link to the source is full, as far as that is known; else 0.
    pub fn bytes_in_flight(&self) -> u64 {
        if self.is_distant() { self.file().0.fetcher.link().bytes_in_flight().unwrap_or(0) } else { 0 }
    }

    /// Name, title, clusters, aliases and more, as the file says.
    pub fn metadata(&self) -> &sapwood_ttree::Tree {
        &self.0.meta
    }

    /// Offset of the record that it was read from.
    pub(crate) fn record_offset(&self) -> u64 {
        self.0.record
    }

    /// Number of entries.
    pub fn entries(&self) -> u64 {
        self.0.meta.entries
    }

    /// All branches, a branch before its sub-branches.
    pub fn branches(&self) -> &[Branch] {
        &self.0.meta.branches
    }

    /// What each branch holds, in the order of [`Tree::branches`].
    pub fn outcomes(&self) -> &[Outcome] {
        &self.0.outcomes
    }

    /// The index of a branch by its path or, where it is the only one, by its name.
    pub fn find_branch(&self, name: &str) -> Option<usize> {
        let by_path = self.branches().iter().position(|branch| branch.path == name);
        by_path.or_else(|| {
            let mut named = self.branches().iter().enumerate().filter(|(_, branch)| branch.name == name);
            let (index, _) = named.next()?;
            named.next().is_none().then_some(index)
        })
    }

    /// What the member `path` of the objects in a branch holds.
    ///
    /// # Errors
    /// `Usage` for an index beyond the tree; `Unsupported` for a branch that cannot be read; `Missing` for a
    /// member that does not exist, with the names of those that do.
    pub fn member(&self, branch: usize, path: &str) -> Result<Member> {
        let names = names(path);
        let selected = self.selected(branch, std::slice::from_ref(&names));
        let found = plan::interpretation(self, branch, selected.as_deref()).and_then(|interpretation| {
            let form = member_form(&interpretation.form, &names)?;
            let skipped = interpretation.skipped.clone();
            Ok(Member { typename: spelled(&form), form, skipped })
        });
        found.map_err(|error| error.branch(self.branch_path(branch)).url(self.file().url()))
    }

    /// What a branch holds of the members at some paths, where that is less than all, and can be read.
    pub(crate) fn selected(&self, branch: usize, members: &[Vec<String>]) -> Option<Arc<Outcome>> {
        if members.iter().any(Vec::is_empty) {
            return None;
        }
        let mut paths: Vec<String> = members.iter().map(|names| names.join(".")).collect();
        paths.sort_unstable();
        paths.dedup();
        let mut known = self.0.selected.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = known.entry((branch, paths)).or_insert_with_key(|(branch, paths)| {
            let outcome = self.0.compiler_of(*branch).map(|one| interpret(&self.0.meta, *branch, one, paths));
            outcome.map(Arc::new).filter(|outcome| matches!(outcome.meaning, Meaning::Column(_)))
        });
        outcome.clone()
    }

    pub(crate) fn branch_path(&self, branch: usize) -> &str {
        self.branches().get(branch).map_or("", |branch| &branch.path)
    }

    /// The entries `entries` of branches, or of members of the objects in them; plain numbers are indices in
    /// [`Tree::branches`].
    ///
    /// A branch that has fewer entries than the tree gives a shorter column. However many members of a branch
    /// are asked for, its baskets are read once.
    ///
    /// # Errors
    /// `Usage` for an entry range or index beyond the tree; `Missing` for a member that does not exist;
    /// `Unsupported` for a branch that cannot be read; those of the source and of [decoding](sapwood_ttree::decode), with branch, offset and URL.
    pub fn read<R: Into<Request> + Clone>(
        &self,
        requests: &[R],
        entries: Range<u64>,
        options: &ReadOptions,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<Column>> {
        read::read(self, requests, entries, options, interrupt)
    }

    /// The entries of branches, range by range; while one range is worked on, the next is fetched.
    ///
    /// # Errors
    /// As [`Tree::read`].
    pub fn scan<R: Into<Request> + Clone>(
        &self,
        requests: &[R],
        ranges: Vec<Range<u64>>,
        options: ReadOptions,
        interrupt: Interrupt<'_>,
    ) -> Result<Scan> {
        Scan::new(self.clone(), requests, ranges, options, interrupt)
    }
}

impl Inner {
    fn new(
        file: File,
        path: &str,
        record: u64,
        meta: sapwood_ttree::Tree,
        compilers: Vec<Compiler>,
        origins: Vec<Origin>,
    ) -> Inner {
        let mut tree = Inner {
            file,
            path: path.to_owned(),
            record,
            meta,
            outcomes: Vec::new(),
            elsewhere: Elsewhere::default(),
            compilers,
            origins,
            selected: Mutex::default(),
            assumed: None,
        };
        let mut left = MOST_COLUMNS;
        let branches = 0..tree.meta.branches.len();
        let outcomes =
            branches.filter_map(|index| Some(interpret(&tree.meta, index, tree.compiler_of(index)?, &[])));
        tree.outcomes = outcomes.map(|outcome| limited(outcome, &mut left)).collect();
        tree
    }

    /// What compiles the classes of a branch.
    fn compiler_of(&self, branch: usize) -> Option<&Compiler> {
        self.compilers.get(self.origins.get(branch).map_or(0, |origin| origin.schema))
    }
}

/// What a branch holds, if that is not too much for the tree as a whole.
fn limited(outcome: Outcome, left: &mut usize) -> Outcome {
    let weight = match &outcome.meaning {
        Meaning::Column(interpretation) => match &interpretation.layout {
            Layout::Program(program) => program.weight(),
            _ => 1,
        },
        _ => 0,
    };
    match left.checked_sub(weight) {
        Some(rest) => {
            *left = rest;
            outcome
        }
        None => {
            let why = format!("the branches of the tree have more than {MOST_COLUMNS} columns together");
            Outcome { meaning: Meaning::Unsupported(why), ..outcome }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_streamer::{Node, Program};
    use sapwood_ttree::Interpretation;

    #[test]
    fn what_is_too_much_for_the_tree_as_a_whole_is_refused() {
        let program = Program::new(Node::Tuple(vec![Node::Text; 9]), "");
        let interpretation = Interpretation {
            form: program.form.clone(),
            layout: Layout::Program(Arc::new(program)),
            count_branch: None,
            skipped: Vec::new(),
        };
        let outcome = Outcome { typename: String::new(), meaning: Meaning::Column(interpretation) };
        let mut left = 25;
        let mut is_column = || matches!(limited(outcome.clone(), &mut left).meaning, Meaning::Column(_));
        assert_eq!([is_column(), is_column(), is_column()], [true, true, false]);
    }
}
