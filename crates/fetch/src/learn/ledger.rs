//! Accounting: touches, hits and misses by column, fetches by kind.

use super::FetchKind;
use super::fetch_log::{Fetch, FetchLog};
use sapwood_core::ByteRange;
use std::collections::BTreeMap;
use std::time::Instant;

/// The figures of one column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ColumnUse {
    /// Windows in which it was touched: `hits + misses`.
    pub windows_touched: u64,
    /// Windows in which it had arrived, or was in flight, when it was first touched.
    pub hits: u64,
    /// Windows in which the first touch had to fetch it.
    pub misses: u64,
    /// Bytes that were fetched for it.
    pub bytes_fetched: u64,
    /// The part of these that was fetched for windows in which it was not touched so far.
    pub bytes_unused: u64,
}

/// The cost of fetches of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KindUse {
    /// Number of fetches: each is planned as one, and sent at once.
    pub fetches: u64,
    /// Number of requests: more than fetches where the source limits requests.
    pub requests: u64,
    /// Wanted ranges: chunks.
    pub ranges: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What a reader did so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accounting {
    /// Windows in which any column was touched.
    pub windows_seen: u64,
    /// Bytes and values that are held now.
    pub held_bytes: u64,
    /// By column, without those that were neither touched nor fetched.
    pub columns: BTreeMap<usize, ColumnUse>,
    /// By kind of fetch.
    pub kinds: BTreeMap<FetchKind, KindUse>,
}

/// Counts touches and fetches.
#[derive(Debug)]
pub(super) struct Ledger {
    begin: Instant,
    accounting: Accounting,
    fetches: FetchLog,
}

impl Ledger {
    /// Times count from `begin`.
    pub(super) fn new(begin: Instant) -> Self {
        Ledger { begin, accounting: Accounting::default(), fetches: FetchLog::default() }
    }

    /// A window is touched for the first time.
    pub(super) fn opened(&mut self) {
        self.accounting.windows_seen += 1;
    }

    /// A column is touched in a window for the first time.
    pub(super) fn touched(&mut self, column: usize, hit: bool) {
        let account = self.column(column);
        account.windows_touched += 1;
        account.hits += u64::from(hit);
        account.misses += u64::from(!hit);
    }

    /// Bytes are fetched for a column.
    pub(super) fn fetched(&mut self, column: usize, bytes: u64) {
        let account = self.column(column);
        account.bytes_fetched += bytes;
        account.bytes_unused += bytes;
    }

    /// Fetched bytes of a column are used.
    pub(super) fn used(&mut self, column: usize, bytes: u64) {
        let account = self.column(column);
        account.bytes_unused = account.bytes_unused.saturating_sub(bytes);
    }

    /// A fetch starts; returns its number in the list of fetches, if it is listed.
    pub(super) fn asked(
        &mut self,
        kind: FetchKind,
        window: usize,
        columns: &[usize],
        ranges: &[(usize, ByteRange)],
    ) -> Option<usize> {
        let account = self.accounting.kinds.entry(kind).or_default();
        account.fetches += 1;
        account.ranges += ranges.len() as u64;
        account.bytes += ranges.iter().map(|(_, range)| range.len).sum::<u64>();
        self.fetches.push(kind, window, columns, ranges, self.begin.elapsed())
    }

    /// A fetch was answered; it took this many requests. `listed` is its number in the list of fetches.
    pub(super) fn answered(&mut self, kind: FetchKind, listed: Option<usize>, requests: u64) {
        self.accounting.kinds.entry(kind).or_default().requests += requests;
        if let Some(fetch) = listed {
            self.fetches.answered(fetch, self.begin.elapsed());
        }
    }

    pub(super) fn accounting(&self) -> Accounting {
        self.accounting.clone()
    }

    pub(super) fn fetches(&self) -> Vec<Fetch> {
        self.fetches.list()
    }

    fn column(&mut self, column: usize) -> &mut ColumnUse {
        self.accounting.columns.entry(column).or_default()
    }
}
