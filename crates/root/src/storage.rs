//! The baskets of a tree in a file: in the file itself, and in others that its branches name (`TBranch::fFileName`).

use crate::root_file::RootFile;
use sapwood_core::{Call, Error, Result};
use sapwood_fetch::Fetcher;
use sapwood_table::{EntryStatistics, FileIndex};
use sapwood_ttree::{BasketRef, BasketStorage, TTree};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The file of a tree, and the others that hold its baskets.
#[derive(Debug)]
pub(crate) struct FileBaskets {
    file: RootFile,
    /// The others, in the order of opening, with the names that branches use.
    others: Mutex<Vec<(String, RootFile)>>,
}

impl FileBaskets {
    pub(crate) fn new(file: RootFile) -> FileBaskets {
        FileBaskets { file, others: Mutex::default() }
    }

    fn position(&self, name: &str) -> Option<FileIndex> {
        self.others().iter().position(|(known, _)| known == name).map(|position| position + 1)
    }

    fn others(&self) -> MutexGuard<'_, Vec<(String, RootFile)>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BasketStorage for FileBaskets {
    fn url(&self) -> &str {
        self.file.url()
    }

    /// Opens the files that hold the baskets, with the options that the tree's own file was opened with.
    fn locate(&self, tree: &TTree, branches: &[usize], call: &mut Call<'_>) -> Result<()> {
        for branch in branches.iter().filter_map(|index| tree.stored_branch(*index)) {
            let name = &branch.file_name;
            if name.is_empty() || self.position(name).is_some() {
                continue;
            }
            let file = self.file.open_beside(name, call).map_err(|error| {
                let hint = format!("{} refers to it for the baskets of this branch", self.file.url());
                error.branch(&branch.path).hint(hint)
            })?;
            let mut others = self.others();
            if !others.iter().any(|(known, _)| known == name) {
                others.push((name.clone(), file));
            }
        }
        Ok(())
    }

    fn baskets<'a>(&'a self, tree: &'a TTree, branch: usize) -> &'a [BasketRef] {
        tree.stored_branch(branch).map(|branch| &*branch.baskets).unwrap_or_default()
    }

    fn file(&self, tree: &TTree, branch: usize) -> Result<FileIndex> {
        match tree.stored_branch(branch).map(|branch| branch.file_name.as_str()) {
            None | Some("") => Ok(0),
            Some(name) => self
                .position(name)
                .ok_or_else(|| Error::unsupported(format!("the baskets are in {name}, which is not open"))),
        }
    }

    fn fetcher(&self, file: FileIndex) -> Fetcher {
        let other =
            file.checked_sub(1).and_then(|index| self.others().get(index).map(|(_, file)| file.clone()));
        other.as_ref().unwrap_or(&self.file).fetcher().clone()
    }

    fn statistics(&self, _: &TTree, _: usize, _: &mut Call<'_>) -> Result<Vec<EntryStatistics>> {
        Ok(Vec::new())
    }
}
