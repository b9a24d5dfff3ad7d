//! Reading lazily: columns are fetched and decoded when they are touched, and what is likely to be touched with them.

mod cut;
mod layout;
mod options;

use crate::plan::{check_range, prepare};
use crate::request::{Request, Requests};
use crate::{Interrupt, Tree, pool};
use layout::Baskets;
use sapwood_core::{Column, Deadline, Error, Result};
use sapwood_fetch::learn::{Accounting, Fetch, Fetched, Layout, Limits, Reader, Rules};
use sapwood_source::record::RecordedRead;
use std::ops::Range;
use std::sync::Arc;

pub use options::LazyOptions;

/// A lazy reader of some columns of a tree. Thread-safe.
///
/// What one thread asked for another waits for, and does not ask again. What is touched is kept while its window is.
#[derive(Debug)]
pub struct Lazy {
    baskets: Arc<Baskets>,
    reader: Reader<Column>,
    threads: Option<usize>,
}

impl Tree {
    /// A reader of `requests` that fetches what is touched, and learns to do so ahead of need.
    ///
    /// ```no_run
    /// # use sapwood::{Deadline, File, LazyOptions, OpenOptions};
    /// # fn main() -> sapwood::Result<()> {
    /// # let file = File::open("https://example.org/data.root", OpenOptions::default(), &mut || false)?;
    /// # let tree = file.tree("Events", None, Default::default(), &mut || false)?;
    /// let all: Vec<usize> = (0..tree.branches().len()).collect();
    /// let lazy = tree.lazy(&all, LazyOptions::default(), &mut || false)?;
    /// for window in 0..lazy.windows().len() {
    ///     let column = lazy.column(3, window, Deadline::default(), &mut || false)?;
    ///     lazy.release(window);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `Usage` for entries beyond the tree; those of opening the other files that baskets lie in.
    pub fn lazy<R: Into<Request> + Clone>(
        &self,
        requests: &[R],
        options: LazyOptions,
        interrupt: Interrupt<'_>,
    ) -> Result<Lazy> {
        let requests: Vec<Request> = requests.iter().cloned().map(Into::into).collect();
        Lazy::new(self.clone(), requests, options, interrupt)
    }
}

impl Lazy {
    fn new(
        tree: Tree,
        requests: Vec<Request>,
        options: LazyOptions,
        interrupt: Interrupt<'_>,
    ) -> Result<Lazy> {
        let entries = options.entries.clone().unwrap_or(0..tree.entries());
        check_range(&tree, &entries)?;
        let together = Requests::new(&tree, &requests);
        prepare(&tree, &together.wanted, options.deadline, interrupt)?;
        let branches = together.wanted.iter().filter_map(|wanted| tree.branches().get(wanted.branch));
        let seed = options.trained.clone().unwrap_or_default();
        let unknown = options.startup && seed.iter().all(|(_, share)| *share <= 0.0);
        let windows = cut::cut(
            &tree.metadata().cluster_starts,
            branches.flat_map(cut::costs),
            entries,
            options.memory_bytes,
            unknown.then_some(options.startup_entries),
        );
        let begin = tree.file().trace().begin();
        let baskets = Arc::new(Baskets::new(tree, requests, windows));
        let (layout, handle) = (Arc::clone(&baskets), pool::runtime()?);
        let reader = Reader::new(layout, handle, options.rules(), options.limits(), &seed, begin);
        Ok(Lazy { baskets, reader, threads: options.threads })
    }

    /// The entries of each window. What is touched is read for the whole window.
    pub fn windows(&self) -> &[Range<u64>] {
        &self.baskets.windows
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
        let mut columns = self.read(&[request], window, false, deadline, interrupt)?;
        columns.pop().ok_or_else(|| Error::usage("a column was not read"))
    }

    /// Makes sure that some requests of a window are there, in one planned fetch, and decoded.
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
        self.read(requests, window, true, deadline, interrupt).map(drop)
    }

    /// Nobody needs a window any more: it may be dropped. If it is touched again, it is needed again.
    pub fn release(&self, window: usize) {
        self.reader.release(window);
    }

    /// Says which windows will be opened, each once, in the order in which they will be opened first: those are fetched
    /// ahead, and no others. And what share of the entries of each will be looked at: where few are, little is guessed.
    /// Until it is [forgotten](Lazy::forget), by what is returned.
    pub fn expect(&self, windows: Vec<(usize, f64)>) -> u64 {
        self.reader.expect(windows)
    }

    /// None of the windows that were expected by that number will be opened any more.
    pub fn forget(&self, expected: u64) {
        self.reader.forget(expected);
    }

    /// By request that was touched: windows in which it was, and windows that were seen.
    pub fn learned(&self) -> Vec<(usize, u64, u64)> {
        self.reader.learned()
    }

    /// Who asked for what.
    pub fn accounting(&self) -> Accounting {
        self.reader.accounting()
    }

    /// All fetches, in the order asked. Times count from when the file was opened, as in its trace.
    pub fn fetches(&self) -> Vec<Fetch> {
        self.reader.fetches()
    }

    fn read(
        &self,
        requests: &[usize],
        window: usize,
        declared: bool,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<Column>> {
        let work = |fetched: &[Fetched], interrupt: Interrupt<'_>| {
            self.baskets.decode(fetched, window, self.threads, deadline, interrupt)
        };
        let (file, read) = (self.baskets.tree.file(), self.baskets.recorded());
        let touch = || self.reader.touch(requests, window, declared, deadline, interrupt, &work);
        RecordedRead::touch(read, requests, window, file.counters(), touch)
            .map_err(|error| error.url(file.url()))
    }
}

impl LazyOptions {
    fn rules(&self) -> Rules {
        Rules {
            startup: self.startup,
            learn: self.learn,
            trigger: self.trigger,
            suspected_bytes: self.startup_bytes,
            remembered_bytes: self.memory_bytes / 4,
        }
    }

    fn limits(&self) -> Limits {
        Limits { memory_bytes: self.memory_bytes, ahead_bytes: self.memory_bytes / 4 }
    }
}
