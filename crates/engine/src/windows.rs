//! Entry ranges of a distant source: cut into windows, which are fetched ahead and decoded when their bytes are there.

use crate::elsewhere::{FileIndex, Located};
use crate::join::join;
use crate::kept::Kept;
use crate::plan::{ColumnPlan, counted, in_parallel, plan};
use crate::request::Wanted;
use crate::{Interrupt, Tree, pool, recorded};
use bytes::Bytes;
use rayon::ThreadPool;
use sapwood_core::{ByteRange, Column, Deadline, Result};
use sapwood_fetch::{Ahead, Job, ReadAhead, cut_windows, near_window_bytes, window_bytes};
use sapwood_source::record::RecordedRead;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::time::Duration;

/// Entry ranges of a distant source, fetched ahead. A basket that reaches from one window into the next is
/// fetched once.
#[derive(Debug)]
pub(crate) struct Windows {
    tree: Tree,
    wanted: Vec<Wanted>,
    /// The windows of each range.
    ranges: std::vec::IntoIter<Vec<Range<u64>>>,
    /// What is fetched from each of the tree's files, window by window.
    ahead: Vec<(FileIndex, ReadAhead<Window>)>,
    /// Baskets of the last window that the next may need, by file and offset.
    carried: HashMap<(FileIndex, u64), Bytes>,
    /// Those of them that were decompressed.
    kept: Kept,
}

/// What is remembered of a window while its bytes are fetched from one file.
#[derive(Debug, Clone)]
struct Window {
    fetched: Vec<ByteRange>,
    /// Offsets of the baskets that the next window needs again.
    keep: HashSet<u64>,
}

/// The jobs of one file, one per window, while they are made.
#[derive(Default)]
struct Jobs {
    jobs: Vec<Job<Window>>,
    before: HashSet<u64>,
}

impl Jobs {
    fn add(&mut self, mut wanted: Vec<ByteRange>) {
        wanted.sort_unstable();
        wanted.dedup();
        let here: HashSet<u64> = wanted.iter().map(|range| range.start).collect();
        if let Some(last) = self.jobs.last_mut() {
            last.tag.keep = here.intersection(&self.before).copied().collect();
        }
        wanted.retain(|range| !self.before.contains(&range.start));
        self.before = here;
        self.jobs.push(Job { tag: Window { fetched: wanted.clone(), keep: HashSet::new() }, wanted });
    }
}

impl Windows {
    /// Starts with the first window at once.
    pub(crate) fn new(
        tree: Tree,
        wanted: &[Wanted],
        ranges: Vec<Range<u64>>,
        read: Option<&RecordedRead>,
    ) -> Result<Windows> {
        let mut files: BTreeMap<FileIndex, Jobs> = BTreeMap::new();
        for plan in plan(&tree, wanted, &(0..0))? {
            files.extend(plan.files().map(|file| (file, Jobs::default())));
        }
        let fetcher = &tree.file().0.fetcher;
        let most = window_bytes(&fetcher.link(), fetcher.budget().most());
        let mut add = |plans: &[ColumnPlan<'_>]| {
            for (file, jobs) in &mut files {
                jobs.add(plans.iter().flat_map(|plan| plan.ranges(*file)).collect());
            }
        };
        // Of steps, one is decoded while the next is on its way; a read in one step is cut for that. The parts of what is
        // cut are joined, which costs almost as much as to decode them: a step that is little more than a window stays whole.
        let (near, largest) = if ranges.len() == 1 { (fetcher.round_trip(), most) } else { (None, 2 * most) };
        let mut cut_ranges = Vec::with_capacity(ranges.len());
        for entries in ranges {
            let plans = plan(&tree, wanted, &entries)?;
            recorded::range(read, &tree, &plans, &entries);
            let windows = cut(&tree, &plans, entries, largest, near);
            match windows.as_slice() {
                [_] => add(&plans),
                windows => {
                    windows.iter().try_for_each(|window| plan(&tree, wanted, window).map(|p| add(&p)))?
                }
            }
            cut_ranges.push(windows);
        }
        let handle = pool::runtime()?;
        let depth = Ahead::of_windows(most, fetcher.round_trip());
        let ahead = files.into_iter().map(|(file, jobs)| {
            (file, ReadAhead::new(jobs.jobs, tree.fetcher_at(file), handle.clone(), depth))
        });
        let (ahead, ranges) = (ahead.collect(), cut_ranges.into_iter());
        Ok(Windows {
            tree,
            wanted: wanted.to_vec(),
            ranges,
            ahead,
            carried: HashMap::new(),
            kept: Kept::default(),
        })
    }

    /// True if there is no further range.
    pub(crate) fn is_over(&self) -> bool {
        self.ranges.as_slice().is_empty()
    }

    /// The columns of the next range; not after an error.
    pub(crate) fn next(
        &mut self,
        pool: &ThreadPool,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Option<Result<Vec<Column>>> {
        let windows = self.ranges.next()?;
        let parts = windows.iter().map(|window| self.columns(window, pool, deadline, interrupt));
        let columns = parts.collect::<Result<_>>().and_then(|parts| pool.install(|| join(parts)));
        Some(columns.map_err(|error| error.url(self.tree.file().url())))
    }

    fn columns(
        &mut self,
        entries: &Range<u64>,
        pool: &ThreadPool,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<Column>> {
        let mut keep = HashSet::new();
        for (file, ahead) in &mut self.ahead {
            let Some(answer) = ahead.next(deadline, interrupt) else { continue };
            let (window, bytes) = answer?;
            let offsets = window.fetched.iter().map(|range| (*file, range.start));
            self.carried.extend(offsets.zip(bytes));
            keep.extend(window.keep.into_iter().map(|offset| (*file, offset)));
        }
        let plans = plan(&self.tree, &self.wanted, entries)?;
        let counters = self.tree.file().counters();
        let (carried, kept) = (&self.carried, &self.kept);
        kept.forget_before(entries.start);
        let columns = pool::compute(pool, interrupt, |cancelled| {
            in_parallel(&plans, cancelled, |plan, likely| {
                for located in plan.baskets().filter(|located| keep.contains(&located.place())) {
                    if let (None, Some(record)) = (kept.get(located), carried.get(&located.place())) {
                        kept.keep(located, record, counters);
                    }
                }
                let record = |located: Located<'_>| {
                    kept.get(located).or_else(|| carried.get(&located.place()).cloned())
                };
                counted(counters, plan, || plan.decode(record, likely, counters))
            })
        })?;
        self.carried.retain(|place, _| keep.contains(place));
        Ok(columns)
    }
}

/// Windows of whole clusters whose baskets have at most `most` bytes, or fewer if the server is so `near`.
fn cut(
    tree: &Tree,
    plans: &[ColumnPlan<'_>],
    entries: Range<u64>,
    most: u64,
    near: Option<Duration>,
) -> Vec<Range<u64>> {
    let baskets = || plans.iter().flat_map(|plan| plan.baskets()).map(|located| located.basket);
    let most = near_window_bytes(baskets().map(|basket| basket.len).sum(), near).min(most);
    let costs = baskets().map(|basket| (basket.first_entry, basket.len));
    cut_windows(&tree.metadata().cluster_starts, costs, most, entries)
}
