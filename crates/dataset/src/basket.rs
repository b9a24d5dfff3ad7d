//! Cuts the entries of a branch into the baskets of stripes, with statistics of their values.

use super::statistics::{Summary, Values};
use bytes::Bytes;
use sapwood_codec::Compression;
use sapwood_core::{Error, Result, Statistics};
use sapwood_rewrite::repack::baskets::{BasketEncoding, CodecTimes, OutputKey, encode_basket};
use sapwood_rewrite::repack::input::InputTree;
use sapwood_tfile::write::{Datime, NewKey};
use sapwood_ttree::{BasketRecord, Cutter, Entries, NewBasket, References};
use std::ops::Range;

/// The form of a branch's baskets.
#[derive(Debug, Clone)]
pub struct BasketForm {
    /// The key of the baskets.
    pub key: NewKey,
    offset_len: i32,
    /// How to find the references inside its entries.
    pub references: References,
    /// The location of its values, if they are numbers.
    pub(super) values: Option<Values>,
}

/// The basket of a branch in a stripe.
#[derive(Debug, Clone, Default)]
pub struct CutBasket {
    /// The record of the basket: key and content.
    pub record: Bytes,
    /// Statistics of its values, if known.
    pub statistics: Option<Statistics>,
}

/// Cuts consecutive entries into stripes, starting at the first entry of a stripe.
#[derive(Debug)]
pub struct StripeCutter {
    /// Entries of a stripe.
    stripe: usize,
    /// Entries of the open stripe so far.
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
    /// The form for a branch of a tree, with the time to record in the baskets.
    pub fn of(tree: &InputTree, branch: usize, made: Datime) -> Result<BasketForm> {
        let missing = || Error::corrupt("a branch is missing");
        let outline = tree.branch(branch).ok_or_else(missing)?;
        let key = NewKey::new("TBasket", &outline.name, &tree.record().name, true);
        Ok(BasketForm {
            key: NewKey { datime: Some(made), ..key },
            offset_len: outline.entry_offset_len,
            references: tree.references(branch),
            values: tree.layout(branch).as_ref().and_then(Values::of),
        })
    }

    /// A cutter that cuts only where it is told to. ROOT cannot read baskets that record where their entries stood.
    pub fn cutter(&self, encoding: BasketEncoding) -> Cutter {
        Cutter::new(usize::MAX, self.key.len(), self.offset_len, encoding == BasketEncoding::Stripe)
    }

    /// The record of an uncompressed basket with the key of this form, and its entries.
    ///
    /// # Errors
    /// Those of [`BasketRecord::finish`].
    pub fn finish(&self, record: BasketRecord) -> Result<(Bytes, Entries)> {
        record.finish(&self.key, self.offset_len, &self.references)
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
            return Err(Error::corrupt("a basket was not made for its stripe"));
        };
        let record = self.key.record(&fields, &ready.payload, ready.object_len)?.into();
        Ok(CutBasket { record, statistics: stripe.statistics })
    }
}

impl StripeCutter {
    /// A cutter for stripes of this many entries.
    pub fn new(form: &BasketForm, stripe: u64, encoding: BasketEncoding) -> StripeCutter {
        StripeCutter {
            stripe: usize::try_from(stripe.max(1)).unwrap_or(usize::MAX),
            open: 0,
            cutter: form.cutter(encoding),
            summary: Summary::new(form.values),
            ready: Vec::new(),
        }
    }

    /// Adds some entries of a basket; returns the stripes that are now complete.
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

    /// Finishes the open stripe, and returns it.
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
