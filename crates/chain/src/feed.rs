//! The source of the lanes' batches: the chunks of a tree, the blocks of a flat file, or nothing.

use super::claim::{Claim, Content};
use super::flat_input::{FlatFeed, FlatFile};
use super::input::ChainInput;
use super::options::{ChainOptions, ChainSource};
use super::tree_input::{TreeFeed, columns, open_tree_input};
use sapwood_core::{Call, Result};

/// Delivers batches in order.
pub(super) struct Feed {
    source: Source,
    entries: u64,
    batch: u64,
    next: u64,
}

enum Source {
    Tree(Box<TreeFeed>),
    Flat(Box<FlatFeed>),
    Empty,
}

impl ChainInput {
    /// Opens a source and finds its columns. `kept` is true if the output is kept.
    pub(super) fn new(
        source: &ChainSource,
        options: &ChainOptions,
        kept: bool,
        call: &mut Call<'_>,
    ) -> Result<(ChainInput, Feed)> {
        match source {
            ChainSource::Tree(file, path) => {
                let (opened, feed) = open_tree_input(file, path, options, kept, call)?;
                let (source, entries) = (Source::Tree(Box::new(feed)), opened.entries);
                Ok((opened, Feed { source, entries, batch: options.batch, next: 0 }))
            }
            ChainSource::Flat(url, open) => {
                let flat = FlatFile::open(url, open, call)?;
                let template = flat.template(call)?;
                let (mut columns, events) = columns(&template, call)?;
                flat.describe(&mut columns)?;
                let (sizes, entries) = (flat.sizes(), options.taken(flat.entries()));
                let source = Source::Flat(Box::new(FlatFeed::new(flat, &columns, entries)?));
                let template = Some(template);
                let opened = ChainInput { template, columns, sizes, entries, events };
                Ok((opened, Feed { source, entries, batch: options.batch, next: 0 }))
            }
            ChainSource::Empty(entries) => {
                let entries = options.taken(*entries);
                let (template, events, columns, sizes) = (None, None, Vec::new(), Vec::new());
                let opened = ChainInput { template, columns, sizes, entries, events };
                Ok((opened, Feed { source: Source::Empty, entries, batch: options.batch, next: 0 }))
            }
        }
    }
}

impl Feed {
    /// The next batch; none after the last.
    pub(super) fn claim(&mut self, call: &mut Call<'_>) -> Result<Option<Claim>> {
        let first = self.next.saturating_mul(self.batch);
        if first >= self.entries {
            return Ok(None);
        }
        let (number, entries) = (self.next, self.batch.min(self.entries - first));
        self.next += 1;
        let (content, read_bytes) = match &mut self.source {
            Source::Tree(feed) => {
                let (baskets, read) = feed.claim(number, call)?;
                (Content::Baskets(baskets), read)
            }
            Source::Flat(feed) => {
                let (blocks, read) = feed.claim(first..first + entries, call)?;
                (Content::Blocks(blocks), read)
            }
            Source::Empty => (Content::Nothing, 0),
        };
        Ok(Some(Claim { number, first, entries, read_bytes, content }))
    }
}
