//! `Branch`: the metadata of a branch, and the ranges of its baskets.

use crate::column::form_tuple;
use crate::detached::detached;
use crate::error::exception;
use pyo3::prelude::*;
use sapwood::{BranchKind, Chunk, ColumnContent, Meaning, MemberInfo};
use std::ops::Range;

/// A branch, or a member of the objects in it.
#[pyclass(module = "sapwood._core", frozen)]
pub(crate) struct Branch {
    tree: sapwood::Tree,
    #[pyo3(get)]
    index: usize,
    /// The member, and the path to it.
    selected: Option<(String, MemberInfo)>,
}

impl Branch {
    pub(crate) fn whole(tree: &sapwood::Tree, index: usize) -> Branch {
        Branch { tree: tree.clone(), index, selected: None }
    }

    /// The branch; `None` for a field of an RNTuple.
    fn branch(&self) -> Option<&sapwood::Branch> {
        self.tree.ttree().ok()?.branches().get(self.index)
    }

    /// What the column holds. A branch whose file is missing still has a type, and may have baskets in the tree's record.
    fn content(&self) -> ColumnContent<'_> {
        let branch_type = self.tree.ttree().ok().and_then(|table| table.branch_types().get(self.index));
        match branch_type.map(|branch_type| &branch_type.meaning) {
            Some(Meaning::Column(interpretation)) => ColumnContent::Values(&interpretation.form),
            Some(Meaning::Group) => ColumnContent::Group,
            Some(Meaning::Unsupported(why)) => ColumnContent::Unreadable(why),
            None => self.tree.schema(self.index).map_or(ColumnContent::Group, |schema| schema.content),
        }
    }
}

#[pymethods]
impl Branch {
    #[getter]
    fn name(&self) -> &str {
        self.branch().map_or_else(|| self.path(), |branch| &branch.name)
    }

    #[getter]
    fn path(&self) -> &str {
        self.tree.branch_path(self.index)
    }

    #[getter]
    fn title(&self) -> &str {
        self.tree.schema(self.index).map_or("", |schema| schema.title)
    }

    #[getter]
    fn class_name(&self) -> &str {
        match self.branch().map(|branch| &branch.kind) {
            None => "ROOT::RField",
            Some(BranchKind::Plain) => "TBranch",
            Some(BranchKind::Element(_)) => "TBranchElement",
            Some(BranchKind::Object { .. }) => "TBranchObject",
            Some(BranchKind::Other(class)) => class,
        }
    }

    #[getter]
    fn parent(&self) -> Option<usize> {
        self.branch()?.parent
    }

    #[getter]
    fn children(&self) -> Vec<usize> {
        self.branch().map_or_else(Vec::new, |branch| branch.children.clone())
    }

    #[getter]
    fn num_entries(&self) -> u64 {
        self.branch().map_or_else(|| self.tree.entries(), |branch| branch.entries)
    }

    #[getter]
    fn typename(&self) -> &str {
        match &self.selected {
            Some((_, member)) => &member.typename,
            None => self.tree.schema(self.index).map_or("", |schema| schema.typename),
        }
    }

    #[getter]
    fn member(&self) -> &str {
        self.selected.as_ref().map_or("", |(path, _)| path)
    }

    /// The member at a path from this branch or member.
    fn member_at(&self, path: &str) -> PyResult<Branch> {
        let path = if self.member().is_empty() { path.into() } else { format!("{}.{path}", self.member()) };
        let member = self.tree.member(self.index, &path).map_err(|error| exception(&error))?;
        Ok(Branch { tree: self.tree.clone(), index: self.index, selected: Some((path, member)) })
    }

    #[getter]
    fn form(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        if let Some((_, member)) = &self.selected {
            return form_tuple(py, &member.form).map(Some);
        }
        match self.content() {
            ColumnContent::Values(form) => form_tuple(py, form).map(Some),
            ColumnContent::Group | ColumnContent::Unreadable(_) => Ok(None),
        }
    }

    #[getter]
    fn unsupported(&self) -> Option<&str> {
        match self.content() {
            ColumnContent::Unreadable(why) => Some(why),
            ColumnContent::Group | ColumnContent::Values(_) => None,
        }
    }

    /// Members that cannot be read, and why.
    #[getter]
    fn skipped(&self) -> Vec<(String, String)> {
        match &self.selected {
            Some((_, member)) => member.skipped.clone(),
            None => self.tree.skipped(self.index),
        }
    }

    #[getter]
    fn is_group(&self) -> bool {
        matches!(self.content(), ColumnContent::Group)
    }

    #[getter]
    fn item_class(&self) -> Option<&str> {
        match &self.branch()?.kind {
            BranchKind::Element(element) if matches!(element.element_type, 3 | 4) => {
                Some(&element.clones_name)
            }
            _ => None,
        }
    }

    #[getter]
    fn count_branch(&self) -> Option<usize> {
        self.tree.schema(self.index)?.count_column
    }

    #[getter]
    fn compressed_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        find_all(py, &self.tree)?;
        Ok(match (self.branch(), self.tree.file().dataset_tree()) {
            (Some(branch), None) => branch.zip_bytes,
            _ => stored_bytes(&self.tree, self.index),
        })
    }

    #[getter]
    fn uncompressed_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        match self.branch() {
            Some(branch) => Ok(branch.total_bytes),
            None => uncompressed_bytes(py, &self.tree, self.index..self.index + 1),
        }
    }

    #[getter]
    fn compression(&self) -> i64 {
        self.tree.compression(self.index)
    }

    #[getter]
    fn num_baskets(&self, py: Python<'_>) -> PyResult<usize> {
        find_all(py, &self.tree)?;
        Ok(chunks(&self.tree, self.index).len())
    }

    /// The baskets, or the pages of all columns of a field.
    fn baskets(&self, py: Python<'_>) -> PyResult<Vec<ChunkRow>> {
        find_baskets(py, &self.tree, &[self.index], None)?;
        Ok(chunks(&self.tree, self.index))
    }
}

/// Finds the baskets of some branches, if the tree is in a dataset, which stores them elsewhere; or the parts of the
/// pages of some fields that are stored in several.
pub(crate) fn find_baskets(
    py: Python<'_>,
    tree: &sapwood::Tree,
    branches: &[usize],
    deadline: Option<f64>,
) -> PyResult<()> {
    match (tree.ttree(), tree.file().dataset_tree()) {
        (Ok(_), None) => Ok(()),
        (Ok(table), Some(_)) => detached(py, deadline, |call| table.locate_baskets(branches, call)),
        (Err(_), _) => detached(py, deadline, |call| tree.locate(branches, call)),
    }
}

/// Finds the baskets of all branches.
pub(crate) fn find_all(py: Python<'_>, tree: &sapwood::Tree) -> PyResult<()> {
    if tree.ttree().is_ok() && tree.file().dataset_tree().is_none() {
        return Ok(());
    }
    find_baskets(py, tree, &(0..tree.column_count()).collect::<Vec<_>>(), None)
}

/// First entry, entries, byte offset, bytes in the file, whether it is stored in the tree's record.
type ChunkRow = (u64, u64, u64, u64, bool);

fn chunks(tree: &sapwood::Tree, column: usize) -> Vec<ChunkRow> {
    match tree.ttree() {
        Ok(table) => (table.baskets(column).iter())
            .map(|basket| {
                (basket.first_entry, basket.entries, basket.offset, basket.len, basket.embedded.is_some())
            })
            .collect(),
        Err(_) => (tree.chunks(column..column + 1).into_iter())
            .map(|Chunk { entries, range, .. }| {
                (entries.start, entries.end - entries.start, range.start, range.len, false)
            })
            .collect(),
    }
}

/// Bytes of the located baskets of a branch, or of the pages of a field.
pub(crate) fn stored_bytes(tree: &sapwood::Tree, column: usize) -> u64 {
    chunks(tree, column).iter().map(|(_, _, _, bytes, _)| bytes).sum()
}

/// Bytes of the pages of some fields when uncompressed.
pub(crate) fn uncompressed_bytes(
    py: Python<'_>,
    tree: &sapwood::Tree,
    columns: Range<usize>,
) -> PyResult<u64> {
    find_all(py, tree)?;
    Ok(tree.chunks(columns).iter().map(|chunk| chunk.uncompressed_bytes).sum())
}
