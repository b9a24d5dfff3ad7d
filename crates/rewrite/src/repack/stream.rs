//! The baskets of a tree, from an input to the new file: fetched ahead in the order of the file, worked on by all
//! threads, and placed cluster by cluster.

use super::baskets::{Borders, Branchwise, Readers, Ready, Times, entries, made, places, whole};
use super::chosen::Chosen;
use super::input::InputTree;
use super::options::{RepackOptions, RepackReport};
use super::target::{Target, TargetBranch};
use super::writing::Output;
use bytes::Bytes;
use rayon::ThreadPool;
use rayon::prelude::*;
use sapwood_core::{ByteRange, Call, Error, ErrorKind, Result};
use sapwood_fetch::{Ahead, Fetcher, Job, ReadAhead};
use sapwood_table::pool::{HEARTBEAT, compute, read_ahead};
use sapwood_tfile::write::{is_wide, pid_offset};
use sapwood_ttree::{BasketRef, Entries};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use std::vec::IntoIter;

/// Compressed bytes that are fetched and worked on together: that are only copied, that are worked on by all threads,
/// and those of other machines.
const COPIED_BATCH: u64 = 512 << 10;
const BATCH: u64 = 4 << 20;
const DISTANT_BATCH: u64 = 16 << 20;
/// As far as this, records with narrow keys can be placed, and all that is worked on meanwhile.
pub(super) const NARROW_END: u64 = 1 << 30;
/// Baskets that wait until their cluster comes may take so many bytes.
const WAITING: usize = 32 << 20;

/// A basket that is to be read.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// Places of its branch in the target and in the input, and of the basket in that.
    target: usize,
    branch: usize,
    basket: usize,
    /// The cluster that its first entry becomes part of.
    cluster: u64,
    /// One past its last entry in the new tree, and true if an earlier run placed all up to there.
    end: u64,
    placed: bool,
}

/// What is done with the baskets of one tree of one input.
pub(super) struct Stream<'a> {
    pub input: &'a InputTree,
    pub chosen: &'a Chosen,
    /// For each branch of the input, its place in the target.
    pub places: &'a [Option<usize>],
    pub borders: Borders,
    /// First entry of the input in the new tree.
    pub base: u64,
    pub cut: bool,
    /// What is to be added to the numbers of process ids.
    pub pid_shift: u16,
    pub pool: &'a ThreadPool,
    pub times: &'a Times,
}

impl Stream<'_> {
    /// Moves all baskets to the new file; what cutters hold stays there.
    pub(super) fn run(
        &self,
        target: &mut Target,
        output: &mut Output,
        report: &mut RepackReport,
        _options: &RepackOptions,
        call: &mut Call<'_>,
    ) -> Result<()> {
        let parts = self.parts(target);
        self.pass(&parts, target);
        let mut waiting = Waiting::default();
        let mut from = 0;
        while let Some(first) = parts.get(from) {
            let name = self.file_name(first);
            let len =
                parts.get(from..).unwrap_or_default().iter().take_while(|part| self.file_name(part) == name);
            let to = from + len.count();
            let file = self.input.file_of(name);
            let immediate = file.fetcher().source().cost_model().immediate;
            // Baskets of a dataset may be none that ROOT reads.
            let copied = !self.cut
                && !self.input.is_of_dataset()
                && !target.branches.iter().flatten().any(|branch| branch.recompress);
            let most = match (immediate, copied) {
                (false, _) => DISTANT_BATCH,
                (true, false) => BATCH,
                (true, true) => COPIED_BATCH,
            };
            let jobs = self.jobs(&parts, from..to, most);
            let here = immediate && copied && self.are_dense(parts.get(from..to).unwrap_or_default());
            let mut batches = Batches::new(jobs, file.fetcher(), here, most)?;
            while let Some(answer) = batches.next(&mut call.step()) {
                let (range, bytes) = answer?;
                let next = parts.get(range.end).map_or(u64::MAX, |part| part.cluster);
                let batch = parts.get(range).unwrap_or_default();
                let narrow = output.file.end() < NARROW_END;
                let ready = self.batch(batch, bytes, target, narrow, call);
                let ready = ready.map_err(|error| error.url(self.input.file.url()))?;
                waiting.add(ready, &self.borders, self.cut);
                waiting.place(next, target, output, self.pid_shift, report)?;
                output.keep();
            }
            from = to;
        }
        waiting.place(u64::MAX, target, output, self.pid_shift, report)
    }

    /// All baskets with chosen entries, cluster by cluster, within these in the order of the file.
    fn parts(&self, tree: &Target) -> Vec<Part> {
        let mut names: Vec<&str> = self.input.branches().map(|branch| branch.file_name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let mut keyed = Vec::new();
        for (branch, place) in self.places.iter().enumerate() {
            let (Some(target), Some(described)) = (*place, self.input.branch(branch)) else {
                continue;
            };
            if self.input.is_absent(branch) {
                continue;
            }
            let file = names.partition_point(|name| **name < *described.file_name);
            let done = tree.branches.get(target).and_then(Option::as_ref).map_or(0, |branch| branch.placed);
            let mut last = 0;
            for (basket, reference) in described.baskets.iter().enumerate() {
                let entries = reference.first_entry..reference.first_entry + reference.entries;
                let end = self.base + self.chosen.rank(entries.end);
                let Some(first) = self.chosen.within(entries).next() else { continue };
                let cluster = self.borders.cluster(self.base + self.chosen.rank(first.start));
                // Baskets of a branch stay in the order of their entries.
                last = last.max(if reference.embedded.is_some() { u64::MAX } else { reference.offset });
                let order = if self.cut || self.input.is_of_dataset() { cluster } else { 0 };
                let placed = end <= done;
                keyed.push(((order, file, last), Part { target, branch, basket, cluster, end, placed }));
            }
        }
        keyed.sort_by_key(|(order, _)| *order);
        keyed.into_iter().map(|(_, part)| part).collect()
    }

    /// Lets cutters pass over what an earlier run placed.
    fn pass(&self, parts: &[Part], target: &mut Target) {
        for part in parts.iter().filter(|part| part.placed) {
            let branch = target.branches.get_mut(part.target).and_then(Option::as_mut);
            if let Some(cutting) = branch.and_then(|branch| branch.cutting.as_mut()) {
                cutting.next = cutting.next.max(part.end);
            }
        }
    }

    fn basket(&self, part: &Part) -> Option<&BasketRef> {
        self.input.branch(part.branch)?.baskets.get(part.basket)
    }

    fn file_name(&self, part: &Part) -> &str {
        self.input.branch(part.branch).map_or("", |branch| &branch.file_name)
    }

    /// True if more of the file is read than skipped: the system reads ahead there by itself.
    fn are_dense(&self, parts: &[Part]) -> bool {
        let baskets = parts.iter().filter_map(|part| self.basket(part));
        let ranges = baskets.filter(|basket| basket.embedded.is_none());
        let ranges =
            ranges.map(|basket| (basket.offset, basket.offset.saturating_add(basket.len), basket.len));
        let (start, end, bytes) = ranges.fold((u64::MAX, 0, 0_u64), |sum, (start, end, len)| {
            (start.min(sum.0), end.max(sum.1), len.saturating_add(sum.2))
        });
        bytes >= end.saturating_sub(start) / 2
    }

    /// Batches of consecutive parts, and what is to be fetched for each; without those of which all is placed.
    fn jobs(&self, parts: &[Part], range: Range<usize>, most: u64) -> Vec<Job<Range<usize>>> {
        let mut jobs: Vec<Job<Range<usize>>> = Vec::new();
        let mut bytes = u64::MAX;
        let is_placed = |index: &usize| parts.get(*index).is_some_and(|part| part.placed);
        for index in range {
            let Some(basket) = parts.get(index).and_then(|part| self.basket(part)) else { continue };
            let embedded = basket.embedded.as_ref().map(|embedded| embedded.len() as u64);
            let len = embedded.unwrap_or(basket.len);
            if bytes.saturating_add(len) > most {
                jobs.push(Job { wanted: Vec::new(), tag: index..index });
                bytes = 0;
            }
            bytes += len;
            let Some(job) = jobs.last_mut() else { continue };
            job.tag.end = index + 1;
            if embedded.is_none() && !is_placed(&index) {
                job.wanted.push((0, ByteRange { start: basket.offset, len: basket.len }));
            }
        }
        jobs.retain(|job| !job.tag.clone().all(|index| is_placed(&index)));
        jobs
    }

    /// Works on the baskets of a batch: what can be placed, with the places of the branches.
    fn batch(
        &self,
        parts: &[Part],
        bytes: Vec<Bytes>,
        target: &mut Target,
        narrow: bool,
        call: &mut Call<'_>,
    ) -> Result<Vec<(usize, Ready)>> {
        let mut fetched = bytes.into_iter();
        let mut work = Vec::with_capacity(parts.len());
        for part in parts.iter().filter(|part| !part.placed) {
            let basket = self.basket(part).ok_or_else(|| Error::corrupt("a basket is missing"))?;
            let bytes = basket.embedded.clone().or_else(|| fetched.next());
            work.push((*part, basket, bytes.ok_or_else(|| Error::corrupt("a basket was not fetched"))?));
        }
        if self.cut {
            return compute(self.pool, call, |cancelled| self.cut_all(&work, target, narrow, cancelled));
        }
        let one = |(part, basket, bytes): &(Part, &BasketRef, Bytes)| {
            let kept = self.keep(part, basket, bytes, target, narrow);
            kept.map_err(|error| self.locate(error, part, basket))
        };
        let copied = |(part, basket, bytes): &(Part, &BasketRef, Bytes)| {
            let branch = target.branches.get(part.target).and_then(Option::as_ref);
            !self.input.is_of_dataset()
                && self.stays(basket, bytes, narrow)
                && branch.is_some_and(|branch| !branch.recompress)
        };
        // Where nothing is to be computed, other threads would only have to be waited for.
        if work.iter().all(copied) {
            return work.iter().map(one).collect();
        }
        compute(self.pool, call, |cancelled| {
            let told = |item| match cancelled.load(Ordering::Relaxed) {
                true => Err(Call::interrupted()),
                false => one(item),
            };
            work.par_iter().map(told).collect()
        })
    }

    /// True if a basket keeps its entries, and its key.
    fn stays(&self, basket: &BasketRef, bytes: &[u8], narrow: bool) -> bool {
        let kept: u64 = places(basket, self.chosen).map(|range| range.len() as u64).sum();
        // Old keys cannot say that they lie beyond 2 GiB: their entries get a new one.
        let fits = (narrow && self.pid_shift == 0) || is_wide(bytes);
        basket.embedded.is_none() && kept == basket.entries && fits
    }

    /// A basket that keeps its entries, or loses those that were not chosen.
    fn keep(
        &self,
        part: &Part,
        basket: &BasketRef,
        bytes: &Bytes,
        target: &Target,
        narrow: bool,
    ) -> Result<(usize, Ready)> {
        let Some(Some(branch)) = target.branches.get(part.target) else {
            return Err(Error::corrupt("a basket belongs to no branch"));
        };
        let first = self.base + self.chosen.rank(basket.first_entry);
        // A basket of a dataset may say where its entries stood, which ROOT does not survive.
        let says_origins = self.input.is_of_dataset() && branch.references.are_possible();
        if self.stays(basket, bytes, narrow) && !says_origins {
            let (recompress, compression) = (branch.recompress, branch.compression);
            return Ok((part.target, whole(basket, first, bytes, recompress, compression, self.times)?));
        }
        self.check_process_ids(bytes, branch)?;
        let entries = entries(basket, bytes, &branch.references, self.times)?;
        Ok((part.target, self.single(branch, basket, &entries, first, narrow)?))
    }

    /// The chosen entries of a basket as a basket of their own.
    fn single(
        &self,
        branch: &TargetBranch,
        basket: &BasketRef,
        entries: &Entries,
        first: u64,
        narrow: bool,
    ) -> Result<Ready> {
        // References that cannot be found hold only behind a key as long as the one that stood before them.
        let narrow = narrow && entries.immovable().is_some() && !branch.single(false).fits(entries);
        let mut cutting = Branchwise { cutter: branch.single(narrow), base: first, next: first };
        cutting.add(entries, places(basket, self.chosen), &Borders::At(Vec::new()), &mut Vec::new())?;
        let cut = cutting.cutter.close()?.ok_or_else(|| Error::corrupt("a basket has no entries"))?;
        let ready = made(cut, first, branch.compression, Readers::OfFiles, self.times)?;
        Ok(if narrow { ready.narrow() } else { ready })
    }

    /// Re-splits baskets, branch by branch.
    fn cut_all(
        &self,
        work: &[(Part, &BasketRef, Bytes)],
        target: &mut Target,
        narrow: bool,
        cancelled: &AtomicBool,
    ) -> Result<Vec<(usize, Ready)>> {
        let mut of_branch: HashMap<usize, Vec<&(Part, &BasketRef, Bytes)>> = HashMap::new();
        for item in work {
            of_branch.entry(item.0.target).or_default().push(item);
        }
        let mut branches = Vec::with_capacity(of_branch.len());
        for (place, items) in of_branch {
            let branch = target.branches.get_mut(place).and_then(Option::take);
            let branch = branch.ok_or_else(|| Error::corrupt("a basket belongs to no branch"))?;
            branches.push((place, items, branch));
        }
        branches.sort_unstable_by_key(|(place, ..)| *place);
        let cuts: Result<Vec<Vec<_>>> = branches
            .par_iter_mut()
            .map(|(place, items, branch)| {
                let mut ready = Vec::new();
                for (part, basket, bytes) in items.iter() {
                    if cancelled.load(Ordering::Relaxed) {
                        return Err(Call::interrupted());
                    }
                    self.cut(branch, basket, bytes, narrow, &mut ready)
                        .map_err(|error| self.locate(error, part, basket))?;
                }
                Ok(ready.into_iter().map(|ready| (*place, ready)).collect())
            })
            .collect();
        for (place, _, branch) in branches {
            if let Some(slot) = target.branches.get_mut(place) {
                *slot = Some(branch);
            }
        }
        Ok(cuts?.into_iter().flatten().collect())
    }

    /// Re-splits the entries of a basket. A basket whose entries cannot move stays whole.
    fn cut(
        &self,
        branch: &mut TargetBranch,
        basket: &BasketRef,
        bytes: &Bytes,
        narrow: bool,
        ready: &mut Vec<Ready>,
    ) -> Result<()> {
        self.check_process_ids(bytes, branch)?;
        let (recompress, compression) = (branch.recompress, branch.compression);
        let cutting = branch.cutting.as_mut().ok_or_else(|| Error::corrupt("a branch has no cutter"))?;
        let (base, mut cuts) = (cutting.base, Vec::new());
        let entries = entries(basket, bytes, &branch.references, self.times);
        let immovable = match &entries {
            Ok(entries) => entries.immovable(),
            Err(error) if error.kind() == ErrorKind::Unsupported => Some(error.message()),
            Err(_) => None,
        };
        let can_stay = !self.input.is_of_dataset() && self.stays(basket, bytes, narrow);
        let whole = match (immovable, &entries) {
            (Some(why), _) if can_stay => {
                branch.kept_whole.get_or_insert_with(|| why.to_owned());
                let first = cutting.next;
                cutting.pass(basket.entries, &mut cuts)?;
                Some(whole(basket, first, bytes, recompress, compression, self.times)?)
            }
            (Some(_), Ok(entries)) if basket.embedded.is_some() => {
                let first = cutting.next;
                cutting.pass(places(basket, self.chosen).map(|range| range.len() as u64).sum(), &mut cuts)?;
                Some(self.single(branch, basket, entries, first, narrow)?)
            }
            _ => {
                cutting.add(&entries?, places(basket, self.chosen), &self.borders, &mut cuts)?;
                None
            }
        };
        for cut in cuts {
            ready.push(made(cut, base, compression, Readers::OfFiles, self.times)?);
        }
        ready.extend(whole);
        Ok(())
    }

    /// Entries that may hold references by number of a process id must stay in a basket that says from where these
    /// numbers count.
    fn check_process_ids(&self, basket: &[u8], branch: &TargetBranch) -> Result<()> {
        if !branch.references.are_possible() || (pid_offset(basket) == 0 && self.pid_shift == 0) {
            return Ok(());
        }
        Err(Error::unsupported(
            "the objects of a branch may refer to others by the process ids of a merged file",
        )
        .branch(&branch.key.name)
        .hint("such baskets can be copied whole: give no basket or cluster size and no entries"))
    }

    fn locate(&self, error: Error, part: &Part, basket: &BasketRef) -> Error {
        let error = if basket.embedded.is_none() { error.inside(basket.offset) } else { error };
        error.branch(self.input.path(part.branch))
    }
}

/// What is fetched for one batch after the other.
enum Batches {
    /// By other threads, while a batch is worked on.
    Ahead(ReadAhead<Range<usize>>),
    /// When it is asked for: into memory that a batch before it had, which the processor still has near, where that of
    /// another thread would be fresh and have to be cleared.
    Here { jobs: IntoIter<Job<Range<usize>>>, fetcher: Fetcher, asked: Instant },
}

impl Batches {
    fn new(jobs: Vec<Job<Range<usize>>>, fetcher: &Fetcher, here: bool, most: u64) -> Result<Batches> {
        let (fetcher, ahead) = (fetcher.clone(), Ahead { jobs: 2, bytes: 2 * most });
        Ok(match here {
            true => Batches::Here { jobs: jobs.into_iter(), fetcher, asked: Instant::now() },
            false => Batches::Ahead(read_ahead(jobs, move |_| fetcher.clone(), ahead)?),
        })
    }

    fn next(&mut self, call: &mut Call<'_>) -> Option<Result<(Range<usize>, Vec<Bytes>)>> {
        match self {
            Batches::Ahead(ahead) => ahead.next(call),
            Batches::Here { jobs, fetcher, asked } => {
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

/// Baskets that are placed when their cluster comes.
#[derive(Debug, Default)]
struct Waiting {
    /// Cluster, place of the branch, basket.
    ready: Vec<(u64, usize, Ready)>,
    bytes: usize,
}

impl Waiting {
    fn add(&mut self, ready: Vec<(usize, Ready)>, borders: &Borders, cut: bool) {
        for (place, ready) in ready {
            let cluster = if cut { borders.cluster(ready.first_entry) } else { 0 };
            self.bytes += ready.payload.len();
            self.ready.push((cluster, place, ready));
        }
    }

    /// Places those of clusters up to that of what comes next; all, if they have become too many.
    fn place(
        &mut self,
        next: u64,
        target: &mut Target,
        output: &mut Output,
        pid_shift: u16,
        report: &mut RepackReport,
    ) -> Result<()> {
        let next = if self.bytes > WAITING { u64::MAX } else { next };
        self.ready.sort_by_key(|(cluster, ..)| *cluster);
        let end = self.ready.partition_point(|(cluster, ..)| *cluster <= next);
        for (_, place, ready) in self.ready.drain(..end) {
            self.bytes -= ready.payload.len();
            let placement = target.place(place, ready, pid_shift, &mut output.file)?;
            output.placed(&placement, report)?;
        }
        Ok(())
    }
}

/// Places what the cutters of a tree still hold.
pub(super) fn flush(
    target: &mut Target,
    output: &mut Output,
    report: &mut RepackReport,
    pool: &ThreadPool,
    times: &Times,
    call: &mut Call<'_>,
) -> Result<()> {
    let ready: Vec<Option<Ready>> = compute(pool, call, |_| {
        let branches = target.branches.par_iter_mut();
        let close = branches.map(|branch| {
            let Some(branch) = branch else { return Ok(None) };
            let Some(cutting) = &mut branch.cutting else { return Ok(None) };
            let (base, compression) = (cutting.base, branch.compression);
            cutting
                .cutter
                .close()?
                .map(|cut| made(cut, base, compression, Readers::OfFiles, times))
                .transpose()
        });
        close.collect()
    })?;
    for (place, ready) in ready.into_iter().enumerate() {
        if let Some(ready) = ready {
            let placement = target.place(place, ready, 0, &mut output.file)?;
            output.placed(&placement, report)?;
        }
    }
    Ok(())
}
