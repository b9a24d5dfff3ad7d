//! Cuts the entries of a tree into the baskets of stripes: batch by batch, on all threads.

use super::basket::{BasketForm, CutBasket, StripeCutter};
use bytes::Bytes;
use rayon::ThreadPool;
use rayon::prelude::*;
use sapwood_codec::Compression;
use sapwood_core::{ByteRange, Call, Error, Result};
use sapwood_fetch::{Ahead, FileIndex, Job};
use sapwood_rewrite::repack::baskets::{BasketEncoding, CodecTimes, parse_entries};
use sapwood_rewrite::repack::input::InputTree;
use sapwood_table::Table;
use sapwood_table::pool::{compute, read_ahead};
use sapwood_tfile::write::{FileStamp, pid_offset};
use sapwood_ttree::{BasketRef, Entries};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Compressed bytes to fetch ahead.
const AHEAD: u64 = 32 << 20;

/// The entries of a tree that become those of a segment.
#[derive(Debug, Clone)]
pub(crate) enum EntryOrder {
    /// Consecutive entries, from this one on.
    From(u64),
    /// For each entry of the segment, the entry of the tree.
    Each(Arc<[u64]>),
}

impl EntryOrder {
    /// The entries of the tree for some entries of the segment, as ranges.
    fn runs(&self, entries: Range<u64>) -> Vec<Range<u64>> {
        match self {
            #[expect(clippy::single_range_in_vec_init, reason = "one run of entries")]
            EntryOrder::From(first) => vec![first + entries.start..first + entries.end],
            EntryOrder::Each(all) => {
                let mut runs: Vec<Range<u64>> = Vec::new();
                let place = |entry: u64| usize::try_from(entry).unwrap_or(usize::MAX);
                for &entry in all.get(place(entries.start)..place(entries.end)).unwrap_or_default() {
                    match runs.last_mut() {
                        Some(last) if last.end == entry => last.end += 1,
                        _ => runs.push(entry..entry + 1),
                    }
                }
                runs
            }
        }
    }
}

/// A branch to cut.
#[derive(Debug)]
struct Slot {
    /// Its index in the tree.
    branch: usize,
    baskets: Vec<BasketRef>,
    /// Index of the file that holds its baskets.
    file: FileIndex,
    /// Entries of a stripe.
    stripe: u64,
    form: BasketForm,
}

/// The work of a cutter.
#[derive(Debug)]
struct Plan {
    slots: Vec<Slot>,
    order: EntryOrder,
    entries: u64,
    batch: u64,
}

/// The baskets cut from the entries of a batch.
#[derive(Debug)]
pub struct CutBatch {
    /// First entry, in the segment.
    pub first: u64,
    /// Number of entries.
    pub entries: u64,
    /// For each branch, the basket of each stripe; empty for branches without baskets.
    pub baskets: Vec<Vec<CutBasket>>,
}

/// Cuts some branches of a tree.
#[derive(Debug)]
pub(crate) struct SegmentCutter<'a> {
    input: &'a InputTree,
    plan: Arc<Plan>,
    compression: Compression,
    pool: &'a ThreadPool,
    pub times: CodecTimes,
}

impl<'a> SegmentCutter<'a> {
    /// A cutter for `branches`, each with the number of entries of its stripes, which divides `batch`. The segment has
    /// `entries` entries, taken from the tree in this order.
    ///
    /// # Errors
    /// `Unsupported` for a branch that has fewer entries than the tree.
    pub(crate) fn new(
        input: &'a InputTree,
        branches: &[(usize, u64)],
        order: EntryOrder,
        entries: u64,
        batch: u64,
        compression: Compression,
        pool: &'a ThreadPool,
    ) -> Result<SegmentCutter<'a>> {
        let mut slots = Vec::with_capacity(branches.len());
        let datime = FileStamp::now().time;
        for &(branch, stripe) in branches {
            let baskets = input.baskets(branch).to_vec();
            let (first, end) = input.extent(branch);
            if !baskets.is_empty() && (first, end) != (0, input.record().entries) {
                let message =
                    format!("the branch has only the entries {first} to {end} of {}", input.record().entries);
                return Err(Error::unsupported(message).branch(input.path(branch)).url(input.file.url()));
            }
            let file = input.table.file(branch)?;
            let form = BasketForm::of(input, branch, datime)?;
            slots.push(Slot { branch, baskets, file, stripe, form });
        }
        let plan = Arc::new(Plan { slots, order, entries, batch: batch.max(1) });
        Ok(SegmentCutter { input, plan, compression, pool, times: CodecTimes::default() })
    }

    /// Computes no statistics of the values.
    pub(crate) fn skip_statistics(&mut self) {
        let slots = Arc::get_mut(&mut self.plan).map_or(&mut [][..], |plan| &mut plan.slots);
        slots.iter_mut().for_each(|slot| slot.form.values = None);
    }

    /// Passes each batch to `each`, in order.
    pub(crate) fn run(
        &self,
        call: &mut Call<'_>,
        each: &mut dyn FnMut(CutBatch, &mut Call<'_>) -> Result<()>,
    ) -> Result<()> {
        let batches = self.plan.entries.div_ceil(self.plan.batch);
        let plan = Arc::clone(&self.plan);
        let jobs = (0..batches).map(move |batch| plan.job(batch));
        let table = Arc::clone(&self.input.table);
        let ahead = Ahead { jobs: 2, bytes: AHEAD };
        let mut reader = read_ahead(jobs, move |file| table.fetcher(file), ahead)?;
        // For each branch, the basket that was used last.
        let mut kept: Vec<LastBasket> = self.plan.slots.iter().map(|_| None).collect();
        for batch in 0..batches {
            let answer = reader.next(call).ok_or_else(|| Error::corrupt("a batch was not fetched"))?;
            let (baskets, bytes) = answer?;
            let fetched: HashMap<(usize, usize), Bytes> = baskets.into_iter().zip(bytes).collect();
            let range = self.plan.range(batch);
            let work = |cancelled: &std::sync::atomic::AtomicBool| {
                let slots = self.plan.slots.par_iter().zip(kept.par_iter_mut()).enumerate();
                let cut = slots.map(|(place, (slot, kept))| {
                    if cancelled.load(Ordering::Relaxed) {
                        return Err(Call::interrupted());
                    }
                    let bytes = |basket: usize| fetched.get(&(place, basket));
                    self.cut(slot, kept, &range, bytes).map_err(|error| {
                        error.branch(self.input.path(slot.branch)).url(self.input.file.url())
                    })
                });
                cut.collect::<Result<Vec<_>>>()
            };
            let baskets = compute(self.pool, call, work)?;
            each(CutBatch { first: range.start, entries: range.end - range.start, baskets }, call)?;
        }
        Ok(())
    }

    /// The baskets of one branch in a batch.
    fn cut<'b>(
        &self,
        slot: &Slot,
        kept: &mut LastBasket,
        range: &Range<u64>,
        bytes: impl Fn(usize) -> Option<&'b Bytes>,
    ) -> Result<Vec<CutBasket>> {
        if slot.baskets.is_empty() {
            return Ok(Vec::new());
        }
        let mut parsed: HashMap<usize, Arc<Entries>> = kept.take().into_iter().collect();
        let (mut cutter, mut baskets) =
            (StripeCutter::new(&slot.form, slot.stripe, BasketEncoding::Stripe), Vec::new());
        for run in self.plan.order.runs(range.clone()) {
            let mut entry = run.start;
            while entry < run.end {
                let basket = slot.basket_of(entry)?;
                let reference = slot.baskets.get(basket).ok_or_else(missing)?;
                let found = match parsed.get(&basket) {
                    Some(found) => Arc::clone(found),
                    None => {
                        let record =
                            reference.embedded.as_ref().or_else(|| bytes(basket)).ok_or_else(missing)?;
                        let found = Arc::new(self.parse(slot, reference, record)?);
                        parsed.insert(basket, Arc::clone(&found));
                        found
                    }
                };
                let end = (reference.first_entry + reference.entries).min(run.end);
                let places = place(entry - reference.first_entry)..place(end - reference.first_entry);
                for stripe in cutter.add(&found, places)? {
                    baskets.push(slot.form.basket(
                        stripe,
                        self.compression,
                        BasketEncoding::Stripe,
                        &self.times,
                    )?);
                }
                entry = end;
            }
        }
        for stripe in cutter.finish()? {
            baskets.push(slot.form.basket(stripe, self.compression, BasketEncoding::Stripe, &self.times)?);
        }
        let last = self.plan.needed(slot, range).last().copied();
        *kept = last.and_then(|last| parsed.remove(&last).map(|entries| (last, entries)));
        Ok(baskets)
    }

    fn parse(&self, slot: &Slot, reference: &BasketRef, record: &Bytes) -> Result<Entries> {
        if slot.form.references.are_possible() && pid_offset(record) != 0 {
            return Err(Error::unsupported(
                "the objects of a branch may refer to others by the process ids of a merged file",
            )
            .hint("use the files that it was merged from"));
        }
        parse_entries(reference, record, &slot.form.references, &self.times).map_err(|error| match reference
            .embedded
        {
            None => error.inside(reference.offset),
            Some(_) => error,
        })
    }
}

/// The parsed basket that the next batch may need again, with its index.
type LastBasket = Option<(usize, Arc<Entries>)>;

impl Slot {
    /// The basket that holds an entry of the tree.
    fn basket_of(&self, entry: u64) -> Result<usize> {
        let next = self.baskets.partition_point(|basket| basket.first_entry <= entry);
        let holds = |basket: &usize| {
            self.baskets.get(*basket).is_some_and(|found| entry - found.first_entry < found.entries)
        };
        let found = next.checked_sub(1).filter(holds);
        found.ok_or_else(|| Error::corrupt(format!("the entry {entry} is in no basket")))
    }
}

impl Plan {
    /// The entries of a batch.
    fn range(&self, batch: u64) -> Range<u64> {
        let first = batch * self.batch;
        first..first.saturating_add(self.batch).min(self.entries)
    }

    /// The baskets of a branch that hold entries of a batch, in order.
    fn needed(&self, slot: &Slot, range: &Range<u64>) -> Vec<usize> {
        let mut needed = Vec::new();
        for run in self.order.runs(range.clone()) {
            let from =
                slot.baskets.partition_point(|basket| basket.first_entry + basket.entries <= run.start);
            let to = slot.baskets.partition_point(|basket| basket.first_entry < run.end);
            needed.extend(from..to);
        }
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    /// The fetches for a batch: all baskets except those kept from the batch before.
    fn job(&self, batch: u64) -> Job<Vec<(usize, usize)>> {
        let (mut tag, mut wanted) = (Vec::new(), Vec::new());
        for (place, slot) in self.slots.iter().enumerate() {
            let before = batch.checked_sub(1).and_then(|before| self.needed(slot, &self.range(before)).pop());
            for basket in self.needed(slot, &self.range(batch)) {
                let reference = slot.baskets.get(basket).filter(|reference| reference.embedded.is_none());
                if let Some(reference) = reference.filter(|_| before != Some(basket)) {
                    tag.push((place, basket));
                    let range = ByteRange { start: reference.offset, len: reference.len };
                    wanted.push((slot.file, range));
                }
            }
        }
        Job { wanted, tag }
    }
}

fn place(entries: u64) -> usize {
    usize::try_from(entries).unwrap_or(usize::MAX)
}

fn missing() -> Error {
    Error::corrupt("a basket is missing")
}
