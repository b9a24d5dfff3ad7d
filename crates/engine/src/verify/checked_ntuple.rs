//! An RNTuple that is verified: its pages, and its report so far.

use super::report::TreeReport;
use bytes::Bytes;
use sapwood_core::{ByteRange, Result};
use sapwood_root::Tree;
use sapwood_table::{Chunk, ColumnContent};
use sapwood_tfile::KeyEntry;
use std::collections::BTreeMap;
use std::ops::Range;

/// An RNTuple and its report. Its metadata, which have checksums, were checked when it was opened.
#[derive(Debug)]
pub(super) struct CheckedNtuple {
    pub(super) tree: Tree,
    pages: Vec<CheckedPage>,
    /// Fields without pages of their own records: they are stored in several, or there are none.
    pub(super) unlisted: Vec<usize>,
    pub(super) report: TreeReport,
}

#[derive(Debug)]
struct CheckedPage {
    chunk: Chunk,
    /// The fields that need it, each with the entries that are lost without it.
    uses: Vec<(usize, Range<u64>)>,
}

impl CheckedNtuple {
    pub(super) fn new(entry: &KeyEntry, tree: Tree) -> CheckedNtuple {
        let mut pages: BTreeMap<u64, CheckedPage> = BTreeMap::new();
        let mut unlisted = Vec::new();
        for field in 0..tree.column_count() {
            let chunks = tree.chunks(field..field + 1);
            let is_readable =
                tree.schema(field).is_some_and(|schema| matches!(schema.content, ColumnContent::Values(_)));
            if chunks.is_empty() && is_readable {
                unlisted.push(field);
            }
            for chunk in chunks.into_iter().filter(Chunk::is_stored) {
                let used = (field, chunk.entries.clone());
                let page = pages.entry(chunk.range.start);
                page.or_insert_with(|| CheckedPage { chunk, uses: Vec::new() }).uses.push(used);
            }
        }
        let not_decoded = (0..tree.column_count()).filter_map(|field| {
            let schema = tree.schema(field)?;
            match schema.content {
                ColumnContent::Unreadable(why) => Some((schema.name.to_owned(), why.to_owned())),
                _ => None,
            }
        });
        let report = TreeReport {
            path: entry.path.clone(),
            cycle: entry.key.cycle,
            entries: tree.entries(),
            is_rntuple: true,
            branches: tree.column_count(),
            baskets: pages.len() as u64,
            not_decoded: not_decoded.collect(),
            ..TreeReport::default()
        };
        CheckedNtuple { tree, pages: pages.into_values().collect(), unlisted, report }
    }

    /// Where its pages are, in the order of their numbers.
    pub(super) fn pages(&self) -> impl Iterator<Item = ByteRange> + '_ {
        self.pages.iter().map(|page| page.chunk.range)
    }

    /// Verifies and decompresses a page. Also returns how many bytes its checksum covers.
    pub(super) fn check(&self, page: u32, bytes: &Bytes) -> (Result<()>, u64) {
        let Some(CheckedPage { chunk, .. }) = self.pages.get(page as usize) else { return (Ok(()), 0) };
        let table = self.tree.table();
        let covered = if table.has_checksum(chunk) { bytes.len() as u64 } else { 0 };
        (table.uncompress(chunk, bytes).map(drop), covered)
    }

    /// The fields and entries that are lost with a page.
    pub(super) fn uses(&self, page: u32) -> &[(usize, Range<u64>)] {
        self.pages.get(page as usize).map_or(&[], |page| &page.uses)
    }

    pub(super) fn field(&self, field: usize) -> &str {
        self.tree.branch_path(field)
    }

    /// Path and cycle.
    pub(super) fn name(&self) -> String {
        format!("{};{}", self.report.path, self.report.cycle)
    }
}
