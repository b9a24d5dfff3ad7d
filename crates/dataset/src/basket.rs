//! Entries of a branch, cut into the baskets of stripes; and what is known of the values in these.

use super::statistics::{Summary, Values};
use bytes::Bytes;
use sapwood_codec::Compression;
use sapwood_core::Statistics;
use sapwood_core::{Error, Result};
use sapwood_rewrite::repack::baskets::{BasketEncoding, CodecTimes, OutputKey, encode_basket};
use sapwood_rewrite::repack::input::InputTree;
use sapwood_tfile::write::{Datime, NewKey};
use sapwood_ttree::{Cutter, Entries, NewBasket, References};
use std::ops::Range;

/// What the baskets of a branch are like, wherever its entries come from.
#[derive(Debug, Clone)]
pub struct BasketForm {
    /// The key of the baskets.
    pub key: NewKey,
    offset_len: i32,
    /// How the references inside its entries are found.
    pub references: References,
    /// Where its values are, if they are numbers.
    pub(super) values: Option<Values>,
}

/// The basket of a branch in a stripe.
#[derive(Debug, Clone, Default)]
pub struct CutBasket {
    /// The record of the basket: key and content.
    pub record: Bytes,
    /// What is known of its values.
    pub statistics: Option<Statistics>,
}

/// Cuts entries, as they follow each other from the first of a stripe on.
#[derive(Debug)]
pub struct StripeCutter {
    /// Entries of a stripe, and those that the open one has.
    stripe: usize,
    open: usize,
    cutter: Cutter,
    summary: Summary,
    ready: Vec<StripeCut>,
}

/// The entries of a stripe, before compression.
#[derive(Debug)]
pub struct StripeCut {
    cut: NewBasket,
    statistics: Option<Statistics>,
}

impl BasketForm {
    /// That of a branch of a tree, for baskets that are made at a time.
    pub fn of(tree: &InputTree, branch: usize, made: Datime) -> Result<BasketForm> {
        let missing = || Error::corrupt("a branch is missing");
        let outline = tree.branch(branch).ok_or_else(missing)?;
        let key = NewKey::new("TBasket", &outline.name, &tree.meta.name, true);
        Ok(BasketForm {
            key: NewKey { datime: Some(made), ..key },
            offset_len: outline.entry_offset_len,
            references: tree.references(branch),
            values: tree.layout(branch).as_ref().and_then(Values::of),
        })
    }

    /// Cuts entries wherever that is asked for. ROOT does not read baskets that say where their entries stood.
    pub fn cutter(&self, encoding: BasketEncoding) -> Cutter {
        Cutter::new(usize::MAX, self.key.len(), self.offset_len, encoding == BasketEncoding::Stripe)
    }

    /// The basket of a stripe.
    pub fn basket(
        &self,
        stripe: StripeCut,
        compression: Compression,
        encoding: BasketEncoding,
        times: &CodecTimes,
    ) -> Result<CutBasket> {
        let ready = encode_basket(stripe.cut, 0, compression, encoding, times)?;
        let OutputKey::New(fields) = ready.key else {
            return Err(Error::corrupt("a basket was not made anew"));
        };
        let record = self.key.record(&fields, &ready.payload, ready.object_len)?.into();
        Ok(CutBasket { record, statistics: stripe.statistics })
    }
}

impl StripeCutter {
    /// Cuts stripes of so many entries.
    pub fn new(form: &BasketForm, stripe: u64, encoding: BasketEncoding) -> StripeCutter {
        StripeCutter {
            stripe: usize::try_from(stripe.max(1)).unwrap_or(usize::MAX),
            open: 0,
            cutter: form.cutter(encoding),
            summary: Summary::new(form.values),
            ready: Vec::new(),
        }
    }

    /// Adds some entries of a basket; the stripes that are complete then.
    pub fn add(&mut self, entries: &Entries, range: Range<usize>) -> Result<Vec<StripeCut>> {
        let mut from = range.start;
        while from < range.end {
            let to = range.end.min(from.saturating_add(self.stripe - self.open));
            self.summary.add(entries, from..to);
            self.cutter.add(entries, from..to, &mut Vec::new())?;
            self.open += to - from;
            from = to;
            if self.open == self.stripe {
                self.close()?;
            }
        }
        Ok(std::mem::take(&mut self.ready))
    }

    /// The stripe of the entries that are left.
    pub fn finish(mut self) -> Result<Vec<StripeCut>> {
        self.close()?;
        Ok(self.ready)
    }

    fn close(&mut self) -> Result<()> {
        self.open = 0;
        let cut = self.cutter.close()?;
        self.ready.extend(cut.map(|cut| StripeCut { cut, statistics: self.summary.take() }));
        Ok(())
    }
}
