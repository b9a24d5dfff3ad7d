//! Runs the steps of a job against a model or against real sources, with the code that reads files.

use super::model::{FAR, MOST_BYTES, ModelFile, ModelLink};
use super::policy::{LinkModel, Policy};
use super::recorded::{Action, RecordedFile, RecordedJob, RecordedProcess, RecordedRead, RecordedStep};
use super::replicas::ModelReplicas;
use crate::blocks::{self, BlockOptions, Reopen};
use crate::link::Meter;
use crate::replicas::{ReplicaReadOptions, Replicas};
use crate::{Ahead, Budget, Fetcher, FileIndex, Job as Fetch, ReadAhead, cut_windows, window_bytes};
use bytes::Bytes;
use futures::future::try_join_all;
use sapwood_core::BoxFuture;
use sapwood_core::{ByteRange, CounterValues, Counters, Deadline, Error, ErrorKind, Result, Segments};
use sapwood_source::record::RecordedChunk;
use sapwood_source::{CostModel, CountingSource, Identity, OpenedSource, Source, SourceOptions, Trace, open};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

/// The default budget for prefetching.
const BUDGET: u64 = 256_000_000;
/// The largest window that is accepted from a recording.
const MOST_WINDOW: u64 = 4 << 30;

/// Where the files of a job are during the replay.
#[derive(Debug, Clone)]
pub enum ReplayTarget {
    /// In a model that computes how long requests take.
    Model {
        /// The link to each server.
        servers: HashMap<String, LinkModel>,
        /// The link to all other servers.
        others: LinkModel,
        /// Links to further replicas of each file, for policies that read from several. Without any, there is
        /// one more, at the same distance as the first.
        replicas: Vec<LinkModel>,
    },
    /// On real servers.
    Real {
        /// URLs to read instead of recorded ones; other files keep their URLs.
        urls: HashMap<String, String>,
        /// How the servers are reached; deadline and counters are those of the replay.
        options: Box<SourceOptions>,
        /// The most time that opening a file, or one step of reading, may take.
        deadline: Duration,
    },
}

/// The cost of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// The policy.
    pub policy: String,
    /// Seconds from the start of the first process to the end of the last.
    pub seconds: f64,
    /// Seconds that threads waited for bytes, summed over all threads.
    pub waited: f64,
    /// Requests, ranges, bytes and round trips.
    pub counts: CounterValues,
}

/// Replays a job with a policy. `cancelled` ends it early, with an error of kind `Cancelled`.
///
/// # Errors
/// `Limit` if the recording is invalid; those of real sources.
pub fn replay(
    job: &RecordedJob,
    place: &ReplayTarget,
    policy: &Policy,
    cancelled: &AtomicBool,
) -> Result<Cost> {
    let modelled = matches!(place, ReplayTarget::Model { .. });
    let runtime = Builder::new_current_thread().enable_all().start_paused(modelled).build();
    let runtime =
        runtime.map_err(|error| Error::new(ErrorKind::Io, "cannot start a runtime").caused_by(error))?;
    if !modelled && policy.sources.is_some() {
        return Err(Error::usage(format!(
            "the policy '{}' needs several replicas, which only a model has",
            policy.name
        ))
        .hint("omit the source, or open the file with its replicas and record that"));
    }
    runtime.block_on(async {
        let begin = Instant::now();
        let world = Arc::new(ReplayContext {
            place: place.clone(),
            policy: policy.clone(),
            counters: Arc::default(),
            meters: Mutex::default(),
            links: Mutex::default(),
            further: further(place),
            nought: Bytes::from(vec![0; usize::try_from(MOST_BYTES).unwrap_or_default()]),
            waited: Mutex::default(),
        });
        let run = |process| ProcessReplay::new(Arc::clone(&world), process, cancelled).all(begin);
        try_join_all(job.processes.iter().map(run)).await?;
        let waited = *world.waited.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Cost {
            policy: policy.name.clone(),
            seconds: begin.elapsed().as_secs_f64(),
            waited: waited.as_secs_f64(),
            counts: world.counters.snapshot(),
        })
    })
}

/// State that all processes share.
#[derive(Debug)]
struct ReplayContext {
    place: ReplayTarget,
    policy: Policy,
    counters: Arc<Counters>,
    meters: Mutex<HashMap<String, Arc<Meter>>>,
    links: Mutex<HashMap<String, Arc<ModelLink>>>,
    /// The links to further replicas.
    further: Vec<Arc<ModelLink>>,
    nought: Bytes,
    waited: Mutex<Duration>,
}

impl ReplayContext {
    fn meter(&self, server: &str) -> Arc<Meter> {
        let mut meters = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(meters.entry(server.to_owned()).or_default())
    }

    fn link(&self, server: &str) -> Arc<ModelLink> {
        let ReplayTarget::Model { servers: models, others, .. } = &self.place else {
            return ModelLink::new(LinkModel::default());
        };
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let model = models.get(server).unwrap_or(others);
        Arc::clone(links.entry(server.to_owned()).or_insert_with(|| ModelLink::new(*model)))
    }

    fn cost_model(&self, recorded: CostModel) -> CostModel {
        let said = if recorded.immediate { FAR } else { recorded };
        let Policy { ranges, concurrency, request, .. } = self.policy;
        CostModel {
            ranges_per_request: ranges.unwrap_or(said.ranges_per_request),
            concurrency: concurrency.unwrap_or(said.concurrency),
            largest_request: request.unwrap_or(said.largest_request).min(MOST_BYTES),
            ..said
        }
    }

    /// When opening a file, or a step of reading that begins now, fails.
    fn deadline(&self) -> Deadline {
        Deadline::after(match &self.place {
            ReplayTarget::Real { deadline, .. } => *deadline,
            ReplayTarget::Model { .. } => Deadline::LONGEST,
        })
    }

    /// Opens a file, which takes as many round trips as in the recording.
    async fn open(self: &Arc<Self>, file: &RecordedFile) -> Result<Fetcher> {
        let opened = match &self.place {
            ReplayTarget::Real { urls, options, .. } => {
                let url = urls.get(&file.url).unwrap_or(&file.url);
                let (counters, deadline) = (Arc::clone(&self.counters), self.deadline());
                open(url, &SourceOptions { counters, deadline, ..(**options).clone() }).await?
            }
            ReplayTarget::Model { .. } => match self.policy.sources {
                Some(sources) => self.open_places(file, sources).await?,
                None => self.open_model(file, self.link(&file.server), None).await,
            },
        };
        let opened = match self.policy.block {
            Some(block) => self.in_blocks(opened, block, &file.url).await?,
            None => opened,
        };
        let fetcher = Fetcher::new(opened.source, Arc::clone(&self.counters))
            .with_known(opened.known)
            .with_limit(MOST_WINDOW)
            .with_budget(Budget::new(BUDGET))
            .judged(self.policy.merging(), self.meter(&file.server));
        Ok(fetcher)
    }

    /// Opens a modeled file over a link.
    async fn open_model(
        &self,
        file: &RecordedFile,
        link: Arc<ModelLink>,
        server: Option<String>,
    ) -> OpenedSource {
        let (requests, round_trips) = match file.cost_model.immediate {
            true => (1, 2),
            false => (file.opening_requests, file.opening_round_trips + 1),
        };
        // Connecting takes a round trip, too.
        link.pass(round_trips as f64, file.opening_bytes).await;
        self.counters.asked(server.as_deref(), requests, 0);
        self.counters.round_trips.add(round_trips - 1);
        self.counters.fetched_bytes.add(file.opening_bytes);
        let identity = Identity { url: file.url.clone(), size: file.size, version: None };
        let cost_model = self.cost_model(file.cost_model);
        let source = ModelFile { identity, cost_model, link, nought: self.nought.clone(), server };
        let source = Arc::new(CountingSource::new(source, Arc::clone(&self.counters)));
        OpenedSource { source, known: self.known(&file.known) }
    }

    /// Opens a modeled file that has several replicas.
    async fn open_places(self: &Arc<Self>, file: &RecordedFile, sources: usize) -> Result<OpenedSource> {
        let first = self.link(&file.server);
        let further = match self.further.is_empty() {
            true => vec![self.way_beside(&file.server)],
            false => self.further.clone(),
        };
        let (world, file) = (Arc::clone(self), file.clone());
        let open = Box::new(move |link, server| -> BoxFuture<'static, OpenedSource> {
            let (world, file) = (Arc::clone(&world), file.clone());
            Box::pin(async move { world.open_model(&file, link, Some(server)).await })
        });
        let places = ModelReplicas::new([vec![first], further].concat(), open);
        let settings = ReplicaReadOptions { sources, logged: false, ..ReplicaReadOptions::default() };
        let (counters, trace) = (Arc::clone(&self.counters), Trace::new(Instant::now().into_std()));
        let deadline = Deadline::at((Instant::now() + Deadline::LONGEST).into_std());
        Replicas::open(places, settings, counters, trace, deadline).await
    }

    /// The link to a further server with the same figures.
    fn way_beside(&self, server: &str) -> Arc<ModelLink> {
        let beside = format!("{server} beside");
        let model = self.link(server).model;
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(links.entry(beside).or_insert_with(|| ModelLink::new(model)))
    }

    fn known(&self, ranges: &[ByteRange]) -> Segments {
        let mut known = Segments::default();
        for range in ranges {
            let len = usize::try_from(range.len).unwrap_or(usize::MAX).min(self.nought.len());
            known.insert(range.start, self.nought.slice(..len));
        }
        known
    }

    async fn in_blocks(&self, opened: OpenedSource, block: u64, url: &str) -> Result<OpenedSource> {
        let options = BlockOptions { block_size: block, ..BlockOptions::default() };
        let reopen = Arc::new(ReopenedSource(opened.source, opened.known));
        blocks::open(&options, url, reopen, Arc::clone(&self.counters), Deadline::after(Deadline::LONGEST))
            .await
    }
}

fn further(place: &ReplayTarget) -> Vec<Arc<ModelLink>> {
    match place {
        ReplayTarget::Model { replicas, .. } => replicas.iter().map(|&model| ModelLink::new(model)).collect(),
        ReplayTarget::Real { .. } => Vec::new(),
    }
}

/// A source that is open already.
#[derive(Debug)]
struct ReopenedSource(Arc<dyn Source>, Segments);

impl Reopen for ReopenedSource {
    fn open(&self, _tail: bool, _deadline: Deadline) -> BoxFuture<'_, Result<OpenedSource>> {
        Box::pin(async { Ok(OpenedSource { source: Arc::clone(&self.0), known: self.1.clone() }) })
    }
}

/// A process during its replay.
struct ProcessReplay<'j> {
    world: Arc<ReplayContext>,
    process: &'j RecordedProcess,
    cancelled: &'j AtomicBool,
    /// Steps on which others depend.
    done: HashMap<usize, watch::Sender<bool>>,
    fetchers: Mutex<HashMap<u64, Fetcher>>,
    reads: Mutex<HashMap<u64, ActiveRead>>,
    /// Fetches of lazy readers, by step.
    fetches: Mutex<HashMap<usize, Vec<InFlight>>>,
}

/// A fetch in flight.
type InFlight = JoinHandle<Result<Vec<Bytes>>>;

/// A read in progress.
struct ActiveRead {
    /// Windows of each range.
    windows: std::vec::IntoIter<usize>,
    ahead: ReadAhead<()>,
}

impl<'j> ProcessReplay<'j> {
    fn new(world: Arc<ReplayContext>, process: &'j RecordedProcess, cancelled: &'j AtomicBool) -> Self {
        let followed = process.steps.iter().filter_map(|step| step.after);
        let done = followed.map(|step| (step, watch::Sender::new(false))).collect();
        ProcessReplay {
            world,
            process,
            cancelled,
            done,
            fetchers: Mutex::default(),
            reads: Mutex::default(),
            fetches: Mutex::default(),
        }
    }

    async fn all(self, begin: Instant) -> Result<()> {
        let begin = begin + Duration::from_micros(self.process.begin);
        sleep_until(begin).await;
        let mut threads: BTreeMap<u64, Vec<(usize, &RecordedStep)>> = BTreeMap::new();
        for (index, step) in self.process.steps.iter().enumerate() {
            threads.entry(step.thread).or_default().push((index, step));
        }
        let last = self.process.steps.iter().map(|step| step.end).max().unwrap_or_default();
        try_join_all(threads.into_values().map(|steps| self.thread(steps))).await?;
        // Time that the program spent after its last read.
        sleep(Duration::from_micros(self.process.end.saturating_sub(last))).await;
        Ok(())
    }

    async fn thread(&self, mut steps: Vec<(usize, &RecordedStep)>) -> Result<()> {
        steps.sort_by_key(|(index, step)| (step.end, *index));
        let mut before = 0;
        for (index, step) in steps {
            if self.cancelled.load(Ordering::Relaxed) {
                return Err(Error::new(ErrorKind::Cancelled, "the replay was interrupted"));
            }
            if let Some((after, done)) = step.after.and_then(|after| Some((after, self.done.get(&after)?))) {
                // The sender lives as long as this.
                let _ = done.subscribe().wait_for(|done| *done).await;
                before = before.max(self.process.steps.get(after).map_or(0, |step| step.end));
            }
            sleep(Duration::from_micros(step.begin.saturating_sub(before))).await;
            before = before.max(step.end);
            let asked = Instant::now();
            self.act(index, step).await?;
            *self.world.waited.lock().unwrap_or_else(PoisonError::into_inner) += asked.elapsed();
            sleep(Duration::from_micros(worked(step))).await;
            if let Some(done) = self.done.get(&index) {
                done.send_replace(true);
            }
        }
        Ok(())
    }

    async fn act(&self, index: usize, step: &RecordedStep) -> Result<()> {
        match &step.action {
            Action::Open(number) => {
                let Some(file) = self.process.files.get(number) else { return Ok(()) };
                let fetcher = self.world.open(file).await?;
                lock(&self.fetchers).insert(*number, fetcher);
            }
            Action::Structure(file, ranges) => {
                if let Some(fetcher) = self.fetcher(*file) {
                    fetcher.fetch(ranges, self.world.deadline()).await?;
                }
            }
            Action::Begin(read) => {
                let found = self.process.reads.get(read).filter(|read| read.kind != "lazy");
                if let Some(reading) = found.and_then(|read| self.begin(read)) {
                    lock(&self.reads).insert(*read, reading);
                }
            }
            Action::Next(read) => {
                let Some(mut reading) = lock(&self.reads).remove(read) else { return Ok(()) };
                for _ in 0..reading.windows.next().unwrap_or_default() {
                    reading.ahead.next_here().await.transpose()?;
                }
                lock(&self.reads).insert(*read, reading);
            }
            Action::End(read) => drop(lock(&self.reads).remove(read)),
            Action::Fetch(chunks) => {
                let fetches = by_file(chunks).into_iter().filter_map(|(file, ranges)| {
                    let fetcher = self.fetcher(file)?;
                    let deadline = self.world.deadline();
                    Some(Handle::current().spawn(async move { fetcher.fetch(&ranges, deadline).await }))
                });
                let fetches = fetches.collect();
                lock(&self.fetches).insert(index, fetches);
            }
            Action::Touch(needs) => {
                for need in needs {
                    let fetches = lock(&self.fetches).remove(need).unwrap_or_default();
                    for fetch in fetches {
                        let broken = || Error::new(ErrorKind::Io, "a task of the replay failed");
                        fetch.await.map_err(|_| broken())??;
                    }
                }
            }
        }
        Ok(())
    }

    fn fetcher(&self, file: u64) -> Option<Fetcher> {
        lock(&self.fetchers).get(&file).cloned()
    }

    /// Cuts the ranges of a read into windows, as for a file at high latency, and starts with the first.
    fn begin(&self, read: &RecordedRead) -> Option<ActiveRead> {
        let main = self.fetcher(read.file)?;
        let most = self.world.policy.window.unwrap_or_else(|| window_bytes(&main.link(), BUDGET));
        let chunks = read.ranges.iter().flat_map(|range| &range.chunks);
        let files: BTreeSet<u64> = chunks.map(|chunk| chunk.file).collect();
        let opened = files.into_iter().filter_map(|file| Some((index(file), self.fetcher(file)?)));
        let fetchers: HashMap<FileIndex, Fetcher> = opened.collect();
        let (mut jobs, mut counts, mut before) = (Vec::new(), Vec::new(), HashSet::new());
        for range in &read.ranges {
            let costs = range.chunks.iter().map(|chunk| (chunk.first_entry, chunk.range.len));
            let windows = cut_windows(&range.clusters, costs, most, range.entries.clone());
            let cut = windows.len() > 1;
            for window in &windows {
                let inside = range.chunks.iter().filter(|chunk| !cut || touches(chunk, window, range));
                let here: HashSet<(u64, ByteRange)> = inside.map(|chunk| (chunk.file, chunk.range)).collect();
                let new = here.iter().filter(|place| !before.contains(*place));
                let new = new.map(|(file, range)| (index(*file), *range));
                let mut wanted: Vec<_> = new.filter(|(file, _)| fetchers.contains_key(file)).collect();
                wanted.sort_unstable();
                jobs.push(Fetch { wanted, tag: () });
                before = here;
            }
            counts.push(windows.len());
        }
        let depth = match self.world.policy.ahead {
            Some(jobs) => Ahead { jobs, bytes: u64::MAX },
            None => Ahead::of_windows(most, main.round_trip()),
        };
        let fetcher = move |file| fetchers.get(&file).unwrap_or(&main).clone();
        let ahead = ReadAhead::new(jobs, fetcher, Handle::current(), depth);
        let ahead = if self.world.policy.ahead.is_some() { ahead.fixed() } else { ahead };
        Some(ActiveRead { ahead, windows: counts.into_iter() })
    }
}

/// A file of a recording among those that are read ahead.
fn index(file: u64) -> FileIndex {
    FileIndex::try_from(file).unwrap_or(FileIndex::MAX)
}

/// Whether a chunk is fetched with a window: with the one in which it begins, or with the first of its
/// range.
fn touches(
    chunk: &RecordedChunk,
    window: &std::ops::Range<u64>,
    range: &super::recorded::EntryRange,
) -> bool {
    let first = range.entries.start == window.start;
    (first && chunk.first_entry < window.start) || window.contains(&chunk.first_entry)
}

/// Microseconds that a step computed, without its waits.
fn worked(step: &RecordedStep) -> u64 {
    match step.action {
        Action::Next(_) | Action::Touch(_) => {
            (step.end - step.begin.min(step.end)).saturating_sub(step.waited)
        }
        _ => 0,
    }
}

fn by_file(chunks: &[RecordedChunk]) -> BTreeMap<u64, Vec<ByteRange>> {
    let mut ranges: BTreeMap<u64, Vec<ByteRange>> = BTreeMap::new();
    for chunk in chunks {
        ranges.entry(chunk.file).or_default().push(chunk.range);
    }
    ranges
}

fn lock<T>(slot: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}
