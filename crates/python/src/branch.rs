//! `Branch`: the metadata of a branch, and the ranges of its baskets.

use crate::column::form_tuple;
use crate::detached::detached;
use crate::error::exception;
use pyo3::prelude::*;
use sapwood::{BranchKind, Meaning, MemberInfo};

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

    fn branch(&self) -> &sapwood::Branch {
        &self.tree.branches()[self.index]
    }

    fn branch_type(&self) -> &sapwood::BranchType {
        &self.tree.branch_types()[self.index]
    }
}

#[pymethods]
impl Branch {
    #[getter]
    fn name(&self) -> &str {
        &self.branch().name
    }

    #[getter]
    fn path(&self) -> &str {
        &self.branch().path
    }

    #[getter]
    fn title(&self) -> &str {
        &self.branch().title
    }

    #[getter]
    fn class_name(&self) -> &str {
        match &self.branch().kind {
            BranchKind::Plain => "TBranch",
            BranchKind::Element(_) => "TBranchElement",
            BranchKind::Object { .. } => "TBranchObject",
            BranchKind::Other(class) => class,
        }
    }

    #[getter]
    fn parent(&self) -> Option<usize> {
        self.branch().parent
    }

    #[getter]
    fn children(&self) -> Vec<usize> {
        self.branch().children.clone()
    }

    #[getter]
    fn num_entries(&self) -> u64 {
        self.branch().entries
    }

    #[getter]
    fn typename(&self) -> &str {
        self.selected.as_ref().map_or(&self.branch_type().typename, |(_, member)| &member.typename)
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
        match &self.branch_type().meaning {
            Meaning::Column(interpretation) => form_tuple(py, &interpretation.form).map(Some),
            Meaning::Group | Meaning::Unsupported(_) => Ok(None),
        }
    }

    #[getter]
    fn unsupported(&self) -> Option<&str> {
        match &self.branch_type().meaning {
            Meaning::Unsupported(why) => Some(why),
            Meaning::Group | Meaning::Column(_) => None,
        }
    }

    /// Members that cannot be read, and why.
    #[getter]
    fn skipped(&self) -> Vec<(String, String)> {
        match (&self.selected, &self.branch_type().meaning) {
            (Some((_, member)), _) => member.skipped.clone(),
            (None, Meaning::Column(interpretation)) => interpretation.skipped.clone(),
            (None, Meaning::Group | Meaning::Unsupported(_)) => Vec::new(),
        }
    }

    #[getter]
    fn is_group(&self) -> bool {
        matches!(self.branch_type().meaning, Meaning::Group)
    }

    #[getter]
    fn item_class(&self) -> Option<&str> {
        match &self.branch().kind {
            BranchKind::Element(element) if matches!(element.element_type, 3 | 4) => {
                Some(&element.clones_name)
            }
            _ => None,
        }
    }

    #[getter]
    fn count_branch(&self) -> Option<usize> {
        match &self.branch_type().meaning {
            Meaning::Column(interpretation) => interpretation.count_branch,
            Meaning::Group | Meaning::Unsupported(_) => None,
        }
    }

    #[getter]
    fn compressed_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        find_all(py, &self.tree)?;
        Ok(match self.tree.file().dataset_tree() {
            None => self.branch().zip_bytes,
            Some(_) => stored_bytes(&self.tree, self.index),
        })
    }

    #[getter]
    fn uncompressed_bytes(&self) -> u64 {
        self.branch().total_bytes
    }

    #[getter]
    fn compression(&self) -> i64 {
        match self.branch().compression {
            -1 => self.tree.file().header().compression.into(),
            own => own.into(),
        }
    }

    #[getter]
    fn num_baskets(&self, py: Python<'_>) -> PyResult<usize> {
        find_all(py, &self.tree)?;
        Ok(self.tree.baskets(self.index).len())
    }

    /// First entry, entries, byte offset, bytes on file, whether it is stored in the tree's record.
    #[expect(clippy::type_complexity, reason = "a tuple for Python")]
    fn baskets(&self, py: Python<'_>) -> PyResult<Vec<(u64, u64, u64, u64, bool)>> {
        find_baskets(py, &self.tree, &[self.index], None)?;
        let baskets = self.tree.baskets(self.index).iter();
        Ok(baskets
            .map(|basket| {
                (basket.first_entry, basket.entries, basket.offset, basket.len, basket.embedded.is_some())
            })
            .collect())
    }
}

/// Finds the baskets of some branches, if the tree is in a dataset, which stores them elsewhere.
pub(crate) fn find_baskets(
    py: Python<'_>,
    tree: &sapwood::Tree,
    branches: &[usize],
    deadline: Option<f64>,
) -> PyResult<()> {
    match tree.file().dataset_tree() {
        None => Ok(()),
        Some(_) => detached(py, deadline, |call| tree.find_baskets(branches, call)),
    }
}

/// Finds the baskets of all branches.
pub(crate) fn find_all(py: Python<'_>, tree: &sapwood::Tree) -> PyResult<()> {
    match tree.file().dataset_tree() {
        None => Ok(()),
        Some(_) => find_baskets(py, tree, &(0..tree.branches().len()).collect::<Vec<_>>(), None),
    }
}

/// Bytes of the baskets of a branch of a dataset.
pub(crate) fn stored_bytes(tree: &sapwood::Tree, branch: usize) -> u64 {
    tree.baskets(branch).iter().map(|basket| basket.len).sum()
}
