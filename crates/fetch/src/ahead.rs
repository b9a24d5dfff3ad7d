//! Read-ahead: the next windows are fetched while the current one is worked on.

use crate::Fetcher;
use crate::budget::Share;
use crate::wait::wait;
use crate::window::is_near;
use bytes::Bytes;
use futures::future::try_join_all;
use sapwood_core::{ByteRange, Call, Deadline, Error, ErrorKind, Result};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::iter::Peekable;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Most jobs to prefetch, however small they are.
const MOST_JOBS: usize = 64;

/// This many bytes are prefetched on any link: they delay no one.
const LITTLE: u64 = 256 << 10;

/// One of the files that are read together: 0 is the first.
pub type FileIndex = usize;

/// Ranges to fetch together, and a value that the consumer gets back with them.
#[derive(Debug, Clone)]
pub struct Job<T> {
    /// The ranges to fetch, each with its file.
    pub wanted: Vec<(FileIndex, ByteRange)>,
    /// Handed back with the bytes.
    pub tag: T,
}

impl<T> Job<T> {
    fn byte_count(&self) -> u64 {
        self.wanted.iter().fold(0, |sum, (_, range)| sum.saturating_add(range.len))
    }
}

/// How far ahead to read, whatever the link. Where this does not fill the link, twice the bytes that a full
/// link has in flight are read ahead, so the depth grows until the link is saturated. It never exceeds the
/// [budget](Fetcher::with_budget) of the fetchers, except for the job that the consumer waits for.
#[derive(Debug, Clone, Copy)]
pub struct Ahead {
    /// Number of jobs that are fetched ahead of the one that the consumer works on; at least 1.
    pub jobs: usize,
    /// Most wanted bytes of these jobs; one job is fetched, however large.
    pub bytes: u64,
}

/// Windows to fetch ahead of the current one; more where these do not fill the link.
const WINDOWS_AHEAD: usize = 4;

/// Most jobs to prefetch until the first one has arrived, which shares the link with them.
const AT_FIRST: usize = 2;

/// Enough at low latency: the bytes arrive before they are needed, and memory is reused sooner.
const NEAR_WINDOWS_AHEAD: u64 = 2;

impl Ahead {
    /// For windows of at most this many bytes, from a server at this distance.
    pub fn of_windows(bytes: u64, round_trip: Option<Duration>) -> Ahead {
        let windows = if is_near(round_trip) { NEAR_WINDOWS_AHEAD } else { WINDOWS_AHEAD as u64 };
        Ahead { jobs: WINDOWS_AHEAD, bytes: bytes.saturating_mul(windows) }
    }
}

/// Fetches jobs ahead of a consumer, from one or more files, and hands them out in order.
///
/// Until the consumer asks for the first time, only the first job is fetched, if the budget allows it, so
/// that each of many files can start before its turn.
///
/// An error ends it: after an error, and after the last job, `next` returns `None`. Dropping it cancels what
/// is in flight.
pub struct ReadAhead<T> {
    jobs: Peekable<Jobs<T>>,
    fetcher: Box<dyn Fn(FileIndex) -> Fetcher + Send + Sync>,
    handle: Handle,
    ahead: Ahead,
    started: VecDeque<StartedJob<T>>,
    started_bytes: u64,
    /// Whether the consumer has asked for a job yet.
    asked: bool,
    /// Whether a job has arrived.
    came: bool,
    /// Whether the depth is fixed at that of `ahead`, whatever the link.
    fixed: bool,
}

type Jobs<T> = Box<dyn Iterator<Item = Job<T>> + Send>;

struct StartedJob<T> {
    tag: T,
    bytes: u64,
    /// What fetches the first of its ranges.
    fetcher: Fetcher,
    task: Task,
    _share: Share,
}

/// A task that is cancelled when dropped.
struct Task(JoinHandle<Result<Vec<Bytes>>>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<T: 'static> ReadAhead<T> {
    /// Reads `jobs` on the runtime of `handle`, each file through its `fetcher`, and starts the first one.
    pub fn new(
        jobs: impl IntoIterator<Item = Job<T>, IntoIter: Send + 'static>,
        fetcher: impl Fn(FileIndex) -> Fetcher + Send + Sync + 'static,
        handle: Handle,
        ahead: Ahead,
    ) -> Self {
        let jobs: Jobs<T> = Box::new(jobs.into_iter());
        let mut this = ReadAhead {
            jobs: jobs.peekable(),
            fetcher: Box::new(fetcher),
            handle,
            ahead,
            started: VecDeque::new(),
            started_bytes: 0,
            asked: false,
            came: false,
            fixed: false,
        };
        this.start_jobs();
        this
    }

    /// Never reads further ahead than `ahead` says, whatever the link.
    pub(crate) fn fixed(self) -> Self {
        ReadAhead { fixed: true, ..self }
    }

    /// Blocks until the next job is fetched, and starts another one in its place.
    ///
    /// The deadline bounds this call only: between calls, a job may be prefetched for longer. Must not be called
    /// inside an asynchronous task.
    ///
    /// # Errors
    /// Those of [`Fetcher::fetch`]; `Cancelled` if the call is interrupted.
    pub fn next(&mut self, call: &mut Call<'_>) -> Option<Result<(T, Vec<Bytes>)>> {
        let StartedJob { tag, fetcher, mut task, .. } = self.begin_next()?;
        let start = Instant::now();
        let result = wait(&self.handle, join(&mut task), call);
        fetcher.counters().wait_ns.add_time(start.elapsed());
        Some(self.end_next(tag, &fetcher, result))
    }

    /// Blocks until further ranges of the files are fetched, at once.
    ///
    /// # Errors
    /// As [`next`](ReadAhead::next).
    pub fn fetch(&self, wanted: &[(FileIndex, ByteRange)], call: &mut Call<'_>) -> Result<Vec<Bytes>> {
        let (start, fetcher) = (Instant::now(), (self.fetcher)(first_file(wanted)));
        let result = wait(&self.handle, fetch(self.by_file(wanted), wanted, call.deadline()), call);
        fetcher.counters().wait_ns.add_time(start.elapsed());
        result
    }

    /// [`next`](ReadAhead::next) for asynchronous code, which bounds it itself.
    pub(crate) async fn next_here(&mut self) -> Option<Result<(T, Vec<Bytes>)>> {
        let StartedJob { tag, fetcher, mut task, .. } = self.begin_next()?;
        let result = join(&mut task).await;
        Some(self.end_next(tag, &fetcher, result))
    }

    fn begin_next(&mut self) -> Option<StartedJob<T>> {
        self.asked = true;
        self.start_jobs();
        let started = self.started.pop_front()?;
        self.started_bytes -= started.bytes;
        Some(started)
    }

    fn end_next(&mut self, tag: T, fetcher: &Fetcher, result: Result<Vec<Bytes>>) -> Result<(T, Vec<Bytes>)> {
        match result {
            Ok(answers) => {
                self.came = true;
                self.start_jobs();
                Ok((tag, answers))
            }
            Err(error) => {
                self.stop();
                Err(fetcher.counters().explain(error).url(&*fetcher.source().identity().url))
            }
        }
    }

    /// Starts as many jobs as may be prefetched.
    fn start_jobs(&mut self) {
        while let Some(job) = self.jobs.peek() {
            let (bytes, fetcher) = (job.byte_count(), (self.fetcher)(first_file(&job.wanted)));
            let Some(share) = self.share(bytes, &fetcher) else { return };
            let Some(job) = self.jobs.next() else { return };
            self.started_bytes += bytes;
            let task = self.start(job.wanted);
            self.started.push_back(StartedJob { bytes, fetcher, task, tag: job.tag, _share: share });
        }
    }

    /// Which ranges of each file are wanted.
    fn by_file(&self, wanted: &[(FileIndex, ByteRange)]) -> BTreeMap<FileIndex, (Fetcher, Vec<ByteRange>)> {
        let mut files = BTreeMap::new();
        for (file, range) in wanted {
            let (_, ranges) = files.entry(*file).or_insert_with(|| ((self.fetcher)(*file), Vec::new()));
            ranges.push(*range);
        }
        files
    }

    /// The share of the budget for one more job of `bytes`, if it may start now.
    fn share(&self, bytes: u64, fetcher: &Fetcher) -> Option<Share> {
        let (jobs, ahead) = (self.started.len(), self.started_bytes.saturating_add(bytes));
        let budget = fetcher.budget();
        let in_flight = fetcher.link().bytes_in_flight().filter(|_| !self.fixed).unwrap_or(0);
        let most = if self.came { self.ahead.jobs } else { self.ahead.jobs.min(AT_FIRST) };
        match jobs {
            0 if self.asked => Some(budget.take_anyway(bytes)),
            0 => budget.take(bytes),
            _ if !self.asked || jobs >= MOST_JOBS => None,
            _ if jobs < most && ahead <= self.ahead.bytes => budget.take(bytes),
            _ if ahead <= in_flight.saturating_mul(2).max(LITTLE) => budget.take(bytes),
            _ => None,
        }
    }

    fn start(&self, wanted: Vec<(FileIndex, ByteRange)>) -> Task {
        let files = self.by_file(&wanted);
        // The deadlines of `next` bound the consumer's waits. This one only keeps the task from running
        // forever.
        let now = tokio::time::Instant::now().into_std();
        let deadline = Deadline::at(now + Deadline::DEFAULT);
        let immediate = files.values().any(|(fetcher, _)| fetcher.source().cost_model().immediate);
        let fetch = async move { fetch(files, &wanted, deadline).await };
        Task(if immediate {
            // Its reads block for as long as the disk takes, so they must not run on the threads that wait
            // for the network.
            let blocking = self.handle.clone();
            self.handle.spawn_blocking(move || blocking.block_on(fetch))
        } else {
            self.handle.spawn(fetch)
        })
    }

    fn stop(&mut self) {
        self.started.clear();
        self.started_bytes = 0;
        self.jobs = (Box::new(std::iter::empty()) as Jobs<T>).peekable();
    }
}

fn first_file(wanted: &[(FileIndex, ByteRange)]) -> FileIndex {
    wanted.first().map_or(0, |(file, _)| *file)
}

/// The bytes of ranges of several files, in the order asked.
async fn fetch(
    files: BTreeMap<FileIndex, (Fetcher, Vec<ByteRange>)>,
    wanted: &[(FileIndex, ByteRange)],
    deadline: Deadline,
) -> Result<Vec<Bytes>> {
    let fetches = files.iter().map(|(file, (fetcher, ranges))| async move {
        Ok::<_, Error>((*file, fetcher.fetch_unwaited(ranges, deadline).await?.into_iter()))
    });
    let mut fetched: BTreeMap<FileIndex, _> = try_join_all(fetches).await?.into_iter().collect();
    Ok(wanted.iter().filter_map(|(file, _)| fetched.get_mut(file)?.next()).collect())
}

/// The outcome of a task; an error if it panicked.
async fn join(task: &mut Task) -> Result<Vec<Bytes>> {
    (&mut task.0).await.unwrap_or_else(|error| {
        Err(Error::new(ErrorKind::Io, "the task that fetches the bytes panicked").caused_by(error))
    })
}

impl<T> fmt::Debug for ReadAhead<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadAhead")
            .field("ahead", &self.ahead)
            .field("started", &self.started.len())
            .field("started_bytes", &self.started_bytes)
            .finish_non_exhaustive()
    }
}
