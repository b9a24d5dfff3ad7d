//! Files that a tree has baskets in beside its own (`TBranch::fFileName`).

use crate::{File, Interrupt, Tree, pool};
use sapwood_core::{ByteRange, Deadline, Error, Result};
use sapwood_fetch::{Fetcher, wait};
use sapwood_ttree::BasketRef;
use std::sync::{Mutex, PoisonError};

/// Which file of a tree: 0 is the one that it is in, the others are counted as they are met.
pub(crate) type FileIndex = usize;

/// The other files, by the names that the branches have for them.
#[derive(Debug, Default)]
pub(crate) struct Elsewhere(Mutex<Vec<(String, File)>>);

impl Elsewhere {
    fn position(&self, name: &str) -> Option<FileIndex> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.iter().position(|(known, _)| known == name).map(|position| position + 1)
    }

    fn get(&self, index: FileIndex) -> Option<File> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.get(index.checked_sub(1)?).map(|(_, file)| file.clone())
    }

    fn add(&self, name: &str, file: File) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !files.iter().any(|(known, _)| known == name) {
            files.push((name.to_owned(), file));
        }
    }
}

/// A basket, and the file that it lies in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Located<'t> {
    pub(crate) file: FileIndex,
    pub(crate) basket: &'t BasketRef,
}

impl Located<'_> {
    /// File and offset: what it is known by.
    pub(crate) fn place(&self) -> (FileIndex, u64) {
        (self.file, self.basket.offset)
    }

    /// Where it lies.
    pub(crate) fn range(&self) -> ByteRange {
        ByteRange { start: self.basket.offset, len: self.basket.len }
    }
}

impl Tree {
    /// Opens the files that hold baskets of some branches, with the options that the tree's own file was
    /// opened with.
    ///
    /// # Errors
    /// Those of opening, which name both files.
    pub(crate) fn open_elsewhere(
        &self,
        branches: impl Iterator<Item = usize>,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        if self.file().0.dataset.is_some() {
            return self.find_baskets(&branches.collect::<Vec<_>>(), deadline, interrupt);
        }
        for branch in branches.filter_map(|index| self.branches().get(index)) {
            let name = &branch.file_name;
            if !name.is_empty() && self.0.elsewhere.position(name).is_none() {
                let file = self.file().open_beside(name, deadline, interrupt).map_err(|error| {
                    error
                        .branch(&branch.path)
                        .hint(format!("its baskets lie there; {} names it", self.file().url()))
                })?;
                self.0.elsewhere.add(name, file);
            }
        }
        Ok(())
    }

    /// Finds where the baskets of some branches of a dataset lie; those of a file are known.
    ///
    /// # Errors
    /// Those of the store; `Corrupt` if a stripe list is lost or damaged.
    pub fn find_baskets(
        &self,
        branches: &[usize],
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        let Some(dataset) = &self.file().0.dataset else { return Ok(()) };
        let known =
            |index: &usize| self.branches().get(*index).is_none_or(|branch| branch.baskets.are_known());
        if branches.iter().all(known) {
            return Ok(());
        }
        let found = dataset.find_baskets(&self.0.meta, &self.0.origins, branches, deadline);
        wait(&pool::runtime()?, found, deadline, interrupt)
            .map_err(|error| self.file().counters().explain(error))
    }

    /// The file with the baskets of a branch, by the name that the branch has for it.
    pub(crate) fn file_index(&self, name: &str) -> Result<FileIndex> {
        if name.is_empty() {
            return Ok(0);
        }
        let unopened = || Error::unsupported(format!("the baskets lie in {name}, which is not open"));
        self.0.elsewhere.position(name).ok_or_else(unopened)
    }

    /// One of the tree's files.
    pub(crate) fn file_at(&self, index: FileIndex) -> File {
        self.0.elsewhere.get(index).unwrap_or_else(|| self.file().clone())
    }

    /// What fetches from one of the tree's files.
    pub(crate) fn fetcher_at(&self, index: FileIndex) -> Fetcher {
        self.file_at(index).0.fetcher.clone()
    }
}

/// The place of a file that another one, at `origin`, calls `name`: beside that one, unless `name` is an
/// absolute path and both are local.
///
/// # Errors
/// `Unsupported` for a name that leads from one server to another, or from a server to this machine: a file
/// does not decide whom to talk to.
pub fn beside(origin: &str, name: &str) -> Result<String> {
    let remote = origin.contains("://") && !origin.starts_with("file://");
    let absolute = name.starts_with('/');
    if name.contains("://") || (absolute && remote) {
        let message = format!("the file names another one, {name}, by an address of its own");
        return Err(Error::unsupported(message).hint("only files beside the first are opened"));
    }
    if absolute {
        return Ok(name.to_owned());
    }
    let path = if remote { origin.split(['?', '#']).next().unwrap_or(origin) } else { origin };
    let folder = path.rfind('/').map_or("", |slash| &path[..=slash]);
    Ok(format!("{folder}{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_looked_for_beside_the_first() {
        assert_eq!(beside("main.root", "b.root").unwrap(), "b.root");
        assert_eq!(beside("/data/main.root", "sub/b.root").unwrap(), "/data/sub/b.root");
        assert_eq!(beside("/data/main.root", "/other/b.root").unwrap(), "/other/b.root");
        assert_eq!(
            beside("https://host/data/main.root?token=1/2", "b.root").unwrap(),
            "https://host/data/b.root"
        );
        assert!(beside("https://host/data/main.root", "/etc/b.root").is_err());
        assert!(beside("https://host/data/main.root", "https://elsewhere/b.root").is_err());
    }
}
