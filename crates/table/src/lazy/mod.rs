//! Reading lazily: columns are fetched and decoded when they are touched, and what is likely to be touched with them.

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
use sapwood_source::record::RecordedRead;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

pub use options::LazyOptions;

/// A lazy reader of some columns of a table: it fetches what is touched, and learns to do so ahead of need. Thread-safe.
///
/// What one thread has asked for, another waits for and does not ask again. Touched columns are kept with their window.
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
        let together = Queries::new(&queries);
        table.locate(&together.selections, call)?;
        let seed = options.trained.clone().unwrap_or_default();
        let unknown = options.startup && seed.iter().all(|(_, share)| *share <= 0.0);
        let all = 0..table.entries();
        // A column that cannot be read costs nothing.
        let plans = together.selections.iter().filter_map(|one| table.plan(one, &all).ok());
        let costs: Vec<(u64, u64)> = plans
            .flat_map(|plan| {
                plan.chunks().iter().filter(|chunk| !chunk.index).map(cut::cost).collect::<Vec<_>>()
            })
            .collect();
        let windows = cut::cut(
            table.cluster_starts(),
            costs.into_iter(),
            entries,
            options.memory_bytes,
            unknown.then_some(options.startup_entries),
        );
        let layout = Arc::new(LazyLayout::new(table, queries, windows));
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

    /// The entries of each window. What is touched is read for the whole window.
    pub fn windows(&self) -> &[Range<u64>] {
        &self.layout.windows
    }

    /// The entries of a window, for a query by its index.
    ///
    /// # Errors
    /// `Usage` for a window or query that is not there; those of [`read`](crate::read()).
    pub fn column(&self, query: usize, window: usize, call: &mut Call<'_>) -> Result<Column> {
        let mut columns = self.read(&[query], window, false, call)?;
        columns.pop().ok_or_else(|| Error::usage("a column was not read"))
    }

    /// Fetches some queries of a window in one planned fetch, and decodes them.
    ///
    /// # Errors
    /// As [`Lazy::column`].
    pub fn touch(&self, queries: &[usize], window: usize, call: &mut Call<'_>) -> Result<()> {
        self.read(queries, window, true, call).map(drop)
    }

    /// The window is no longer needed and may be dropped. Touching it makes it needed again.
    pub fn release(&self, window: usize) {
        self.reader.release(window);
    }

    /// Announces the windows that will be opened, each once, in the order of their first use, with the share of their
    /// entries that will be used: these windows are fetched ahead, and no others, and little is guessed where few entries
    /// are used. Holds until it is [forgotten](Lazy::forget) by the number that is returned.
    pub fn expect(&self, windows: Vec<(usize, f64)>) -> u64 {
        self.reader.expect(windows)
    }

    /// Takes back what was announced under that number.
    pub fn forget(&self, expected: u64) {
        self.reader.forget(expected);
    }

    /// For each query that was touched: in how many windows, and of how many windows seen.
    pub fn learned(&self) -> Vec<(usize, u64, u64)> {
        self.reader.learned()
    }

    /// The bytes that were fetched, by the reason for fetching them.
    pub fn accounting(&self) -> Accounting {
        self.reader.accounting()
    }

    /// All fetches, in the order asked. Times count from when the file was opened, as in its trace.
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
        let work = |fetched: &[FetchedColumn], call: &mut Call<'_>| {
            self.layout.decode(fetched, window, self.threads, call)
        };
        let (table, read) = (&self.layout.table, self.layout.recorded());
        let touch = || self.reader.touch(queries, window, declared, &work, call);
        let fetcher = table.fetcher(0);
        RecordedRead::touch(read, queries, window, fetcher.counters(), touch)
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
        Limits { memory_bytes: self.memory_bytes, ahead_bytes: self.memory_bytes / 4 }
    }
}
