//! Running the steps of a job against a model or real sources, by the code that reads files.

use super::job::{Action, File, Job, Process, Read, Step};
use super::model::{FAR, MOST_BYTES, Modelled, Way};
use super::places::Places;
use super::policy::{Line, Policy};
use crate::blocks::{self, Reopen};
use crate::link::Meter;
use crate::replicas::{Replicas, Settings};
use crate::{Ahead, Budget, Fetcher, Job as Fetch, ReadAhead, cut_windows, window_bytes};
use bytes::Bytes;
use futures::future::try_join_all;
use sapwood_core::{
    BoxFuture, ByteRange, CounterSnapshot, Counters, Deadline, Error, ErrorKind, Result, Segments,
};
use sapwood_source::record::RecordedBasket;
use sapwood_source::{
    BlockOptions, CostModel, CountingSource, Identity, OpenOptions, OpenedSource, Source, Trace, open,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

/// Bytes that may be fetched ahead, as by default.
const BUDGET: u64 = 256_000_000;
/// The largest window of a recording that is believed.
const MOST_WINDOW: u64 = 4 << 30;

/// Where the files of a job are.
#[derive(Debug, Clone)]
pub enum Place {
    /// Nowhere: how long requests take is reckoned, at once.
    Model {
        /// The line of each server.
        servers: HashMap<String, Line>,
        /// That of the others.
        others: Line,
        /// Those of further places of each file, for policies that read from several. Without any, there is one more,
        /// as far as the first.
        replicas: Vec<Line>,
    },
    /// Where these URLs say, in place of those recorded; the others where they were.
    Real(HashMap<String, String>),
}

/// What a replay cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// The policy.
    pub policy: String,
    /// Seconds from the begin of the first process to the end of the last.
    pub seconds: f64,
    /// Seconds that threads waited for bytes, all threads together.
    pub waited: f64,
    /// Requests, ranges, bytes and turnarounds.
    pub counts: CounterSnapshot,
}

/// Replays a job by a policy. `cancelled` ends it early, with an error of kind `Cancelled`.
///
/// # Errors
/// `Limit` if the recording makes no sense; those of real sources.
pub fn replay(job: &Job, place: &Place, policy: &Policy, cancelled: &AtomicBool) -> Result<Cost> {
    let modelled = matches!(place, Place::Model { .. });
    let runtime = Builder::new_current_thread().enable_all().start_paused(modelled).build();
    let runtime =
        runtime.map_err(|error| Error::new(ErrorKind::Io, "no runtime can be started").caused_by(error))?;
    if !modelled && policy.sources.is_some() {
        return Err(Error::usage(format!(
            "the policy '{}' is about several places: only a model has them",
            policy.name
        ))
        .hint("leave the source out, or open the file with its replicas and record that"));
    }
    runtime.block_on(async {
        let begin = Instant::now();
        let world = Arc::new(World {
            place: place.clone(),
            policy: policy.clone(),
            counters: Arc::default(),
            meters: Mutex::default(),
            ways: Mutex::default(),
            further: further(place),
            nought: Bytes::from(vec![0; usize::try_from(MOST_BYTES).unwrap_or_default()]),
            waited: Mutex::default(),
        });
        let run = |process| Run::new(Arc::clone(&world), process, cancelled).all(begin);
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

/// What all processes share.
#[derive(Debug)]
struct World {
    place: Place,
    policy: Policy,
    counters: Arc<Counters>,
    meters: Mutex<HashMap<String, Arc<Meter>>>,
    ways: Mutex<HashMap<String, Arc<Way>>>,
    /// The ways to further places.
    further: Vec<Arc<Way>>,
    nought: Bytes,
    waited: Mutex<Duration>,
}

impl World {
    fn meter(&self, server: &str) -> Arc<Meter> {
        let mut meters = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(meters.entry(server.to_owned()).or_default())
    }

    fn way(&self, server: &str) -> Arc<Way> {
        let Place::Model { servers: lines, others, .. } = &self.place else {
            return Way::new(Line::default());
        };
        let mut ways = self.ways.lock().unwrap_or_else(PoisonError::into_inner);
        let line = lines.get(server).unwrap_or(others);
        Arc::clone(ways.entry(server.to_owned()).or_insert_with(|| Way::new(*line)))
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

    /// Opens a file, which takes as many round trips as it took when it was recorded.
    async fn open(self: &Arc<Self>, file: &File) -> Result<Fetcher> {
        let opened = match &self.place {
            Place::Real(urls) => {
                let url = urls.get(&file.url).unwrap_or(&file.url);
                let counters = Arc::clone(&self.counters);
                open(url, &OpenOptions { counters, ..OpenOptions::default() }).await?
            }
            Place::Model { .. } => match self.policy.sources {
                Some(sources) => self.open_places(file, sources).await?,
                None => self.open_model(file, self.way(&file.server), None).await,
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

    /// Opens a modelled file at the end of a way.
    async fn open_model(&self, file: &File, way: Arc<Way>, server: Option<String>) -> OpenedSource {
        let (requests, turnarounds) = match file.cost_model.immediate {
            true => (1, 2),
            false => (file.opening_requests, file.opening_turnarounds + 1),
        };
        // Connecting is a round trip, too.
        way.pass(turnarounds as f64, file.opening_bytes).await;
        self.counters.requests.add(requests);
        self.counters.turnarounds.add(turnarounds - 1);
        self.counters.fetched_bytes.add(file.opening_bytes);
        let identity = Identity { url: file.url.clone(), size: file.size, version: None };
        let cost_model = self.cost_model(file.cost_model);
        let source = Modelled { identity, cost_model, way, nought: self.nought.clone(), server };
        let source = Arc::new(CountingSource::new(source, Arc::clone(&self.counters)));
        OpenedSource { source, known: self.known(&file.known) }
    }

    /// Opens a modelled file that is at several places.
    async fn open_places(self: &Arc<Self>, file: &File, sources: usize) -> Result<OpenedSource> {
        let first = self.way(&file.server);
        let further = match self.further.is_empty() {
            true => vec![self.way_beside(&file.server)],
            false => self.further.clone(),
        };
        let (world, file) = (Arc::clone(self), file.clone());
        let open = Box::new(move |way, server| -> BoxFuture<'static, OpenedSource> {
            let (world, file) = (Arc::clone(&world), file.clone());
            Box::pin(async move { world.open_model(&file, way, Some(server)).await })
        });
        let places = Places::new([vec![first], further].concat(), open);
        let settings = Settings { sources, logged: false, ..Settings::default() };
        let (counters, trace) = (Arc::clone(&self.counters), Trace::new(Instant::now().into_std()));
        let deadline = Deadline::at((Instant::now() + Deadline::LONGEST).into_std());
        Replicas::open(places, settings, counters, trace, deadline).await
    }

    /// A way as that to a server, to another one.
    fn way_beside(&self, server: &str) -> Arc<Way> {
        let beside = format!("{server} beside");
        let line = self.way(server).line;
        let mut ways = self.ways.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(ways.entry(beside).or_insert_with(|| Way::new(line)))
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
        let options = BlockOptions { block, ..BlockOptions::default() };
        let reopen = Arc::new(Again(opened.source, opened.known));
        blocks::open(&options, url, reopen, Arc::clone(&self.counters), Deadline::after(Deadline::LONGEST))
            .await
    }
}

fn further(place: &Place) -> Vec<Arc<Way>> {
    match place {
        Place::Model { replicas, .. } => replicas.iter().map(|&line| Way::new(line)).collect(),
        Place::Real(_) => Vec::new(),
    }
}

/// A source that is open already.
#[derive(Debug)]
struct Again(Arc<dyn Source>, Segments);

impl Reopen for Again {
    fn open(&self, _tail: bool, _deadline: Deadline) -> BoxFuture<'_, Result<OpenedSource>> {
        Box::pin(async { Ok(OpenedSource { source: Arc::clone(&self.0), known: self.1.clone() }) })
    }
}

/// One process while it is replayed.
struct Run<'j> {
    world: Arc<World>,
    process: &'j Process,
    cancelled: &'j AtomicBool,
    /// Steps that others follow from.
    done: HashMap<usize, watch::Sender<bool>>,
    fetchers: Mutex<HashMap<u64, Fetcher>>,
    reads: Mutex<HashMap<u64, Reading>>,
    /// Fetches of lazy readers, by step.
    fetches: Mutex<HashMap<usize, Vec<InFlight>>>,
}

/// A fetch that is under way.
type InFlight = JoinHandle<Result<Vec<Bytes>>>;

/// A read that has begun.
struct Reading {
    /// Windows of each range.
    windows: std::vec::IntoIter<usize>,
    ahead: Vec<ReadAhead<()>>,
}

impl<'j> Run<'j> {
    fn new(world: Arc<World>, process: &'j Process, cancelled: &'j AtomicBool) -> Self {
        let followed = process.steps.iter().filter_map(|step| step.after);
        let done = followed.map(|step| (step, watch::Sender::new(false))).collect();
        Run {
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
        let mut threads: BTreeMap<u64, Vec<(usize, &Step)>> = BTreeMap::new();
        for (index, step) in self.process.steps.iter().enumerate() {
            threads.entry(step.thread).or_default().push((index, step));
        }
        let last = self.process.steps.iter().map(|step| step.end).max().unwrap_or_default();
        try_join_all(threads.into_values().map(|steps| self.thread(steps))).await?;
        // What the program did after its last read.
        sleep(Duration::from_micros(self.process.end.saturating_sub(last))).await;
        Ok(())
    }

    async fn thread(&self, mut steps: Vec<(usize, &Step)>) -> Result<()> {
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

    async fn act(&self, index: usize, step: &Step) -> Result<()> {
        match &step.action {
            Action::Open(number) => {
                let Some(file) = self.process.files.get(number) else { return Ok(()) };
                let fetcher = self.world.open(file).await?;
                lock(&self.fetchers).insert(*number, fetcher);
            }
            Action::Structure(file, ranges) => {
                if let Some(fetcher) = self.fetcher(*file) {
                    fetcher.fetch(ranges, Deadline::after(Deadline::LONGEST)).await?;
                }
            }
            Action::Begin(read) => {
                let found = self.process.reads.get(read).filter(|read| read.kind != "lazy");
                if let Some(reading) = found.map(|read| self.begin(read)) {
                    lock(&self.reads).insert(*read, reading);
                }
            }
            Action::Next(read) => {
                let Some(mut reading) = lock(&self.reads).remove(read) else { return Ok(()) };
                for _ in 0..reading.windows.next().unwrap_or_default() {
                    for ahead in &mut reading.ahead {
                        ahead.next_here().await.transpose()?;
                    }
                }
                lock(&self.reads).insert(*read, reading);
            }
            Action::End(read) => drop(lock(&self.reads).remove(read)),
            Action::Fetch(baskets) => {
                let fetches = by_file(baskets).into_iter().filter_map(|(file, ranges)| {
                    let fetcher = self.fetcher(file)?;
                    let deadline = Deadline::after(Deadline::LONGEST);
                    Some(Handle::current().spawn(async move { fetcher.fetch(&ranges, deadline).await }))
                });
                let fetches = fetches.collect();
                lock(&self.fetches).insert(index, fetches);
            }
            Action::Touch(needs) => {
                for need in needs {
                    let fetches = lock(&self.fetches).remove(need).unwrap_or_default();
                    for fetch in fetches {
                        let broken = || Error::new(ErrorKind::Io, "a task of the replay broke down");
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

    /// Cuts the ranges of a read into windows, as it is done for a distant file, and starts with the first.
    fn begin(&self, read: &Read) -> Reading {
        let link = self.fetcher(read.file).map(|fetcher| fetcher.link()).unwrap_or_default();
        let most = self.world.policy.window.unwrap_or_else(|| window_bytes(&link, BUDGET));
        let baskets = read.ranges.iter().flat_map(|range| &range.baskets);
        let mut jobs: BTreeMap<u64, Vec<Fetch<()>>> =
            baskets.map(|basket| (basket.file, Vec::new())).collect();
        let (mut counts, mut before) = (Vec::new(), HashSet::new());
        for range in &read.ranges {
            let costs = range.baskets.iter().map(|basket| (basket.first_entry, basket.range.len));
            let windows = cut_windows(&range.clusters, costs, most, range.entries.clone());
            let cut = windows.len() > 1;
            for window in &windows {
                let inside = range.baskets.iter().filter(|basket| !cut || touches(basket, window, range));
                let here: HashSet<(u64, ByteRange)> =
                    inside.map(|basket| (basket.file, basket.range)).collect();
                for (file, jobs) in &mut jobs {
                    let new = here.iter().filter(|place| place.0 == *file && !before.contains(*place));
                    let mut wanted: Vec<ByteRange> = new.map(|place| place.1).collect();
                    wanted.sort_unstable();
                    jobs.push(Fetch { wanted, tag: () });
                }
                before = here;
            }
            counts.push(windows.len());
        }
        let ahead = jobs.into_iter().filter_map(|(file, jobs)| {
            let fetcher = self.fetcher(file)?;
            let depth = match self.world.policy.ahead {
                Some(jobs) => Ahead { jobs, bytes: u64::MAX },
                None => Ahead::of_windows(most, fetcher.round_trip()),
            };
            let ahead = ReadAhead::new(jobs, fetcher, Handle::current(), depth);
            Some(if self.world.policy.ahead.is_some() { ahead.fixed() } else { ahead })
        });
        Reading { ahead: ahead.collect(), windows: counts.into_iter() }
    }
}

/// Whether a basket is fetched with a window: it is with the one that it begins in, or with the first of its range.
fn touches(basket: &RecordedBasket, window: &std::ops::Range<u64>, range: &super::job::EntryRange) -> bool {
    let first = range.entries.start == window.start;
    (first && basket.first_entry < window.start) || window.contains(&basket.first_entry)
}

/// Microseconds that a step worked, and did not wait.
fn worked(step: &Step) -> u64 {
    match step.action {
        Action::Next(_) | Action::Touch(_) => {
            (step.end - step.begin.min(step.end)).saturating_sub(step.waited)
        }
        _ => 0,
    }
}

fn by_file(baskets: &[RecordedBasket]) -> BTreeMap<u64, Vec<ByteRange>> {
    let mut ranges: BTreeMap<u64, Vec<ByteRange>> = BTreeMap::new();
    for basket in baskets {
        ranges.entry(basket.file).or_default().push(basket.range);
    }
    ranges
}

fn lock<T>(slot: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}
