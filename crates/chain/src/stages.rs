//! The stages that a batch passes, column by column on all threads.

use super::claim::Claim;
use super::column::Column;
use super::flat_block;
use super::lane_output::{Baskets, LaneOutput, Pack};
use super::run::{BasketEntries, Run};
use rayon::prelude::*;
use sapwood_codec::Compression;
use sapwood_core::{Call, Counters, Error, ErrorKind, Result};
use sapwood_dataset::{CutBasket, StripeCut, StripeCutter};
use sapwood_rewrite::repack::baskets::{BasketEncoding, CodecTimes, timed};
use sapwood_ttree::{BasketBytes, Entries, decode, serialized};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The stages of a chain, and the time they took.
pub(super) struct Stages<'a> {
    columns: &'a [Column],
    marks: Vec<Marks>,
    full: bool,
    pack: Pack,
    compression: Compression,
    pub(super) times: CodecTimes,
    pub(super) deserialize: AtomicU64,
    pub(super) serialize: AtomicU64,
    pub(super) entry_bytes: AtomicU64,
    pub(super) value_bytes: AtomicU64,
    /// Decoding needs counters; the chain does not use them.
    counters: Counters,
}

/// What could not be done with a column.
#[derive(Debug, Default)]
struct Marks {
    not_decoded: AtomicBool,
    not_encoded: AtomicBool,
}

impl<'a> Stages<'a> {
    pub(super) fn new(columns: &'a [Column], full: bool, pack: Pack, compression: Compression) -> Stages<'a> {
        Stages {
            columns,
            marks: columns.iter().map(|_| Marks::default()).collect(),
            full,
            pack,
            compression,
            times: CodecTimes::default(),
            deserialize: AtomicU64::default(),
            serialize: AtomicU64::default(),
            entry_bytes: AtomicU64::default(),
            value_bytes: AtomicU64::default(),
            counters: Counters::default(),
        }
    }

    /// The numbers of columns that have data, that were deserialized, and that were serialized.
    pub(super) fn columns_done(&self) -> (u64, u64, u64) {
        let all = || self.columns.iter().zip(&self.marks).filter(|(column, _)| column.has_data);
        let decoded = || {
            all().filter(|(column, marks)| {
                column.interpretation.is_some() && !marks.not_decoded.load(Ordering::Relaxed)
            })
        };
        let encoded = decoded().filter(|(_, marks)| self.full && !marks.not_encoded.load(Ordering::Relaxed));
        (all().count() as u64, decoded().count() as u64, encoded.count() as u64)
    }

    /// Works on a batch, on the threads of the current pool.
    pub(super) fn work(&self, claim: &Claim, stop: &AtomicBool) -> Result<LaneOutput> {
        let one = |place: usize| {
            if stop.load(Ordering::Relaxed) {
                return Err(Call::interrupted());
            }
            let column = self.columns.get(place).ok_or_else(|| Error::corrupt("a column is missing"))?;
            let runs = self.runs(place, column, claim).map_err(|error| error.branch(&column.path))?;
            Ok((column, runs))
        };
        timed(&self.times.decompress, || claim.open())?;
        let places = (0..self.columns.len()).into_par_iter();
        match (&self.pack, self.full) {
            (_, false) => {
                places.try_for_each(|place| one(place).map(drop))?;
                Ok(LaneOutput::Nothing)
            }
            (Pack::Baskets { stripes, events, encoding }, true) => {
                let baskets = places.map(|place| {
                    let (column, runs) = one(place)?;
                    let stripe = stripes.get(place).copied().unwrap_or(u64::MAX);
                    self.baskets(column, &runs, stripe, *encoding).map_err(|error| error.branch(&column.path))
                });
                let columns = baskets.collect::<Result<_>>()?;
                let values = || events.as_ref().map(|events| events.values(claim, &self.counters));
                let events = timed(&self.deserialize, || values().transpose())?;
                Ok(LaneOutput::Baskets(Baskets { columns, events }))
            }
            (Pack::Flat, true) => {
                let runs =
                    places.map(|place| one(place).map(|(_, runs)| runs)).collect::<Result<Vec<_>>>()?;
                let events =
                    timed(&self.serialize, || flat_block::events(self.columns, &runs, claim.entries))?;
                let block = timed(&self.times.compress, || flat_block::pack(events, self.compression))?;
                Ok(LaneOutput::Block(block))
            }
        }
    }

    /// The entries of a column, as they are passed on.
    fn runs(&self, place: usize, column: &Column, claim: &Claim) -> Result<Vec<Run>> {
        let marks = self.marks.get(place).ok_or_else(|| Error::corrupt("a column is missing"))?;
        let pieces = timed(&self.times.decompress, || claim.pieces(place))?;
        let runs = pieces.into_iter().map(|piece| {
            let bytes = piece.plain.entries.range(piece.range.clone()).len();
            self.entry_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
            let serialized = self.through_values(column, &piece, marks)?;
            Ok(Run { piece, serialized })
        });
        runs.collect()
    }

    /// Deserializes entries and, in the full chain, serializes them again. None if they are passed on unchanged.
    fn through_values(
        &self,
        column: &Column,
        piece: &BasketEntries,
        marks: &Marks,
    ) -> Result<Option<Entries>> {
        let Some(interpretation) = &column.interpretation else { return Ok(None) };
        let (plain, range) = (&piece.plain, &piece.range);
        let first = plain.basket.first_entry;
        let baskets = [BasketBytes { basket: &plain.basket, bytes: plain.record.clone() }];
        let wanted = first + range.start as u64..first + range.end as u64;
        let decoded =
            timed(&self.deserialize, || decode(interpretation, &baskets, wanted, None, None, &self.counters));
        let values = match decoded {
            Ok(values) => values,
            // Objects that do not match their class are passed on as well.
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                marks.not_decoded.store(true, Ordering::Relaxed);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        self.value_bytes.fetch_add(values.byte_count() as u64, Ordering::Relaxed);
        if !self.full {
            return Ok(None);
        }
        let made = timed(&self.serialize, || {
            let like = [(&plain.entries, range.clone())];
            let made = serialized(&interpretation.layout, &values, &like)?;
            let mut pairs = (0..made.len()).zip(range.clone());
            let same = pairs.all(|(new, old)| made.entry(new) == plain.entries.entry(old));
            (same && made.len() == range.len()).then_some(made)
        });
        if made.is_none() {
            marks.not_encoded.store(true, Ordering::Relaxed);
        }
        Ok(made)
    }

    /// The baskets of a column, one for each stripe of `stripe` entries.
    fn baskets(
        &self,
        column: &Column,
        runs: &[Run],
        stripe: u64,
        encoding: BasketEncoding,
    ) -> Result<Vec<CutBasket>> {
        let stripes = timed(&self.serialize, || cut(column, runs, stripe, encoding))?.into_iter();
        stripes.map(|stripe| column.form.basket(stripe, self.compression, encoding, &self.times)).collect()
    }
}

fn cut(column: &Column, runs: &[Run], stripe: u64, encoding: BasketEncoding) -> Result<Vec<StripeCut>> {
    let (mut cutter, mut stripes) = (StripeCutter::new(&column.form, stripe, encoding), Vec::new());
    for (entries, range) in runs.iter().map(Run::entries) {
        stripes.extend(cutter.add(entries, range)?);
    }
    stripes.extend(cutter.finish()?);
    Ok(stripes)
}
