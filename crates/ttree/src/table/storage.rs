//! Locates and fetches the baskets of a tree for its table.

use crate::{BasketRef, TTree};
use sapwood_core::{Call, Result};
use sapwood_fetch::Fetcher;
use sapwood_table::{EntryStatistics, FileIndex};
use std::fmt::Debug;

/// Where the baskets of a tree are stored: in the file of its record, in others, or in a dataset. Branches are those of
/// [`TTree::stored_branch`].
pub trait BasketStorage: Debug + Send + Sync {
    /// The URL of the file with the tree's record, without secrets.
    fn url(&self) -> &str;

    /// Locates the baskets of some branches, reading if necessary.
    ///
    /// # Errors
    /// Those of reading.
    fn locate(&self, tree: &TTree, branches: &[usize], call: &mut Call<'_>) -> Result<()>;

    /// The baskets that hold entries of a branch that was [located](BasketStorage::locate), in the order of these.
    fn baskets<'a>(&'a self, tree: &'a TTree, branch: usize) -> &'a [BasketRef];

    /// The file that contains them.
    ///
    /// # Errors
    /// `Unsupported` if the branch was not located.
    fn file(&self, tree: &TTree, branch: usize) -> Result<FileIndex>;

    /// The fetcher of one of the files.
    fn fetcher(&self, file: FileIndex) -> Fetcher;

    /// The group that a branch is stored with, such as a product of a dataset; by default none.
    fn group(&self, branch: usize) -> Option<&str> {
        let _ = branch;
        None
    }

    /// Statistics of the values of a branch, in the order of entries, without reading them.
    ///
    /// # Errors
    /// As [`locate`](BasketStorage::locate).
    fn statistics(&self, tree: &TTree, branch: usize, call: &mut Call<'_>) -> Result<Vec<EntryStatistics>>;
}
