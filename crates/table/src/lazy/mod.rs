//! Reading lazily: columns are fetched and decoded when they are touched, with others that are likely to be touched.

mod cut;
mod layout;
mod options;

use crate::plan::check_range;
use crate::pool;
use crate::queries::Queries;
use crate::selection::Query;
use crate::table::Table;
use layout::LazyLayout;
use sapwood_core::{Call, Column, Error, Result};
use sapwood_fetch::learn::{Accounting, ColumnMap, Fetch, FetchedColumn, Limits, Reader, Rules};
use sapwood_source::record::ReadRecording;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

pub use options::LazyOptions;

/// Ranges of entries for a [scan](crate::Scan) of columns, or of members of the objects in them: whole clusters, joined
/// up to 32 MB, and cut if they have more than 64 MB.
///
/// # Errors
/// `Usage` for entries beyond the table; those of [`Table::locate`].
pub fn steps<Q: Into<Query> + Clone>(
    table: &dyn Table,
    queries: &[Q],
    entries: Range<u64>,
    call: &mut Call<'_>,
) -> Result<Vec<Range<u64>>> {
    check_range(table, &entries)?;
    let columns = Queries::new(table, queries);
    table.locate(&columns.selections, call)?;
    Ok(cut::windows_of(table, &columns.selections, entries, u64::MAX, None))
}

/// A lazy reader of some columns of a table: it fetches what is touched, and learns to prefetch it. Thread-safe.
///
/// If another thread has requested the same bytes, a touch waits for them. Touched columns are kept with their window.
#[derive(Debug)]
pub struct Lazy {
    layout: Arc<LazyLayout>,
    reader: Reader<Column>,
    threads: Option<usize>,
}

impl Lazy {
    /// A reader of columns, or of members of the objects in them.
    ///
    /// # Errors
    /// `Usage` for entries beyond the table; those of [`Table::locate`].
    pub fn new<Q: Into<Query> + Clone>(
        table: Arc<dyn Table>,
        queries: &[Q],
        options: LazyOptions,
        call: &mut Call<'_>,
    ) -> Result<Lazy> {
        let queries: Vec<Query> = queries.iter().cloned().map(Into::into).collect();
        let entries = options.entries.clone().unwrap_or(0..table.entries());
        check_range(&*table, &entries)?;
        let together = Queries::new(&*table, &queries);
        table.locate(&together.selections, call)?;
        let seed = options.trained.clone().unwrap_or_default();
        let unknown = options.startup && seed.iter().all(|(_, share)| *share <= 0.0);
        let first = unknown.then_some(options.startup_entries);
        let windows = cut::windows_of(&*table, &together.selections, entries, options.memory_bytes, first);
        let layout = Arc::new(LazyLayout::new(table, queries, windows, options.memory_bytes / 8));
        let of_reader: Arc<dyn ColumnMap> = Arc::clone(&layout) as Arc<dyn ColumnMap>;
        let reader = Reader::new(
            of_reader,
            pool::runtime()?,
            options.rules(),
            options.limits(),
            &seed,
            options.begin.unwrap_or_else(Instant::now),
        );
        Ok(Lazy { layout, reader, threads: options.threads })
    }

    /// The entries of each window. A touched column is read for the whole window.
    pub fn windows(&self) -> &[Range<u64>] {
        &self.layout.windows
    }

    /// The entries of a window, for a query by its index.
    ///
    /// # Errors
    /// `Usage` for a window or query that does not exist; those of [`read`](crate::read()).
    pub fn column(&self, query: usize, window: usize, call: &mut Call<'_>) -> Result<Column> {
        let mut columns = self.read(&[query], window, false, call)?;
        columns.pop().ok_or_else(|| Error::usage("a column was not read"))
    }

    /// Fetches some queries of a window together, and decodes them.
    ///
    /// # Errors
    /// As [`Lazy::column`].
    pub fn touch(&self, queries: &[usize], window: usize, call: &mut Call<'_>) -> Result<()> {
        self.read(queries, window, true, call).map(drop)
    }

    /// Marks a window as no longer needed, so that it may be dropped. Touching it makes it needed again.
    pub fn release(&self, window: usize) {
        self.reader.release(window);
    }

    /// Announces the windows that will be opened, each once, in the order of their first use, with the share of their
    /// entries that will be used. Only these windows are prefetched, and little is fetched speculatively where few entries
    /// are used. Applies until [`forget`](Lazy::forget) is called with the returned number.
    pub fn expect(&self, windows: Vec<(usize, f64)>) -> u64 {
        self.reader.expect(windows)
    }

    /// Withdraws the announcement with this number.
    pub fn forget(&self, expected: u64) {
        self.reader.forget(expected);
    }

    /// For each touched query: the windows in which it was touched, and the windows that were seen.
    pub fn learned(&self) -> Vec<(usize, u64, u64)> {
        self.reader.learned()
    }

    /// The fetched bytes, by the reason for fetching them.
    pub fn accounting(&self) -> Accounting {
        self.reader.accounting()
    }

    /// The first fetches, at most [`MOST_FETCHES`](sapwood_fetch::learn::MOST_FETCHES), in the order of their requests.
    /// Times count from [`LazyOptions::begin`].
    pub fn fetches(&self) -> Vec<Fetch> {
        self.reader.fetches()
    }

    fn read(
        &self,
        queries: &[usize],
        window: usize,
        declared: bool,
        call: &mut Call<'_>,
    ) -> Result<Vec<Column>> {
        // Columns that are touched together are those that a loop uses.
        let following = declared.then(|| self.reader.expected_after(window)).flatten();
        let work = |fetched: &[FetchedColumn], call: &mut Call<'_>| {
            self.layout.decode(fetched, window, following, self.threads, call)
        };
        let (table, read) = (&self.layout.table, self.layout.recorded());
        let touch = || self.reader.touch(queries, window, declared, &work, call);
        let fetcher = table.fetcher(0);
        ReadRecording::touch(read, queries, window, fetcher.counters(), touch)
            .map_err(|error| error.url(table.url()))
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
        // The rest is for chunks that reach into the next window, what the caller holds, and what is being decoded.
        let quarter = self.memory_bytes / 4;
        Limits { kept_bytes: quarter, memory_bytes: 2 * quarter, ahead_bytes: quarter }
    }
}
