//! A tree or an RNTuple of an input, as a plan compares it with those of other inputs.

use super::input::{InputTree, wanted_branches};
use sapwood_core::{Call, Error, ErrorKind, Result};
use sapwood_rntuple::RNTuple;
use sapwood_root::{File, RNTUPLES};
use sapwood_table::Table;

/// A tree or an RNTuple of an input.
#[derive(Debug)]
pub(super) enum InputTable {
    Tree(Box<InputTree>),
    RNTuple(Box<RNTuple>),
}

impl InputTable {
    /// The table at a path; of this class, according to its key.
    ///
    /// # Errors
    /// Those of opening it.
    pub(super) fn open(
        file: &File,
        path: &str,
        cycle: u16,
        class: &str,
        call: &mut Call<'_>,
    ) -> Result<InputTable> {
        if !RNTUPLES.contains(&class) {
            return InputTree::open(file, path, cycle, call).map(Box::new).map(InputTable::Tree);
        }
        let tree = file.tree(path, Some(cycle), call)?;
        let table: &RNTuple = tree.as_format().ok_or_else(|| Error::corrupt("a key names another class"))?;
        Ok(InputTable::RNTuple(Box::new(table.clone())))
    }

    pub(super) fn is_rntuple(&self) -> bool {
        matches!(self, InputTable::RNTuple(_))
    }

    pub(super) fn url(&self) -> &str {
        match self {
            InputTable::Tree(tree) => tree.file.url(),
            InputTable::RNTuple(table) => table.url(),
        }
    }

    pub(super) fn entries(&self) -> u64 {
        match self {
            InputTable::Tree(tree) => tree.record().entries,
            InputTable::RNTuple(table) => table.entries(),
        }
    }

    /// True if some of its baskets are in other files.
    pub(super) fn is_elsewhere(&self) -> bool {
        match self {
            InputTable::Tree(tree) => tree.branches().any(|branch| !branch.file_name.is_empty()),
            InputTable::RNTuple(_) => false,
        }
    }

    /// The paths of its branches, or the names of its fields.
    pub(super) fn paths(&self) -> Vec<&str> {
        match self {
            InputTable::Tree(tree) => tree.branches().map(|branch| branch.path.as_str()).collect(),
            InputTable::RNTuple(table) => {
                (0..table.column_count()).filter_map(|column| Some(table.schema(column)?.name)).collect()
            }
        }
    }

    /// Descriptions of its branches or fields. Those with the same signature can be merged.
    pub(super) fn signatures(&self) -> Vec<String> {
        match self {
            InputTable::Tree(tree) => {
                (0..tree.branches().count()).map(|place| tree.signature(place)).collect()
            }
            InputTable::RNTuple(table) => table.signatures(),
        }
    }

    /// The type of a branch as people name it; `None` for a field, whose signature begins with it.
    pub(super) fn typename(&self, place: usize) -> Option<String> {
        match self {
            InputTable::Tree(tree) => tree.typename(place),
            InputTable::RNTuple(_) => None,
        }
    }

    /// The branches that cannot be written without another one.
    pub(super) fn dependents(&self, place: usize) -> Vec<usize> {
        let InputTable::Tree(tree) = self else { return Vec::new() };
        let branches = tree.branches().enumerate();
        branches
            .filter(|(_, branch)| branch.parent == Some(place) || branch.counters().any(|one| one == place))
            .map(|(index, _)| index)
            .collect()
    }

    /// Which branches or fields are written: those at some paths (default: all), and what branches need.
    ///
    /// # Errors
    /// `Missing` if there is none at a path.
    pub(super) fn wanted(&self, asked: Option<&[String]>) -> Result<Vec<bool>> {
        let (table, asked) = match (self, asked) {
            (InputTable::Tree(tree), asked) => return wanted_branches(tree, asked),
            (InputTable::RNTuple(table), None) => return Ok(vec![true; table.column_count()]),
            (InputTable::RNTuple(table), Some(asked)) => (table, asked),
        };
        let paths = self.paths();
        if let Some(path) = asked.iter().find(|path| !paths.contains(&path.as_str())) {
            let message = format!("there is no field '{path}'");
            return Err(Error::new(ErrorKind::Missing, message).url(table.url()));
        }
        Ok(paths.iter().map(|path| asked.iter().any(|one| one == path)).collect())
    }
}
