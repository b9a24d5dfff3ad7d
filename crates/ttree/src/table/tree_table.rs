//! A tree as a table of columns: its columns are its branches, its chunks their baskets.

use super::plan::{BranchRead, StoredBranch, interpretation};
use super::storage::BasketStorage;
use crate::{
    BasketHeader, BasketRef, Branch, BranchType, Layout, Meaning, TTree, interpret, uncompressed_record,
};
use bytes::Bytes;
use sapwood_core::{Call, Error, Form, Result};
use sapwood_fetch::Fetcher;
use sapwood_streamer::Compiler;
use sapwood_table::{
    Chunk, ColumnContent, ColumnPlan, ColumnSchema, EntryStatistics, FileIndex, Selection, Table, TableLabel,
};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Maximum number of columns of all branches: branches that share a large class could have any number.
const MOST_COLUMNS: usize = 1 << 19;

/// A tree as a table of columns.
#[derive(Debug)]
pub struct TreeTable {
    path: String,
    tree: TTree,
    storage: Box<dyn BasketStorage>,
    /// The compilers of the classes of a file, or of each schema of a dataset.
    compilers: Vec<Compiler>,
    /// The index of the compiler for each branch; 0 beyond its length.
    compiler_of: Vec<usize>,
    branch_types: OnceLock<Vec<Arc<BranchType>>>,
    /// The types of selections of members; `None` for the whole branch.
    selected: Mutex<HashMap<Selection, Option<Arc<BranchType>>>>,
}

impl TreeTable {
    /// The tree at `path`, whose baskets are in `storage`. `compiler_of` is the index of the compiler for
    /// each branch; 0 beyond its length.
    pub fn new(
        path: &str,
        tree: TTree,
        storage: Box<dyn BasketStorage>,
        compilers: Vec<Compiler>,
        compiler_of: Vec<usize>,
    ) -> TreeTable {
        TreeTable {
            path: path.to_owned(),
            tree,
            storage,
            compilers,
            compiler_of,
            branch_types: OnceLock::new(),
            selected: Mutex::default(),
        }
    }

    /// The metadata in the tree's record: name, title, clusters, aliases and more.
    pub fn tree(&self) -> &TTree {
        &self.tree
    }

    /// All branches, a branch before its sub-branches.
    pub fn branches(&self) -> &[Branch] {
        &self.tree().branches
    }

    /// The type of each branch, in the order of [`TTree::branches`]; found out on first use.
    pub fn branch_types(&self) -> &[Arc<BranchType>] {
        self.branch_types.get_or_init(|| {
            let mut left = MOST_COLUMNS;
            let branches = 0..self.tree.branches.len();
            let branch_types =
                branches.filter_map(|index| Some(interpret(&self.tree, index, self.compiler(index)?, &[])));
            branch_types.map(|branch_type| Arc::new(limited(branch_type, &mut left))).collect()
        })
    }

    /// The baskets of a branch that was [located](Table::locate). The [chunks](Table::chunks) with all entries of the
    /// tree are the first of them, in the same order; only a damaged branch has baskets beyond these.
    pub fn baskets(&self, branch: usize) -> &[BasketRef] {
        self.storage.baskets(&self.tree, branch)
    }

    /// The file that contains the baskets of a located branch.
    ///
    /// # Errors
    /// `Unsupported` if it was not located.
    pub fn file(&self, branch: usize) -> Result<FileIndex> {
        self.storage.file(&self.tree, branch)
    }

    /// Locates the baskets of some branches.
    ///
    /// # Errors
    /// Those of [`Table::locate`].
    pub fn locate_baskets(&self, branches: &[usize], call: &mut Call<'_>) -> Result<()> {
        self.storage.locate(&self.tree, branches, call)
    }

    fn stored(&self, index: usize) -> Result<StoredBranch<'_>> {
        let branch = self.branch(index)?;
        let file = self.file(index).map_err(|error| error.branch(&branch.path))?;
        Ok(StoredBranch { branch, baskets: self.baskets(index), file })
    }

    fn branch(&self, index: usize) -> Result<&Branch> {
        self.tree.stored_branch(index).ok_or_else(|| no_branch(index))
    }

    fn whole(&self, index: usize) -> Result<Arc<BranchType>> {
        self.branch_types().get(index).map(Arc::clone).ok_or_else(|| no_branch(index))
    }

    /// The compiler of the classes of a branch.
    fn compiler(&self, branch: usize) -> Option<&Compiler> {
        self.compilers.get(self.compiler_of.get(branch).copied().unwrap_or(0))
    }

    /// The type of the selected members of a branch; of the whole branch if these cannot be read separately.
    ///
    /// # Errors
    /// `Usage` if there is no such branch.
    pub fn branch_type(&self, selection: &Selection) -> Result<Arc<BranchType>> {
        let whole = self.whole(selection.column)?;
        if selection.members.is_empty() {
            return Ok(whole);
        }
        let mut known = self.selected.lock().unwrap_or_else(PoisonError::into_inner);
        let branch_type = known.entry(selection.clone()).or_insert_with(|| {
            let compiler = self.compiler(selection.column)?;
            let branch_type = interpret(&self.tree, selection.column, compiler, &selection.members);
            matches!(branch_type.meaning, Meaning::Column(_)).then(|| Arc::new(branch_type))
        });
        Ok(branch_type.clone().unwrap_or(whole))
    }
}

fn no_branch(index: usize) -> Error {
    Error::usage(format!("the tree has no branch number {index}"))
}

impl Table for TreeTable {
    fn url(&self) -> &str {
        self.storage.url()
    }

    fn path(&self) -> &str {
        &self.path
    }

    fn label(&self) -> TableLabel<'_> {
        let TTree { name, title, class_name, .. } = &self.tree;
        TableLabel { name, title, class_name }
    }

    fn entries(&self) -> u64 {
        self.tree.entries
    }

    fn cluster_starts(&self) -> &[u64] {
        &self.tree.cluster_starts
    }

    fn column_count(&self) -> usize {
        self.tree.branches.len()
    }

    fn schema(&self, column: usize) -> Option<ColumnSchema<'_>> {
        let (branch, branch_type) = self.tree.branches.get(column).zip(self.branch_types().get(column))?;
        let (content, count_column) = match (&branch_type.meaning, &branch.broken) {
            (_, Some(why)) => (ColumnContent::Unreadable(why), None),
            (Meaning::Column(one), None) => (ColumnContent::Values(&one.form), one.count_branch),
            (Meaning::Group, None) => (ColumnContent::Group, None),
            (Meaning::Unsupported(why), None) => (ColumnContent::Unreadable(why), None),
        };
        let (name, title, typename) = (&branch.path, &branch.title, &branch_type.typename);
        let group = self.storage.group(column);
        Some(ColumnSchema { name, title, typename, group, content, count_column })
    }

    fn compression(&self, column: usize) -> Option<u32> {
        u32::try_from(self.tree.branches.get(column)?.compression).ok()
    }

    fn fetcher(&self, file: FileIndex) -> Fetcher {
        self.storage.fetcher(file)
    }

    fn locate(&self, selections: &[Selection], call: &mut Call<'_>) -> Result<()> {
        let counts = |branch| self.schema(branch).and_then(|schema| schema.count_column);
        let branches = selections.iter().flat_map(|one| [Some(one.column), counts(one.column)]);
        self.locate_baskets(&branches.flatten().collect::<Vec<_>>(), call)
    }

    fn form(&self, selection: &Selection) -> Result<(Form, Vec<(String, String)>)> {
        let branch_type = self.branch_type(selection)?;
        let interpretation = interpretation(self.branch(selection.column)?, &branch_type)?;
        Ok((interpretation.form.clone(), interpretation.skipped.clone()))
    }

    fn plan<'t>(&'t self, selection: &Selection, entries: &Range<u64>) -> Result<Box<dyn ColumnPlan + 't>> {
        let branch_type = self.branch_type(selection)?;
        let counts = |count| Ok((self.stored(count)?, self.whole(count)?));
        Ok(Box::new(BranchRead::new(self.stored(selection.column)?, branch_type, entries, counts)?))
    }

    /// Baskets can be copied even if they cannot be decoded: these are those of any branch, the hidden one included.
    fn chunks(&self, selection: &Selection, entries: &Range<u64>) -> Result<Vec<Chunk>> {
        Ok(self.stored(selection.column)?.chunks_of(entries))
    }

    fn uncompressed_len(&self, _: &Chunk, stored: &Bytes) -> Option<usize> {
        let header = BasketHeader::parse(stored).ok()?;
        let len = header.key_len.saturating_add(header.object_len);
        (len > stored.len()).then_some(len)
    }

    fn uncompress(&self, _: &Chunk, stored: &Bytes) -> Result<Bytes> {
        uncompressed_record(stored)
    }

    fn statistics(&self, column: usize, call: &mut Call<'_>) -> Result<Vec<EntryStatistics>> {
        self.storage.statistics(&self.tree, column, call)
    }
}

/// The type of a branch, unless it exceeds the limit of columns for the tree.
fn limited(branch_type: BranchType, left: &mut usize) -> BranchType {
    let weight = match &branch_type.meaning {
        Meaning::Column(interpretation) => match &interpretation.layout {
            Layout::Program(program) => program.weight(),
            _ => 1,
        },
        _ => 0,
    };
    match left.checked_sub(weight) {
        Some(rest) => {
            *left = rest;
            branch_type
        }
        None => {
            let why = format!("the branches of the tree have more than {MOST_COLUMNS} columns together");
            BranchType { meaning: Meaning::Unsupported(why), ..branch_type }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interpretation;
    use sapwood_streamer::{Node, Program};

    #[test]
    fn what_is_too_much_for_the_tree_as_a_whole_is_refused() {
        let program = Program::new(Node::Tuple(vec![Node::Text; 9]), "");
        let interpretation = Interpretation {
            form: program.form.clone(),
            layout: Layout::Program(Arc::new(program)),
            count_branch: None,
            skipped: Vec::new(),
        };
        let branch_type = BranchType { typename: String::new(), meaning: Meaning::Column(interpretation) };
        let mut left = 25;
        let mut is_column = || matches!(limited(branch_type.clone(), &mut left).meaning, Meaning::Column(_));
        assert_eq!([is_column(), is_column(), is_column()], [true, true, false]);
    }
}
