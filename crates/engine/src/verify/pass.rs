//! One pass over a file: windows of bytes in its order, and all that lies in them checked by all threads.

use super::attempts::{Attempt, Found, Group};
use super::basket::{StoredBasket, Verdict};
use super::checked_tree::CheckedTree;
use super::counts::{CountBasket, CountBaskets, Held, baskets_of, counted_by, range_of};
use super::index::{Index, Item, What};
use super::jobs::{WINDOW, places, windows};
use super::options::{Progress, VerifyOptions};
use super::record;
use super::report::{Finding, Place};
use super::walk::{Met, Walk};
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

/// Things that share their places may have so many times the bytes of the file.
const MOST_SHARED: u64 = 16;

/// Who is told how far it is, and who may end it.
pub(super) struct Watch<'a, 'p, 'c> {
    pub(super) total: u64,
    pub(super) done: u64,
    pub(super) progress: &'a mut (dyn FnMut(Progress) + 'p),
    pub(super) call: &'a mut Call<'c>,
}

/// A record that is to be checked.
struct Work {
    offset: u64,
    bytes: Bytes,
    /// Places in the items; none if nothing refers to it.
    items: Range<usize>,
    /// For each item that needs them, its place and the baskets that count.
    counts: Vec<(usize, CountBaskets)>,
}

/// What was found in a record.
#[derive(Default)]
struct Checked {
    findings: Vec<Finding>,
    lost: Vec<(u32, u32, Range<u64>)>,
    verdicts: Vec<Attempt>,
    checksummed: u64,
}

/// What is checked, and how.
pub(super) struct Pass<'a> {
    pub(super) index: &'a Index,
    pub(super) items: &'a [Item],
    pub(super) fetcher: Fetcher,
    /// Size of the file that is read.
    pub(super) size: u64,
    pub(super) options: &'a VerifyOptions,
}

impl Pass<'_> {
    /// Reads all of the file, and checks every record from `begin` to `end`.
    pub(super) fn whole(
        &self,
        begin: u64,
        end: u64,
        found: &mut Found,
        watch: &mut Watch<'_, '_, '_>,
    ) -> Result<()> {
        let mut walk = Walk::new(self.items, &self.index.free, begin, end.min(self.size));
        let jobs = windows(self.size, &self.index.known);
        let mut held = Held::new(self.index);
        let mut overlapped = Vec::new();
        let mut ahead = self.ahead(jobs)?;
        while let Some(answer) = ahead.next(&mut self.options.step(watch.call)) {
            let (pieces, bytes): (Vec<ByteRange>, _) = answer?;
            let mut met = Vec::new();
            for (piece, bytes) in pieces.iter().zip(&bytes) {
                walk.feed(piece.start, bytes, &mut met);
                found.checked_bytes += piece.len;
                watch.done += piece.len;
            }
            overlapped.extend(self.take(met, &mut held, found, watch)?);
            watch.tell(found);
        }
        let mut met = Vec::new();
        walk.finish(&mut met);
        overlapped.extend(self.take(met, &mut held, found, watch)?);
        self.overlapped(overlapped, found, watch)
    }

    /// Reads the items only.
    pub(super) fn chosen(&self, found: &mut Found, watch: &mut Watch<'_, '_, '_>) -> Result<()> {
        let mut held = Held::new(self.index);
        let mut ahead = self.ahead(places(self.items))?;
        while let Some(answer) = ahead.next(&mut self.options.step(watch.call)) {
            let (groups, records) = answer?;
            let mut met = Vec::new();
            for (items, bytes) in groups.into_iter().zip(records) {
                let offset = self.items.get(items.start).map_or(0, |item| item.offset);
                found.checked_bytes += bytes.len() as u64;
                watch.done += bytes.len() as u64;
                met.push(Met::Record { offset, bytes, items });
            }
            self.take(met, &mut held, found, watch)?;
            watch.tell(found);
        }
        Ok(())
    }

    fn ahead<T: Send + 'static>(&self, jobs: Vec<Job<T>>) -> Result<ReadAhead<T>> {
        let fetcher = self.fetcher.clone();
        read_ahead(jobs, move |_| fetcher.clone(), Ahead { jobs: 2, bytes: 2 * WINDOW })
    }

    /// Checks items that begin inside of others: they were not cut out of the windows, and are fetched again. What does
    /// not fit into the size of the file twice is left: a file that has so many of them is no file.
    fn overlapped(&self, items: Vec<usize>, found: &mut Found, watch: &mut Watch<'_, '_, '_>) -> Result<()> {
        let mut left = self.size;
        let mut held = Held::new(self.index);
        for place in items {
            let Some(item) = self.items.get(place) else { continue };
            let range = ByteRange { start: item.offset, len: item.len };
            let Some(rest) = left.checked_sub(range.len) else {
                let error = Error::corrupt("it overlaps the record before it, and so do too many others");
                found.findings.add(Finding::damage(Some(range), self.place(item), &error));
                self.lose(item, &mut found.lost);
                continue;
            };
            left = rest;
            let bytes = self.fetch(&[range], watch)?.pop().unwrap_or_default();
            let note = Finding::note(Some(range), self.place(item), "it begins inside of another record");
            found.findings.add(note);
            let met = vec![Met::Record { offset: range.start, bytes, items: place..place + 1 }];
            self.take(met, &mut held, found, watch)?;
        }
        Ok(())
    }

    fn fetch(&self, ranges: &[ByteRange], watch: &mut Watch<'_, '_, '_>) -> Result<Vec<Bytes>> {
        let mut call = self.options.step(watch.call);
        let fetch = self.fetcher.fetch(ranges, call.deadline());
        wait(fetch, &mut call)
    }

    /// Checks what the walk met; answers the items that it passed over.
    fn take(
        &self,
        met: Vec<Met>,
        held: &mut Held,
        found: &mut Found,
        watch: &mut Watch<'_, '_, '_>,
    ) -> Result<Vec<usize>> {
        let (mut work, mut overlapped) = (Vec::new(), Vec::new());
        for met in met {
            match met {
                Met::Record { offset, bytes, items } => {
                    work.push(Work { offset, bytes, items, counts: Vec::new() });
                }
                Met::Hole(range) => {
                    let message = format!("{} bytes are neither a record nor free", range.len);
                    found.findings.add(self.stray(range, message));
                }
                Met::Overlapped(place) => overlapped.push(place),
            }
        }
        if !held.is_idle() {
            self.add_counts(&mut work, held, watch)?;
        }
        let counters = self.fetcher.counters();
        let pool = computing(self.options.threads)?;
        let checked: Vec<Checked> = compute(&pool, watch.call, |cancelled| {
            let one = |work: &Work| match cancelled.load(Ordering::Relaxed) {
                true => Err(Call::interrupted()),
                false => Ok(self.check(work, counters)),
            };
            work.par_iter().map(one).collect()
        })?;
        for (work, checked) in work.iter().zip(checked) {
            let items = self.items.get(work.items.clone()).unwrap_or_default();
            found.records += 1;
            found.baskets += u64::from(items.iter().any(|item| matches!(item.what, What::Basket { .. })));
            self.add(checked, found);
        }
        Ok(overlapped)
    }

    fn add(&self, checked: Checked, found: &mut Found) {
        found.checksummed_bytes += checked.checksummed;
        checked.findings.into_iter().for_each(|finding| found.findings.add(finding));
        found.lost.extend(checked.lost);
        for attempt in checked.verdicts {
            let group = self.group(&attempt.item);
            found.attempts.add(group, attempt);
        }
    }

    /// What is of the same type as an item: the baskets of a branch, the objects of a class.
    fn group(&self, item: &Item) -> Group {
        match item.what {
            What::Basket { tree, branch, .. } => Group::Branch(tree, branch),
            What::Object(number) => {
                let entry = self.index.entries.get(number as usize);
                Group::Class(entry.map(|entry| entry.key.class_name.clone()).unwrap_or_default())
            }
            What::Bookkeeping(_) | What::KeyList(_) => Group::Class(String::new()),
        }
    }

    /// Judges what could not be decoded. Where others of the same type could be, it is damage, unless a checksum covers
    /// it; else it is a class that streams itself, as far as anybody can tell.
    pub(super) fn settle(&self, found: &mut Found) {
        for (group, attempts) in std::mem::take(&mut found.attempts).failed() {
            let mut noted = false;
            for Attempt { item, covered, error } in attempts.failed {
                let Some(error) = error else { continue };
                let range = Some(ByteRange { start: item.offset, len: item.len });
                let mut place = self.place(&item);
                if attempts.decoded && !covered && error.kind() != ErrorKind::Unsupported {
                    let mut finding = Finding::damage(range, place, &error);
                    finding.entries = self.lose(&item, &mut found.lost);
                    found.findings.add(finding);
                } else if error.kind() == ErrorKind::Unsupported && matches!(group, Group::Class(_)) {
                    found.not_decoded.push((place.path, error.message().to_owned()));
                } else if !noted || matches!(group, Group::Class(_)) {
                    noted = true;
                    place.basket = None;
                    let message = format!("it cannot be decoded: {}", error.message());
                    found.findings.add(Finding::note(range, place, message));
                }
            }
        }
    }

    /// Checks one record, as each thing that lies there.
    fn check(&self, work: &Work, counters: &Counters) -> Checked {
        let mut checked =
            Checked { checksummed: record::checksummed(work.offset, &work.bytes), ..Checked::default() };
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
            let verdict = self.check_item(item, &bytes, counts, counters);
            self.judge(item, verdict, record::is_covered(item.offset, &bytes), &mut checked);
        }
        checked
    }

    /// Makes a finding of damage; what was decoded, and what could not be, is judged when all is known.
    fn judge(&self, item: &Item, verdict: Verdict, covered: bool, checked: &mut Checked) {
        let error = match verdict {
            Verdict::Opaque => return,
            Verdict::Decoded => None,
            Verdict::Undecodable(error) => Some(error),
            Verdict::Damaged(error) => {
                let range = ByteRange { start: item.offset, len: item.len };
                let mut finding = Finding::damage(Some(range), self.place(item), &error);
                finding.entries = self.lose(item, &mut checked.lost);
                return checked.findings.push(finding);
            }
        };
        checked.verdicts.push(Attempt { item: *item, covered, error });
    }

    fn check_item(
        &self,
        item: &Item,
        bytes: &Bytes,
        counts: Option<&CountBaskets>,
        counters: &Counters,
    ) -> Verdict {
        match item.what {
            // Their content was looked at when the index was made.
            What::Bookkeeping(_) | What::KeyList(_) => {
                Key::parse_at(bytes, item.offset).map_or_else(Verdict::Damaged, |_| Verdict::Opaque)
            }
            What::Object(number) => {
                let Some(entry) = self.index.entries.get(number as usize) else { return Verdict::Opaque };
                let is_tree = self.index.tree_records.contains(&entry.key.offset);
                record::object(entry, bytes, self.index.compiler.as_ref(), !is_tree)
            }
            What::Basket { tree, branch, basket } => {
                let (branch, basket) = (branch as usize, basket as usize);
                let Some(tree) = self.index.trees.get(tree as usize) else { return Verdict::Opaque };
                let Some(found) = tree.basket(branch, basket) else { return Verdict::Opaque };
                StoredBasket { tree, branch, basket: found, bytes, counts }.check(counters)
            }
        }
    }

    /// Checks baskets that lie in the records of trees.
    pub(super) fn embedded(&self, found: &mut Found, watch: &mut Watch<'_, '_, '_>) -> Result<()> {
        let counters = self.fetcher.counters();
        for (number, tree) in (0..).zip(&self.index.trees) {
            for (branch, listed) in tree.tree.branches().iter().enumerate() {
                for (place, basket) in listed.baskets.iter().enumerate() {
                    let Some(bytes) = &basket.embedded else { continue };
                    watch.call.check()?;
                    found.baskets += 1;
                    let counts = self.counts(tree, branch, basket, &|_| None, watch)?;
                    let stored = StoredBasket { tree, branch, basket, bytes, counts: counts.as_ref() };
                    let [branch, place] = [branch, place].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
                    let what = What::Basket { tree: number, branch, basket: place };
                    let item = Item { offset: tree.tree.record_offset(), len: 0, what };
                    let mut checked = Checked::default();
                    self.judge(&item, stored.check(counters), false, &mut checked);
                    self.add(checked, found);
                }
            }
        }
        Ok(())
    }

    /// Finds the baskets that count the items of others: among those that come together, those that passed, or in the
    /// file.
    fn add_counts(&self, work: &mut [Work], held: &mut Held, watch: &mut Watch<'_, '_, '_>) -> Result<()> {
        let baskets = |one: &Work| {
            let items = self.items.get(one.items.clone()).unwrap_or_default().iter();
            let baskets = items.zip(one.items.clone()).filter_map(|(item, place)| match item.what {
                What::Basket { tree, branch, basket } => {
                    let checked = self.index.trees.get(tree as usize)?;
                    let found = checked.basket(branch as usize, basket as usize)?;
                    Some((place, (tree, branch, basket), checked, found))
                }
                _ => None,
            });
            baskets.collect::<Vec<_>>()
        };
        // Those that pass now are held while all of them are looked at, however many they are.
        let mut known: HashMap<u64, Arc<CountBasket>> = HashMap::new();
        for one in work.iter() {
            for (_, (tree, branch, number), _, found) in baskets(one) {
                if held.is_wanted(tree, branch) {
                    held.hold(found, number as usize, &one.bytes);
                    known.extend(held.get(found.offset).map(|basket| (found.offset, Arc::clone(basket))));
                }
            }
        }
        for one in work {
            for (place, (_, branch, _), tree, found) in baskets(one) {
                let at_hand = |offset: u64| known.get(&offset).or_else(|| held.get(offset)).cloned();
                let counts = self.counts(tree, branch as usize, found, &at_hand, watch)?;
                one.counts.extend(counts.map(|counts| (place, counts)));
            }
        }
        Ok(())
    }

    /// The baskets that count the items of another: those at hand, and others as well if it cannot be read without them.
    fn counts(
        &self,
        tree: &CheckedTree,
        branch: usize,
        basket: &BasketRef,
        at_hand: &dyn Fn(u64) -> Option<Arc<CountBasket>>,
        watch: &mut Watch<'_, '_, '_>,
    ) -> Result<Option<CountBaskets>> {
        let Some((count, needed)) = counted_by(tree, branch) else { return Ok(None) };
        let mut baskets = Vec::new();
        for (number, other) in baskets_of(tree, count, &(basket.first_entry..basket.end())) {
            if let Some(bytes) = &other.embedded {
                baskets.push(Arc::new(CountBasket::new(number, bytes.clone())));
            } else if let Some(held) = at_hand(other.offset) {
                baskets.push(held);
            } else if needed && range_of(other).end() <= self.size {
                let bytes = self.fetch(&[range_of(other)], watch)?.pop();
                baskets.extend(bytes.map(|bytes| Arc::new(CountBasket::new(number, bytes))));
            }
        }
        Ok(Some(CountBaskets { branch: count, baskets, needed }))
    }

    /// What is wrong where nothing is known to lie: that costs something only if the index is not all there is.
    fn stray(&self, range: ByteRange, message: String) -> Finding {
        if self.index.is_complete {
            return Finding::note(Some(range), Place::default(), message);
        }
        Finding::damage(Some(range), Place::default(), &Error::corrupt(message))
    }

    /// Says that an item is lost, and which entries that costs.
    fn lose(&self, item: &Item, lost: &mut Vec<(u32, u32, Range<u64>)>) -> Option<Range<u64>> {
        let What::Basket { tree, branch, basket } = item.what else { return None };
        let basket = self.index.trees.get(tree as usize)?.basket(branch as usize, basket as usize)?;
        let entries = basket.first_entry..basket.end();
        lost.push((tree, branch, entries.clone()));
        Some(entries)
    }

    /// Items behind the end of the file are lost; answers the others. Things may share a place, as the baskets of two
    /// cycles of a tree do, but not any number of them: a hostile file could keep us busy for ever.
    pub(super) fn in_file(&self, found: &mut Found) -> Vec<Item> {
        let (inside, outside): (Vec<Item>, Vec<Item>) =
            self.items.iter().partition(|item| item.offset.saturating_add(item.len) <= self.size);
        for item in &outside {
            let error = Error::new(
                ErrorKind::Truncated,
                format!("it lies behind the end of the file, {}", self.size),
            );
            let range = ByteRange { start: item.offset, len: item.len };
            let mut finding = Finding::damage(Some(range), self.place(item), &error);
            finding.entries = self.lose(item, &mut found.lost);
            found.findings.add(finding);
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
            let message =
                format!("{} things lie where others lie, and were not checked", before - inside.len());
            found.findings.add(Finding::damage(None, Place::default(), &Error::corrupt(message)));
        }
        inside
    }

    /// Says that all items are lost, for one reason.
    pub(super) fn all_lost(&self, error: &Error, found: &mut Found) {
        let place = self.items.first().map(|item| self.place(item)).unwrap_or_default();
        found.findings.add(Finding::damage(None, Place::of(place.path), error));
        for item in self.items {
            self.lose(item, &mut found.lost);
        }
    }

    fn place(&self, item: &Item) -> Place {
        match item.what {
            What::Bookkeeping(name) => Place::of(name),
            What::KeyList(number) => {
                let path = self.index.key_lists.get(number as usize).map_or("", String::as_str);
                Place::of(format!("{path}/"))
            }
            What::Object(number) => {
                let entry = self.index.entries.get(number as usize);
                entry.map_or_else(Place::default, |entry| {
                    Place::of(format!("{};{}", entry.path, entry.key.cycle))
                })
            }
            What::Basket { tree, branch, basket } => {
                let tree = self.index.trees.get(tree as usize);
                let branch = tree.map(|tree| tree.branch_path(branch as usize).to_owned());
                Place {
                    path: tree.map(CheckedTree::name).unwrap_or_default(),
                    branch,
                    basket: Some(basket as usize),
                }
            }
        }
    }
}

impl Watch<'_, '_, '_> {
    fn tell(&mut self, found: &Found) {
        let (done, total) = (self.done.min(self.total), self.total);
        (self.progress)(Progress { done, total, damage: found.findings.damage });
    }
}
