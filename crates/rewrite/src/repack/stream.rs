//! Moves the baskets of a tree from an input to the new file: fetches them ahead in file order, transforms them on all
//! threads, and places them cluster by cluster.

use super::baskets::{
    BasketEncoding, ClusterBorders, ClusterCutter, CodecTimes, OutputBasket, chosen_positions, copy_basket,
    encode_basket, parse_entries,
};
use super::entry_ranges::EntryRanges;
use super::input::InputTree;
use super::options::RepackReport;
use super::output::OutputFile;
use super::output_branch::OutputBranch;
use super::output_tree::OutputTree;
use super::placing::PendingBaskets;
use super::splitting::{InputObject, OutputObject};
use bytes::Bytes;
use rayon::ThreadPool;
use sapwood_core::{ByteRange, Call, Error, ErrorKind, Result};
use sapwood_fetch::{Ahead, Fetcher, Job, ReadAhead};
use sapwood_table::pool::{HEARTBEAT, compute, largest_first, read_ahead};
use sapwood_table::{Chunk, Selection, Table};
use sapwood_tfile::write::{is_wide, pid_offset};
use sapwood_ttree::{BasketRef, Entries, References};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use std::vec::IntoIter;

/// Compressed size of a batch of local baskets that are only copied.
const COPIED_BATCH: u64 = 512 << 10;
/// Compressed size of a batch of other local baskets, which all threads transform.
const BATCH: u64 = 4 << 20;
/// Compressed size of a batch of remote baskets.
const DISTANT_BATCH: u64 = 16 << 20;
/// Local baskets that all threads transform together, although they are large: with fewer, some threads would wait for
/// the last.
const BASKETS: usize = 32;
/// Such a batch has at most this many times the size of others.
const MORE: u64 = 8;
/// Below this position, narrow keys are safe: they reach 2 GiB, and the baskets of a batch stay below that.
pub(super) const NARROW_END: u64 = 1 << 30;

/// A basket to read.
#[derive(Debug)]
struct InputBasket {
    /// Index of its branch in the new tree; for an object whose split level changes, of the first of its branches.
    target: usize,
    /// The index of that object.
    object: Option<usize>,
    /// Index of its branch in the input.
    branch: usize,
    /// Index in that branch.
    basket: usize,
    /// Where it is.
    chunk: Chunk,
    /// Bytes that it takes there.
    size: u64,
    /// The cluster of its first entry in the new tree.
    cluster: u64,
    /// One past its last entry in the new tree.
    end: u64,
    /// True if an earlier run placed all entries before `end`.
    placed: bool,
}

/// The copy of one input's baskets of one tree.
pub(super) struct BasketStream<'a> {
    pub input: &'a InputTree,
    pub chosen: &'a EntryRanges,
    /// For each branch of the input, its index in the new tree.
    pub places: &'a [Option<usize>],
    /// The objects whose split level changes, as in [`OutputTree::objects`].
    pub objects: &'a [InputObject],
    pub borders: ClusterBorders,
    /// First entry of the input in the new tree.
    pub base: u64,
    pub resplit: bool,
    /// What is added to the numbers of process ids.
    pub pid_shift: u16,
    pub pool: &'a ThreadPool,
    pub times: &'a CodecTimes,
}

impl BasketStream<'_> {
    /// Moves all baskets to the new file; the open baskets of cutters stay there.
    pub(super) fn run(
        &self,
        target: &mut OutputTree,
        output: &mut OutputFile,
        report: &mut RepackReport,
        call: &mut Call<'_>,
    ) -> Result<()> {
        let parts = self.parts(target)?;
        self.pass(&parts, target);
        let mut waiting = PendingBaskets::default();
        let mut from = 0;
        while let Some(first) = parts.get(from) {
            let file = first.chunk.file;
            let left = parts.get(from..).unwrap_or_default().iter();
            let to = from + left.take_while(|part| part.chunk.file == file).count();
            let fetcher = self.input.table.fetcher(file);
            let immediate = fetcher.source().cost_model().immediate;
            // ROOT cannot read all baskets of a dataset.
            let copied = !self.resplit
                && !self.input.is_of_dataset()
                && !target.branches.iter().flatten().any(|branch| branch.recompress);
            let (most, baskets) = match (immediate, copied) {
                (false, _) => (DISTANT_BATCH, 1),
                (true, false) => (BATCH, BASKETS),
                (true, true) => (COPIED_BATCH, 1),
            };
            let jobs = jobs(&parts, from..to, most, baskets);
            let here = immediate && copied && are_dense(parts.get(from..to).unwrap_or_default());
            let mut batches = BatchReader::new(jobs, fetcher, here, most)?;
            while let Some(answer) = batches.next(&mut call.step()) {
                let (range, bytes) = answer?;
                let next = parts.get(range.end).map_or(u64::MAX, |part| part.cluster);
                let batch = parts.get(range).unwrap_or_default();
                let narrow = output.file.end() < NARROW_END;
                let ready = self.batch(batch, bytes, target, narrow, call);
                let ready = ready.map_err(|error| error.url(self.input.file.url()))?;
                waiting.add(ready, &self.borders, self.resplit);
                waiting.place(next, target, output, self.pid_shift, report)?;
                output.keep();
            }
            from = to;
        }
        waiting.place(u64::MAX, target, output, self.pid_shift, report)
    }

    /// All baskets with selected entries, by cluster, then in file order.
    fn parts(&self, tree: &OutputTree) -> Result<Vec<InputBasket>> {
        let all = 0..self.input.record().entries;
        let mut keyed = Vec::new();
        let whole =
            self.places.iter().enumerate().filter_map(|(branch, place)| Some((branch, (*place)?, None)));
        let of_objects =
            self.objects.iter().zip(&tree.objects).enumerate().flat_map(|(index, (own, object))| {
                own.with_entries().map(move |branch| (branch, object.first, Some(index)))
            });
        for (branch, target, object) in whole.chain(of_objects) {
            if self.input.is_absent(branch) {
                continue;
            }
            let chunks = self.input.table.chunks(&Selection::whole(branch), &all)?;
            let done = tree.branches.get(target).and_then(Option::as_ref).map_or(0, |branch| branch.placed);
            let mut last = 0;
            for (basket, (chunk, found)) in chunks.into_iter().zip(self.input.baskets(branch)).enumerate() {
                // A chunk has only the entries that the branch states. If baskets hold others, the copy must fail.
                let entries = found.first_entry..found.end();
                let end = self.base + self.chosen.rank(entries.end);
                let Some(first) = self.chosen.within(entries).next() else { continue };
                let cluster = self.borders.cluster(self.base + self.chosen.rank(first.start));
                // Baskets of a branch stay in the order of their entries.
                last = last.max(if chunk.is_stored() { chunk.range.start } else { u64::MAX });
                let order = if self.resplit || self.input.is_of_dataset() { cluster } else { 0 };
                let placed = end <= done;
                let (key, size) = ((order, chunk.file, last), found.size());
                keyed.push((
                    key,
                    InputBasket { target, object, branch, basket, chunk, size, cluster, end, placed },
                ));
            }
        }
        keyed.sort_by_key(|(order, _)| *order);
        Ok(keyed.into_iter().map(|(_, part)| part).collect())
    }

    /// Lets cutters skip the entries that an earlier run placed.
    fn pass(&self, parts: &[InputBasket], target: &mut OutputTree) {
        for part in parts.iter().filter(|part| part.placed) {
            let branch = target.branches.get_mut(part.target).and_then(Option::as_mut);
            if let Some(cutter) = branch.and_then(|branch| branch.cutter.as_mut()) {
                cutter.next = cutter.next.max(part.end);
            }
        }
    }

    fn basket(&self, part: &InputBasket) -> Result<&BasketRef> {
        let basket = self.input.baskets(part.branch).get(part.basket);
        let basket = basket.filter(|basket| basket.offset == part.chunk.range.start);
        basket.ok_or_else(|| Error::corrupt("a basket is missing"))
    }

    /// Transforms the baskets of a batch. Returns those that can be placed, with the indices of their branches.
    fn batch(
        &self,
        parts: &[InputBasket],
        bytes: Vec<Bytes>,
        target: &mut OutputTree,
        narrow: bool,
        call: &mut Call<'_>,
    ) -> Result<Vec<(usize, OutputBasket)>> {
        let mut fetched = bytes.into_iter();
        let mut work = Vec::with_capacity(parts.len());
        for part in parts.iter().filter(|part| !part.placed) {
            let basket = self.basket(part)?;
            let bytes = if part.chunk.is_stored() { fetched.next() } else { basket.embedded.clone() };
            work.push((part, basket, bytes.ok_or_else(|| Error::corrupt("a basket was not fetched"))?));
        }
        if self.resplit {
            return compute(self.pool, call, |cancelled| self.resplit_all(&work, target, narrow, cancelled));
        }
        let one = |(part, basket, bytes): &(&InputBasket, &BasketRef, Bytes)| {
            let kept = self.keep(part, basket, bytes, target, narrow);
            kept.map_err(|error| self.locate(error, part, basket))
        };
        let copied = |(part, basket, bytes): &(&InputBasket, &BasketRef, Bytes)| {
            let branch = target.branches.get(part.target).and_then(Option::as_ref);
            !self.input.is_of_dataset()
                && self.stays(basket, bytes, narrow)
                && branch.is_some_and(|branch| !branch.recompress)
        };
        // Without anything to compute, other threads would only add latency.
        if work.iter().all(copied) {
            return work.iter().map(one).collect();
        }
        compute(self.pool, call, |cancelled| {
            let checked = |item| match cancelled.load(Ordering::Relaxed) {
                true => Err(Call::interrupted()),
                false => one(item),
            };
            largest_first(&work, |(_, basket, _)| basket.len, checked)
        })
    }

    /// True if a basket keeps its entries, and its key.
    fn stays(&self, basket: &BasketRef, bytes: &[u8], narrow: bool) -> bool {
        let kept: u64 = chosen_positions(basket, self.chosen).map(|range| range.len() as u64).sum();
        // Narrow keys cannot state positions beyond 2 GiB, so the entries need a new key there.
        let fits = (narrow && self.pid_shift == 0) || is_wide(bytes);
        basket.embedded.is_none() && kept == basket.entries && fits
    }

    /// A basket that keeps all of its entries, or the selected ones.
    fn keep(
        &self,
        part: &InputBasket,
        basket: &BasketRef,
        bytes: &Bytes,
        target: &OutputTree,
        narrow: bool,
    ) -> Result<(usize, OutputBasket)> {
        let Some(Some(branch)) = target.branches.get(part.target) else {
            return Err(Error::corrupt("a basket belongs to no branch"));
        };
        let first = self.base + self.chosen.rank(basket.first_entry);
        // A basket of a dataset may state where its entries came from, which makes ROOT crash.
        let has_origins = self.input.is_of_dataset() && branch.references.are_possible();
        if self.stays(basket, bytes, narrow) && !has_origins {
            let (recompress, compression) = (branch.recompress, branch.compression);
            return Ok((
                part.target,
                copy_basket(basket, first, bytes, recompress, compression, self.times)?,
            ));
        }
        self.check_process_ids(bytes, branch.references.are_possible(), &branch.key.name)?;
        let entries = parse_entries(basket, bytes, &branch.references, self.times)?;
        Ok((part.target, self.single(branch, basket, &entries, first, narrow)?))
    }

    /// The selected entries of a basket, as a new basket.
    fn single(
        &self,
        branch: &OutputBranch,
        basket: &BasketRef,
        entries: &Entries,
        first: u64,
        narrow: bool,
    ) -> Result<OutputBasket> {
        // References that cannot be found stay valid only behind a key of the same length.
        let narrow = narrow && entries.immovable().is_some() && !branch.single(false).fits(entries);
        let mut cutter = ClusterCutter { cutter: branch.single(narrow), base: first, next: first };
        cutter.add(
            entries,
            chosen_positions(basket, self.chosen),
            &ClusterBorders::At(Vec::new()),
            &mut Vec::new(),
        )?;
        let cut = cutter.cutter.close()?.ok_or_else(|| Error::corrupt("a basket has no entries"))?;
        let ready = encode_basket(cut, first, branch.compression, BasketEncoding::Root, self.times)?;
        Ok(if narrow { ready.narrow() } else { ready })
    }

    /// Re-splits baskets, branch by branch.
    fn resplit_all(
        &self,
        work: &[(&InputBasket, &BasketRef, Bytes)],
        target: &mut OutputTree,
        narrow: bool,
        cancelled: &AtomicBool,
    ) -> Result<Vec<(usize, OutputBasket)>> {
        let mut converted = self.convert_all(work, target, cancelled)?;
        let mut of_branch: HashMap<usize, Vec<&(&InputBasket, &BasketRef, Bytes)>> = HashMap::new();
        for item in work.iter().filter(|(part, ..)| part.object.is_none()) {
            of_branch.entry(item.0.target).or_default().push(item);
        }
        let mut branches = Vec::with_capacity(of_branch.len());
        for (place, items) in of_branch {
            let branch = target.branches.get_mut(place).and_then(Option::take);
            let branch = branch.ok_or_else(|| Error::corrupt("a basket belongs to no branch"))?;
            branches.push((place, items, branch));
        }
        branches.sort_unstable_by_key(|(place, ..)| *place);
        let bytes = |items: &[&(_, &BasketRef, _)]| items.iter().map(|(_, basket, _)| basket.len).sum();
        let cuts: Result<Vec<Vec<_>>> = largest_first(
            &mut branches,
            |(_, items, _)| bytes(items),
            |(place, items, branch)| {
                let mut ready = Vec::new();
                for (part, basket, bytes) in items.iter() {
                    if cancelled.load(Ordering::Relaxed) {
                        return Err(Call::interrupted());
                    }
                    self.resplit_basket(branch, basket, bytes, narrow, &mut ready)
                        .map_err(|error| self.locate(error, part, basket))?;
                }
                Ok(ready.into_iter().map(|ready| (*place, ready)).collect())
            },
        );
        for (place, _, branch) in branches {
            if let Some(slot) = target.branches.get_mut(place) {
                *slot = Some(branch);
            }
        }
        converted.extend(cuts?.into_iter().flatten());
        Ok(converted)
    }

    /// Converts the baskets of objects whose split level changes, object by object.
    fn convert_all(
        &self,
        work: &[(&InputBasket, &BasketRef, Bytes)],
        target: &mut OutputTree,
        cancelled: &AtomicBool,
    ) -> Result<Vec<(usize, OutputBasket)>> {
        let branches = &mut target.branches;
        let mut taken = |object: &OutputObject| -> Result<Vec<OutputBranch>> {
            let own = branches.iter_mut().skip(object.first).take(object.branches.len()).map(Option::take);
            own.map(|branch| branch.ok_or_else(|| Error::corrupt("a basket belongs to no branch"))).collect()
        };
        let mut objects = Vec::new();
        for (index, (object, own)) in target.objects.iter_mut().zip(self.objects).enumerate() {
            let items: Vec<_> = work.iter().filter(|(part, ..)| part.object == Some(index)).collect();
            if !items.is_empty() {
                objects.push((taken(object)?, items, object, own));
            }
        }
        let bytes = |items: &[&(_, &BasketRef, _)]| items.iter().map(|(_, basket, _)| basket.len).sum();
        let cuts: Result<Vec<Vec<_>>> = largest_first(
            &mut objects,
            |(_, items, ..)| bytes(items),
            |(outputs, items, object, own)| {
                let mut ready = Vec::new();
                for (part, basket, bytes) in items.iter() {
                    if cancelled.load(Ordering::Relaxed) {
                        return Err(Call::interrupted());
                    }
                    self.check_process_ids(bytes, own.names_process_ids(), &object.path)
                        .and_then(|()| parse_entries(basket, bytes, &References::None, self.times))
                        .and_then(|entries| object.add(own, part.branch, basket.first_entry, entries))
                        .map_err(|error| self.locate(error, part, basket))?;
                }
                let how = (self.chosen, &self.borders, self.times);
                object
                    .convert(own, self.input, outputs, how, &mut ready)
                    .map_err(|error| error.branch(&object.path))?;
                Ok(ready.into_iter().map(|(place, ready)| (object.first + place, ready)).collect())
            },
        );
        for (outputs, _, object, _) in objects {
            for (slot, branch) in target.branches.iter_mut().skip(object.first).zip(outputs) {
                *slot = Some(branch);
            }
        }
        Ok(cuts?.into_iter().flatten().collect())
    }

    /// Re-splits the entries of a basket. A basket whose entries cannot move stays whole.
    fn resplit_basket(
        &self,
        branch: &mut OutputBranch,
        basket: &BasketRef,
        bytes: &Bytes,
        narrow: bool,
        ready: &mut Vec<OutputBasket>,
    ) -> Result<()> {
        self.check_process_ids(bytes, branch.references.are_possible(), &branch.key.name)?;
        let (recompress, compression) = (branch.recompress, branch.compression);
        let cutter = branch.cutter.as_mut().ok_or_else(|| Error::corrupt("a branch has no cutter"))?;
        let (base, mut cuts) = (cutter.base, Vec::new());
        let entries = parse_entries(basket, bytes, &branch.references, self.times);
        let immovable = match &entries {
            Ok(entries) => entries.immovable(),
            Err(error) if error.kind() == ErrorKind::Unsupported => Some(error.message()),
            Err(_) => None,
        };
        let can_stay = !self.input.is_of_dataset() && self.stays(basket, bytes, narrow);
        let whole = match (immovable, &entries) {
            (Some(why), _) if can_stay => {
                branch.kept_whole.get_or_insert_with(|| why.to_owned());
                let first = cutter.next;
                cutter.pass(basket.entries, &mut cuts)?;
                Some(copy_basket(basket, first, bytes, recompress, compression, self.times)?)
            }
            (Some(_), Ok(entries)) if basket.embedded.is_some() => {
                let first = cutter.next;
                cutter.pass(
                    chosen_positions(basket, self.chosen).map(|range| range.len() as u64).sum(),
                    &mut cuts,
                )?;
                Some(self.single(branch, basket, entries, first, narrow)?)
            }
            _ => {
                cutter.add(&entries?, chosen_positions(basket, self.chosen), &self.borders, &mut cuts)?;
                None
            }
        };
        for cut in cuts {
            ready.push(encode_basket(cut, base, compression, BasketEncoding::Root, self.times)?);
        }
        ready.extend(whole);
        Ok(())
    }

    /// Fails for entries that may refer to process ids by number, if a new basket would lose the offset of the numbers.
    fn check_process_ids(&self, basket: &[u8], are_possible: bool, branch: &str) -> Result<()> {
        if !are_possible || (pid_offset(basket) == 0 && self.pid_shift == 0) {
            return Ok(());
        }
        Err(Error::unsupported(
            "objects in this branch may refer to others by the process ids of a merged file",
        )
        .branch(branch)
        .hint(
            "such baskets can only be copied whole: set no basket size, cluster size, entries or split level",
        ))
    }

    fn locate(&self, error: Error, part: &InputBasket, basket: &BasketRef) -> Error {
        let error = if basket.embedded.is_none() { error.inside(basket.offset) } else { error };
        error.branch(self.input.path(part.branch))
    }
}

/// True if more of the file is read than skipped, so that the operating system reads ahead.
fn are_dense(parts: &[InputBasket]) -> bool {
    let ranges = parts.iter().filter(|part| part.chunk.is_stored()).map(|part| part.chunk.range);
    let (start, end, bytes) = ranges.fold((u64::MAX, 0, 0_u64), |sum, range| {
        (range.start.min(sum.0), range.end().max(sum.1), range.len.saturating_add(sum.2))
    });
    bytes >= end.saturating_sub(start) / 2
}

/// Batches of consecutive baskets with their byte ranges, without batches that an earlier run placed. A batch has at
/// most `most` bytes; while it has fewer than `baskets` baskets, up to [`MORE`] times as many.
fn jobs(parts: &[InputBasket], range: Range<usize>, most: u64, baskets: usize) -> Vec<Job<Range<usize>>> {
    let mut jobs: Vec<Job<Range<usize>>> = Vec::new();
    let mut bytes = u64::MAX;
    for (index, part) in parts.iter().enumerate().take(range.end).skip(range.start) {
        let sum = bytes.saturating_add(part.size);
        let has_few = jobs.last().is_some_and(|job| job.tag.len() < baskets) && sum <= MORE * most;
        if sum > most && !has_few {
            jobs.push(Job { wanted: Vec::new(), tag: index..index });
            bytes = 0;
        }
        bytes += part.size;
        let Some(job) = jobs.last_mut() else { continue };
        job.tag.end = index + 1;
        if part.chunk.is_stored() && !part.placed {
            job.wanted.push((part.chunk.file, part.chunk.range));
        }
    }
    jobs.retain(|job| !parts.get(job.tag.clone()).unwrap_or_default().iter().all(|part| part.placed));
    jobs
}

/// The bytes of one batch after the other.
enum BatchReader {
    /// Fetched by other threads while a batch is transformed.
    Ahead(ReadAhead<Range<usize>>),
    /// Read on demand, into memory that an earlier batch used: it is still in the CPU's cache, while another thread's
    /// would be new and have to be zeroed.
    Here { jobs: IntoIter<Job<Range<usize>>>, fetcher: Fetcher, asked: Instant },
}

impl BatchReader {
    fn new(jobs: Vec<Job<Range<usize>>>, fetcher: Fetcher, here: bool, most: u64) -> Result<BatchReader> {
        if here {
            return Ok(BatchReader::Here { jobs: jobs.into_iter(), fetcher, asked: Instant::now() });
        }
        let ahead = Ahead { jobs: 2, bytes: 2 * most };
        Ok(BatchReader::Ahead(read_ahead(jobs, move |_| fetcher.clone(), ahead)?))
    }

    fn next(&mut self, call: &mut Call<'_>) -> Option<Result<(Range<usize>, Vec<Bytes>)>> {
        match self {
            BatchReader::Ahead(ahead) => ahead.next(call),
            BatchReader::Here { jobs, fetcher, asked } => {
                let job = jobs.next()?;
                if asked.elapsed() >= HEARTBEAT {
                    *asked = Instant::now();
                    if let Err(error) = call.check() {
                        return Some(Err(error));
                    }
                }
                let wanted: Vec<ByteRange> = job.wanted.iter().map(|(_, range)| *range).collect();
                Some(fetcher.fetch_now(&wanted, call.deadline()).map(|bytes| (job.tag, bytes)))
            }
        }
    }
}
