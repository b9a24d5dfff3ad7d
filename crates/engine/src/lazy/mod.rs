//! Reading lazily: columns are fetched and decoded when they are touched, and what is likely to be touched with them.

mod cut;
mod options;

use crate::plan::prepare;
use crate::request::{Request, Requests};
use crate::{Interrupt, ReadOptions, Tree};
use sapwood_core::{Column, Deadline, Error, Result};
use sapwood_fetch::learn::{Accounting, Fetch};
use std::ops::Range;

pub use options::LazyOptions;

/// A lazy reader of some columns of a tree. Thread-safe.
#[derive(Debug)]
pub struct Lazy {
    tree: Tree,
    requests: Vec<Request>,
    windows: Vec<Range<u64>>,
    options: LazyOptions,
}

impl Tree {
    /// A reader of `requests` that fetches what is touched, and learns to do so ahead of need.
    ///
    /// # Errors
    /// `Usage` for entries beyond the tree; those of opening the other files that baskets lie in.
    pub fn lazy<R: Into<Request> + Clone>(
        &self,
        requests: &[R],
        options: LazyOptions,
        interrupt: Interrupt<'_>,
    ) -> Result<Lazy> {
        Lazy::new(self.clone(), requests, options, interrupt)
    }
}

impl Lazy {
    fn new<R: Into<Request> + Clone>(
        tree: Tree,
        requests: &[R],
        options: LazyOptions,
        interrupt: Interrupt<'_>,
    ) -> Result<Lazy> {
        let entries = options.entries.clone().unwrap_or(0..tree.entries());
        crate::plan::check_range(&tree, &entries)?;
        let together = Requests::new(&tree, requests);
        prepare(&tree, &together.wanted, options.deadline, interrupt)?;
        let branches = together.wanted.iter().filter_map(|wanted| tree.branches().get(wanted.branch));
        let windows = cut::cut(
            &tree.metadata().cluster_starts,
            branches.flat_map(|branch| &branch.baskets),
            entries,
            options.memory_bytes,
            (options.startup && options.trained.is_none()).then_some(options.startup_entries),
        );
        let requests = requests.iter().cloned().map(Into::into).collect();
        Ok(Lazy { tree, requests, windows, options })
    }

    /// The entries of each window. What is touched is read for the whole window.
    pub fn windows(&self) -> &[Range<u64>] {
        &self.windows
    }

    /// The entries of a window, of a request by its index.
    ///
    /// # Errors
    /// `Usage` for a window or request that is not there; those of [`Tree::read`].
    pub fn column(
        &self,
        request: usize,
        window: usize,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<Column> {
        let entries = self.windows.get(window).cloned();
        let (Some(entries), Some(request)) = (entries, self.requests.get(request)) else {
            return Err(Error::usage(format!("there is no such request or window {window}")));
        };
        let options = ReadOptions { threads: self.options.threads, deadline };
        let mut columns = self.tree.read(std::slice::from_ref(request), entries, &options, interrupt)?;
        columns.pop().ok_or_else(|| Error::usage("a column was not read"))
    }

    /// Makes sure that some requests of a window are there, in one planned fetch.
    ///
    /// # Errors
    /// As [`Lazy::column`].
    pub fn touch(
        &self,
        requests: &[usize],
        window: usize,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        requests.iter().try_for_each(|request| self.column(*request, window, deadline, interrupt).map(drop))
    }

    /// Nobody needs a window any more: it may be dropped.
    pub fn release(&self, _window: usize) {}

    /// By request: windows in which it was touched, and windows that were seen.
    pub fn learned(&self) -> Vec<(usize, u64, u64)> {
        Vec::new()
    }

    /// Who asked for what.
    pub fn accounting(&self) -> Accounting {
        Accounting::default()
    }

    /// All fetches, in the order asked. Times count from when the file was opened, as in its trace.
    pub fn fetches(&self) -> Vec<Fetch> {
        Vec::new()
    }
}
