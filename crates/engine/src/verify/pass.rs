//! One pass over a file: fetches windows of bytes in file order, and checks their records on all threads.

use super::attempts::{DecodeAttempt, ItemGroup, LostEntries, LostItem, VerifyTally};
use super::basket::{StoredBasket, Verdict};
use super::checked_ntuple::CheckedNtuple;
use super::checked_tree::CheckedTree;
use super::counts::{CountBasket, CountBasketCache, CountBaskets, baskets_of, counted_by, range_of};
use super::index::{FileIndex, IndexItem, ItemKind};
use super::jobs::{WINDOW, records, windows};
use super::options::VerifyOptions;
use super::progress::ProgressWatch;
use super::record;
use super::report::{FindingLocation, VerifyFinding};
use super::walk::{Walk, WalkEvent};
use bytes::Bytes;
use rayon::prelude::*;
use sapwood_core::{ByteRange, Call, Counters, Error, ErrorKind, Result};
use sapwood_fetch::{Ahead, Fetcher, Job, ReadAhead};
use sapwood_table::pool::{compute, computing, read_ahead, wait};
use sapwood_tfile::Key;
use sapwood_ttree::BasketRef;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Items at shared offsets may have at most this many times the bytes of the file.
const MOST_SHARED: u64 = 16;

/// A record to check.
struct RecordCheck {
    offset: u64,
    bytes: Bytes,
    /// Indices of its items; empty if nothing refers to it.
    items: Range<usize>,
    /// For each item that needs them, its index and the baskets of its count branch.
    counts: Vec<(usize, CountBaskets)>,
}

/// The result of checking a record.
#[derive(Default)]
struct RecordResult {
    findings: Vec<VerifyFinding>,
    lost: Vec<LostEntries>,
    attempts: Vec<DecodeAttempt>,
    checksummed: u64,
}

/// The items to check, and how to read them.
pub(super) struct Pass<'a> {
    pub(super) index: &'a FileIndex,
    pub(super) items: &'a [IndexItem],
    pub(super) fetcher: Fetcher,
    /// Size of the file that is read.
    pub(super) size: u64,
    pub(super) options: &'a VerifyOptions,
}

impl Pass<'_> {
    /// Reads the whole file, and checks every record from `begin` to `end`.
    pub(super) fn whole(
        &self,
        begin: u64,
        end: u64,
        tally: &mut VerifyTally,
        watch: &mut ProgressWatch<'_, '_, '_>,
    ) -> Result<()> {
        let mut walk = Walk::new(self.items, &self.index.free, begin, end.min(self.size));
        let jobs = windows(self.size, &self.index.known);
        let mut cache = CountBasketCache::new(self.index);
        let mut overlapped = Vec::new();
        let mut ahead = self.ahead(jobs)?;
        while let Some(answer) = ahead.next(&mut self.options.step(watch.call)) {
            let (pieces, bytes): (Vec<ByteRange>, _) = answer?;
            let mut met = Vec::new();
            for (piece, bytes) in pieces.iter().zip(&bytes) {
                walk.feed(piece.start, bytes, &mut met);
                tally.checked_bytes += piece.len;
                watch.done += piece.len;
            }
            overlapped.extend(self.take(met, &mut cache, tally, watch)?);
            watch.report(tally);
        }
        let mut met = Vec::new();
        walk.finish(&mut met);
        overlapped.extend(self.take(met, &mut cache, tally, watch)?);
        self.overlapped(overlapped, tally, watch)
    }

    /// Reads only the items.
    pub(super) fn chosen(
        &self,
        tally: &mut VerifyTally,
        watch: &mut ProgressWatch<'_, '_, '_>,
    ) -> Result<()> {
        let mut cache = CountBasketCache::new(self.index);
        let mut ahead = self.ahead(records(self.items))?;
        while let Some(answer) = ahead.next(&mut self.options.step(watch.call)) {
            let (groups, records) = answer?;
            let mut met = Vec::new();
            for (items, bytes) in groups.into_iter().zip(records) {
                let offset = self.items.get(items.start).map_or(0, |item| item.offset);
                tally.checked_bytes += bytes.len() as u64;
                watch.done += bytes.len() as u64;
                met.push(WalkEvent::Record { offset, bytes, items });
            }
            self.take(met, &mut cache, tally, watch)?;
            watch.report(tally);
        }
        Ok(())
    }

    fn ahead<T: Send + 'static>(&self, jobs: Vec<Job<T>>) -> Result<ReadAhead<T>> {
        let fetcher = self.fetcher.clone();
        read_ahead(jobs, move |_| fetcher.clone(), Ahead { jobs: 2, bytes: 2 * WINDOW })
    }

    /// Checks items that begin inside others. They were not part of a window's records, so they are fetched again, up to
    /// the size of the file: no sound file has more of them.
    fn overlapped(
        &self,
        items: Vec<usize>,
        tally: &mut VerifyTally,
        watch: &mut ProgressWatch<'_, '_, '_>,
    ) -> Result<()> {
        let mut left = self.size;
        let mut cache = CountBasketCache::new(self.index);
        for place in items {
            let Some(item) = self.items.get(place) else { continue };
            let range = ByteRange { start: item.offset, len: item.len };
            let Some(rest) = left.checked_sub(range.len) else {
                let error = Error::corrupt("it overlaps the record before it, and so do too many others");
                tally.findings.add(VerifyFinding::damage(Some(range), self.location(item), &error));
                self.lose(item, &mut tally.lost);
                continue;
            };
            left = rest;
            let bytes = self.fetch(&[range], watch)?.pop().unwrap_or_default();
            let note =
                VerifyFinding::note(Some(range), self.location(item), "it begins inside of another record");
            tally.findings.add(note);
            let met = vec![WalkEvent::Record { offset: range.start, bytes, items: place..place + 1 }];
            self.take(met, &mut cache, tally, watch)?;
        }
        Ok(())
    }

    fn fetch(&self, ranges: &[ByteRange], watch: &mut ProgressWatch<'_, '_, '_>) -> Result<Vec<Bytes>> {
        let mut call = self.options.step(watch.call);
        let fetch = self.fetcher.fetch(ranges, call.deadline());
        wait(fetch, &mut call)
    }

    /// Checks what the walk met; returns the items that it passed over.
    fn take(
        &self,
        met: Vec<WalkEvent>,
        cache: &mut CountBasketCache,
        tally: &mut VerifyTally,
        watch: &mut ProgressWatch<'_, '_, '_>,
    ) -> Result<Vec<usize>> {
        let (mut work, mut overlapped) = (Vec::new(), Vec::new());
        for met in met {
            match met {
                WalkEvent::Record { offset, bytes, items } => {
                    work.push(RecordCheck { offset, bytes, items, counts: Vec::new() });
                }
                WalkEvent::Hole(range) => {
                    let message = format!("{} bytes are neither a record nor free", range.len);
                    tally.findings.add(self.stray(range, message));
                }
                WalkEvent::Overlapped(place) => overlapped.push(place),
            }
        }
        if !cache.is_idle() {
            self.add_counts(&mut work, cache, watch)?;
        }
        let counters = self.fetcher.counters();
        let pool = computing(self.options.threads)?;
        let checked: Vec<RecordResult> = compute(&pool, watch.call, |cancelled| {
            let one = |work: &RecordCheck| match cancelled.load(Ordering::Relaxed) {
                true => Err(Call::interrupted()),
                false => Ok(self.check(work, counters)),
            };
            work.par_iter().map(one).collect()
        })?;
        for (work, checked) in work.iter().zip(checked) {
            let items = self.items.get(work.items.clone()).unwrap_or_default();
            tally.records += 1;
            let is_chunk =
                |item: &IndexItem| matches!(item.kind, ItemKind::Basket { .. } | ItemKind::Page { .. });
            tally.baskets += u64::from(items.iter().any(is_chunk));
            self.add(checked, tally);
        }
        Ok(overlapped)
    }

    fn add(&self, checked: RecordResult, tally: &mut VerifyTally) {
        tally.checksummed_bytes += checked.checksummed;
        checked.findings.into_iter().for_each(|finding| tally.findings.add(finding));
        tally.lost.extend(checked.lost);
        for attempt in checked.attempts {
            let group = self.group(&attempt.item);
            tally.attempts.add(group, attempt);
        }
    }

    /// The group of an item: the baskets of its branch, or the objects of its class.
    fn group(&self, item: &IndexItem) -> ItemGroup {
        match item.kind {
            ItemKind::Basket { tree, branch, .. } => ItemGroup::Branch(tree, branch),
            ItemKind::Object(number) => {
                let entry = self.index.entries.get(number as usize);
                ItemGroup::Class(entry.map(|entry| entry.key.class_name.clone()).unwrap_or_default())
            }
            ItemKind::Bookkeeping(_) | ItemKind::KeyList(_) | ItemKind::Page { .. } => {
                ItemGroup::Class(String::new())
            }
        }
    }

    /// Judges items that could not be decoded. If others of the group could be, and no checksum covers the item, it is
    /// damaged. Otherwise its class probably streams itself.
    pub(super) fn settle(&self, tally: &mut VerifyTally) {
        for (group, attempts) in std::mem::take(&mut tally.attempts).failed() {
            let mut noted = false;
            for DecodeAttempt { item, covered, error } in attempts.failed {
                let Some(error) = error else { continue };
                let range = Some(ByteRange { start: item.offset, len: item.len });
                let mut location = self.location(&item);
                if attempts.decoded && !covered && error.kind() != ErrorKind::Unsupported {
                    let mut finding = VerifyFinding::damage(range, location, &error);
                    finding.entries = self.lose(&item, &mut tally.lost);
                    tally.findings.add(finding);
                } else if error.kind() == ErrorKind::Unsupported && matches!(group, ItemGroup::Class(_)) {
                    tally.not_decoded.push((location.path, error.message().to_owned()));
                } else if !noted || matches!(group, ItemGroup::Class(_)) {
                    noted = true;
                    location.basket = None;
                    let message = format!("it cannot be decoded: {}", error.message());
                    tally.findings.add(VerifyFinding::note(range, location, message));
                }
            }
        }
    }

    /// Checks one record, as each of the items at its offset.
    fn check(&self, work: &RecordCheck, counters: &Counters) -> RecordResult {
        let mut checked = RecordResult {
            checksummed: record::checksummed(work.offset, &work.bytes),
            ..RecordResult::default()
        };
        let range = ByteRange { start: work.offset, len: work.bytes.len() as u64 };
        if work.items.is_empty()
            && let Err(error) = record::unowned(work.offset, &work.bytes)
        {
            let message = format!("{}; nothing refers to this record", error.message());
            checked.findings.push(self.stray(range, message));
        }
        for place in work.items.clone() {
            let Some(item) = self.items.get(place) else { continue };
            let len = usize::try_from(item.len).unwrap_or(usize::MAX).min(work.bytes.len());
            let bytes = work.bytes.slice(..len);
            let counts = work.counts.iter().find(|(other, _)| *other == place).map(|(_, counts)| counts);
            if let ItemKind::Page { ntuple, page } = item.kind {
                let Some(ntuple) = self.index.ntuples.get(ntuple as usize) else { continue };
                let (result, covered) = ntuple.check(page, &bytes);
                checked.checksummed += covered;
                let verdict = result.map_or_else(Verdict::Damaged, |()| Verdict::Opaque);
                self.judge(item, verdict, covered > 0, &mut checked);
                continue;
            }
            let verdict = self.check_item(item, &bytes, counts, counters);
            self.judge(item, verdict, record::is_covered(item.offset, &bytes), &mut checked);
        }
        checked
    }

    /// Makes a finding of damage. Whether the item could be decoded is judged when the whole group is known.
    fn judge(&self, item: &IndexItem, verdict: Verdict, covered: bool, checked: &mut RecordResult) {
        let error = match verdict {
            Verdict::Opaque => return,
            Verdict::Decoded => None,
            Verdict::Undecodable(error) => Some(error),
            Verdict::Damaged(error) => {
                let range = ByteRange { start: item.offset, len: item.len };
                let mut finding = VerifyFinding::damage(Some(range), self.location(item), &error);
                finding.entries = self.lose(item, &mut checked.lost);
                return checked.findings.push(finding);
            }
        };
        checked.attempts.push(DecodeAttempt { item: *item, covered, error });
    }

    fn check_item(
        &self,
        item: &IndexItem,
        bytes: &Bytes,
        counts: Option<&CountBaskets>,
        counters: &Counters,
    ) -> Verdict {
        match item.kind {
            // Their content was checked when the index was made.
            ItemKind::Page { .. } => Verdict::Opaque,
            ItemKind::Bookkeeping(_) | ItemKind::KeyList(_) => {
                Key::parse_at(bytes, item.offset).map_or_else(Verdict::Damaged, |_| Verdict::Opaque)
            }
            ItemKind::Object(number) => {
                let Some(entry) = self.index.entries.get(number as usize) else { return Verdict::Opaque };
                let is_tree = self.index.tree_records.contains(&entry.key.offset);
                record::object(entry, bytes, self.index.compiler.as_ref(), !is_tree)
            }
            ItemKind::Basket { tree, branch, basket } => {
                let (branch, basket) = (branch as usize, basket as usize);
                let Some(tree) = self.index.trees.get(tree as usize) else { return Verdict::Opaque };
                let Some(found) = tree.basket(branch, basket) else { return Verdict::Opaque };
                StoredBasket { tree, branch, basket: found, bytes, counts }.check(counters)
            }
        }
    }

    /// Checks baskets inside the records of trees.
    pub(super) fn embedded(
        &self,
        tally: &mut VerifyTally,
        watch: &mut ProgressWatch<'_, '_, '_>,
    ) -> Result<()> {
        let counters = self.fetcher.counters();
        for (number, tree) in (0..).zip(&self.index.trees) {
            for (branch, listed) in tree.table.branches().iter().enumerate() {
                for (place, basket) in listed.baskets.iter().enumerate() {
                    let Some(bytes) = &basket.embedded else { continue };
                    watch.call.check()?;
                    tally.baskets += 1;
                    let counts = self.counts(tree, branch, basket, &|_| None, watch)?;
                    let stored = StoredBasket { tree, branch, basket, bytes, counts: counts.as_ref() };
                    let [branch, place] = [branch, place].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
                    let kind = ItemKind::Basket { tree: number, branch, basket: place };
                    let item = IndexItem { offset: tree.record, len: 0, kind };
                    let mut checked = RecordResult::default();
                    self.judge(&item, stored.check(counters), false, &mut checked);
                    self.add(checked, tally);
                }
            }
        }
        Ok(())
    }

    /// Finds the baskets of count branches: in the same window, among the earlier ones, or in the file.
    fn add_counts(
        &self,
        work: &mut [RecordCheck],
        cache: &mut CountBasketCache,
        watch: &mut ProgressWatch<'_, '_, '_>,
    ) -> Result<()> {
        let baskets = |one: &RecordCheck| {
            let items = self.items.get(one.items.clone()).unwrap_or_default().iter();
            let baskets = items.zip(one.items.clone()).filter_map(|(item, place)| match item.kind {
                ItemKind::Basket { tree, branch, basket } => {
                    let checked = self.index.trees.get(tree as usize)?;
                    let stored = checked.basket(branch as usize, basket as usize)?;
                    Some((place, (tree, branch, basket), checked, stored))
                }
                _ => None,
            });
            baskets.collect::<Vec<_>>()
        };
        // Those of this window are kept until all its records are checked, even if they exceed the cache.
        let mut known: HashMap<u64, Arc<CountBasket>> = HashMap::new();
        for one in work.iter() {
            for (_, (tree, branch, number), _, stored) in baskets(one) {
                if cache.is_wanted(tree, branch) {
                    cache.hold(stored, number as usize, &one.bytes);
                    known.extend(cache.get(stored.offset).map(|basket| (stored.offset, Arc::clone(basket))));
                }
            }
        }
        for one in work {
            for (place, (_, branch, _), tree, stored) in baskets(one) {
                let at_hand = |offset: u64| known.get(&offset).or_else(|| cache.get(offset)).cloned();
                let counts = self.counts(tree, branch as usize, stored, &at_hand, watch)?;
                one.counts.extend(counts.map(|counts| (place, counts)));
            }
        }
        Ok(())
    }

    /// The baskets that count the items of another. Those not at hand are fetched only if it cannot be read without them.
    fn counts(
        &self,
        tree: &CheckedTree,
        branch: usize,
        basket: &BasketRef,
        at_hand: &dyn Fn(u64) -> Option<Arc<CountBasket>>,
        watch: &mut ProgressWatch<'_, '_, '_>,
    ) -> Result<Option<CountBaskets>> {
        let Some((count, needed)) = counted_by(tree, branch) else { return Ok(None) };
        let mut baskets = Vec::new();
        for (number, other) in baskets_of(tree, count, &(basket.first_entry..basket.end())) {
            if let Some(bytes) = &other.embedded {
                baskets.push(Arc::new(CountBasket::new(number, bytes.clone())));
            } else if let Some(basket) = at_hand(other.offset) {
                baskets.push(basket);
            } else if needed && range_of(other).end() <= self.size {
                let bytes = self.fetch(&[range_of(other)], watch)?.pop();
                baskets.extend(bytes.map(|bytes| Arc::new(CountBasket::new(number, bytes))));
            }
        }
        Ok(Some(CountBaskets { branch: count, baskets, needed }))
    }

    /// A finding about bytes that nothing refers to. It is damage only if the index is incomplete.
    fn stray(&self, range: ByteRange, message: String) -> VerifyFinding {
        if self.index.is_complete {
            return VerifyFinding::note(Some(range), FindingLocation::default(), message);
        }
        VerifyFinding::damage(Some(range), FindingLocation::default(), &Error::corrupt(message))
    }

    /// Records that an item is lost; returns its entries.
    fn lose(&self, item: &IndexItem, lost: &mut Vec<LostEntries>) -> Option<Range<u64>> {
        match item.kind {
            ItemKind::Basket { tree, branch, basket } => {
                let basket = self.index.trees.get(tree as usize)?.basket(branch as usize, basket as usize)?;
                let entries = basket.first_entry..basket.end();
                lost.push(LostEntries { item: LostItem::Branch(tree, branch), entries: entries.clone() });
                Some(entries)
            }
            ItemKind::Page { ntuple: number, page } => {
                let uses = self.index.ntuples.get(number as usize)?.uses(page);
                lost.extend(uses.iter().map(|(field, entries)| LostEntries {
                    item: LostItem::Field(number, *field),
                    entries: entries.clone(),
                }));
                uses.first().map(|(_, entries)| entries.clone())
            }
            _ => None,
        }
    }

    /// Reports items beyond the end of the file as lost, and returns the others. Items may share an offset, as the baskets
    /// of two cycles of a tree do; their number is limited, because a hostile file could keep us busy for ever.
    pub(super) fn in_file(&self, tally: &mut VerifyTally) -> Vec<IndexItem> {
        let (inside, outside): (Vec<IndexItem>, Vec<IndexItem>) =
            self.items.iter().partition(|item| item.offset.saturating_add(item.len) <= self.size);
        for item in &outside {
            let error =
                Error::new(ErrorKind::Truncated, format!("it is beyond the end of the file, {}", self.size));
            let range = ByteRange { start: item.offset, len: item.len };
            let mut finding = VerifyFinding::damage(Some(range), self.location(item), &error);
            finding.entries = self.lose(item, &mut tally.lost);
            tally.findings.add(finding);
        }
        let (mut left, mut place, before) = (self.size.saturating_mul(MOST_SHARED), u64::MAX, inside.len());
        let mut inside = inside;
        inside.retain(|item| {
            let shared = std::mem::replace(&mut place, item.offset) == item.offset;
            let rest = left.checked_sub(if shared { item.len } else { 0 });
            left = rest.unwrap_or(left);
            rest.is_some()
        });
        if inside.len() < before {
            let message = format!(
                "{} records are at the same offsets as others, and were not checked",
                before - inside.len()
            );
            tally.findings.add(VerifyFinding::damage(
                None,
                FindingLocation::default(),
                &Error::corrupt(message),
            ));
        }
        inside
    }

    /// Says that all items are lost, for one reason.
    pub(super) fn all_lost(&self, error: &Error, tally: &mut VerifyTally) {
        let place = self.items.first().map(|item| self.location(item)).unwrap_or_default();
        tally.findings.add(VerifyFinding::damage(None, FindingLocation::of(place.path), error));
        for item in self.items {
            self.lose(item, &mut tally.lost);
        }
    }

    fn location(&self, item: &IndexItem) -> FindingLocation {
        match item.kind {
            ItemKind::Bookkeeping(name) => FindingLocation::of(name),
            ItemKind::KeyList(number) => {
                let path = self.index.key_lists.get(number as usize).map_or("", String::as_str);
                FindingLocation::of(format!("{path}/"))
            }
            ItemKind::Object(number) => {
                let entry = self.index.entries.get(number as usize);
                entry.map_or_else(FindingLocation::default, |entry| {
                    FindingLocation::of(format!("{};{}", entry.path, entry.key.cycle))
                })
            }
            ItemKind::Basket { tree, branch, basket } => {
                let tree = self.index.trees.get(tree as usize);
                let branch = tree.map(|tree| tree.branch_path(branch as usize).to_owned());
                FindingLocation {
                    path: tree.map(CheckedTree::name).unwrap_or_default(),
                    branch,
                    basket: Some(basket as usize),
                    page: None,
                }
            }
            ItemKind::Page { ntuple, page } => {
                let ntuple = self.index.ntuples.get(ntuple as usize);
                let field = ntuple.and_then(|ntuple| {
                    let (field, _) = ntuple.uses(page).first()?;
                    Some(ntuple.field(*field).to_owned())
                });
                FindingLocation {
                    path: ntuple.map(CheckedNtuple::name).unwrap_or_default(),
                    branch: field,
                    basket: None,
                    page: Some(page as usize),
                }
            }
        }
    }
}
