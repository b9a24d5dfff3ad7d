//! What all reads of one file share: its sources, and their events.

use super::agree::compare;
use super::quality::Quality;
use super::replica::Replica;
use super::roster::{ReplicaId, Roster};
use super::search::Search;
use super::{Finder, KnownReplica, ReplicaReadOptions};
use crate::link::Meter;
use futures::stream::{FuturesUnordered, StreamExt};
use sapwood_core::{Counters, Deadline, Error, ErrorKind, Result, Segments, SourceEvent, server_of};
use sapwood_source::{
    Checksum, FURTHER_TAIL, Identity, OpenedSource, SHORT_HEAD, Source, Trace, TracedSource, log_event,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, OnceCell};
use tokio::task::JoinHandle;

/// Candidates to try at the same time, while those tried first are silent.
const TOGETHER: usize = 3;

/// From this share of the bytes after which further sources are searched for, requests are cut into parts:
/// otherwise the first of many large ones would go entirely to a source that was not measured yet.
const EARLY: u64 = 8;

/// Bytes that opening a further source takes.
const OPENING: u64 = SHORT_HEAD + FURTHER_TAIL;

/// How long a search for a further source may take.
const SEARCH: Duration = Duration::from_secs(60);

/// What all reads of one file share.
#[derive(Debug)]
pub(crate) struct SharedReplicas {
    pub(crate) finder: Arc<dyn Finder>,
    pub(crate) options: ReplicaReadOptions,
    pub(crate) counters: Arc<Counters>,
    trace: Trace,
    pub(crate) identity: Identity,
    /// The bytes of the first source, with which others are compared.
    known: Segments,
    /// The checksums of the first source, once they were requested.
    pub(crate) checksums: OnceCell<Vec<Checksum>>,
    state: Mutex<SourcesState>,
    /// Notified whenever a source may have become free, better, or worse.
    pub(crate) changed: Notify,
}

/// The state of the sources.
#[derive(Debug)]
pub(crate) struct SourcesState {
    pub(crate) roster: Roster,
    pub(crate) search: Search,
    sources: Vec<Arc<dyn Source>>,
    /// Bytes that were wanted since the file was opened.
    pub(crate) wanted: u64,
    /// Bytes that were read to measure sources.
    pub(crate) probed: u64,
    /// Why nothing that was read can be trusted.
    pub(crate) spoiled: Option<Error>,
    /// The source that is being probed.
    pub(crate) probing: Option<ReplicaId>,
    /// Tasks that are cancelled with the file.
    tasks: Vec<JoinHandle<()>>,
}

/// The current time of the runtime, which a test may stop.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

impl SharedReplicas {
    pub(crate) async fn open(
        finder: Arc<dyn Finder>,
        options: ReplicaReadOptions,
        counters: Arc<Counters>,
        trace: Trace,
        deadline: Deadline,
    ) -> Result<(Arc<SharedReplicas>, Segments)> {
        let found = find(&*finder, &[], options.read_timeout, &counters, deadline).await;
        let (began, opened) = found?
            .ok_or_else(|| Error::new(ErrorKind::NotFound, "there is no replica to read the file from"))?;
        let OpenedSource { source, known } = opened;
        let state = SourcesState {
            roster: Roster::new(options),
            search: Search::default(),
            sources: Vec::new(),
            wanted: 0,
            probed: 0,
            spoiled: None,
            probing: None,
            tasks: Vec::new(),
        };
        let shared = SharedReplicas {
            finder,
            options,
            counters,
            trace,
            identity: source.identity().clone(),
            known: known.clone(),
            checksums: OnceCell::new(),
            state: Mutex::new(state),
            changed: Notify::new(),
        };
        shared.join(source, began, &known);
        let shared = Arc::new(shared);
        shared.verify_first();
        Ok((shared, known))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, SourcesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn source(&self, id: ReplicaId) -> Option<Arc<dyn Source>> {
        self.lock().sources.get(id).cloned()
    }

    /// The active sources.
    pub(crate) fn active(&self) -> Vec<Arc<dyn Source>> {
        let state = self.lock();
        state.roster.active().filter_map(|id| state.sources.get(id).cloned()).collect()
    }

    /// Changes the state, logs the events, and wakes the waiters.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Roster, Instant) -> T) -> T {
        let (result, news) = {
            let state = &mut *self.lock();
            let result = change(&mut state.roster, now());
            (result, self.news(state))
        };
        self.log(news);
        self.changed.notify_waiters();
        result
    }

    /// The events, with the names of the sources.
    pub(crate) fn news(&self, state: &mut SourcesState) -> Vec<(Option<String>, SourceEvent, String)> {
        let news = state.roster.take_news();
        if news.iter().any(|one| one.event == SourceEvent::Switched) {
            self.seed_link(state);
        }
        let name = |id: ReplicaId| state.roster.replicas().get(id).map(|replica| replica.name.clone());
        news.into_iter().map(|one| (name(one.id), one.event, one.text)).collect()
    }

    pub(crate) fn log(&self, news: Vec<(Option<String>, SourceEvent, String)>) {
        for (name, event, text) in news {
            self.counters.retries.add(u64::from(matches!(event, SourceEvent::Left | SourceEvent::Retried)));
            match event {
                // Normal and frequent: not worth logging at once.
                SourceEvent::Opened | SourceEvent::Duplicated => {
                    self.counters.events.log(name.as_deref(), event, text)
                }
                _ if !self.options.logged => self.counters.events.log(name.as_deref(), event, text),
                _ => log_event(&self.counters, &self.identity.url, name.as_deref(), event, &text),
            }
        }
    }

    /// Adds a source that has the right file.
    fn join(&self, source: Arc<dyn Source>, began: Instant, known: &Segments) -> ReplicaId {
        let (cost_model, round_trip) = (source.cost_model(), source.round_trip());
        let name = source.server().unwrap_or_else(|| source.identity().url.clone());
        let quality = Quality::seeded(Meter::of(&name).link(), round_trip);
        let traced = TracedSource::within(source, self.trace.clone()).with_opening(began, known);
        let id = {
            let state = &mut *self.lock();
            state.sources.push(Arc::new(traced));
            state.roster.join(Replica::new(name, quality), cost_model)
        };
        self.change(|roster, now| roster.refresh(now));
        id
    }

    /// For several sources together, the planner starts with what is known of each.
    fn seed_link(&self, state: &SourcesState) {
        let replicas: Vec<_> =
            state.roster.active().filter_map(|id| state.roster.replicas().get(id)).collect();
        if replicas.len() < 2 {
            return;
        }
        let link = crate::Link {
            round_trip: replicas
                .iter()
                .map(|replica| replica.quality.latency())
                .reduce(f64::max)
                .map(Duration::from_secs_f64),
            bandwidth: replicas
                .iter()
                .map(|replica| replica.quality.measured())
                .sum::<Option<f64>>()
                .map(|sum| sum as u64),
        };
        Meter::of(&names(&state.roster)).seed(link, now());
    }

    /// The active servers, as one name.
    pub(crate) fn server(&self) -> Option<String> {
        let (names, only) = {
            let state = self.lock();
            let mut active = state.roster.active();
            let only = active.next().filter(|_| active.next().is_none());
            (names(&state.roster), only.and_then(|id| state.sources.get(id).cloned()))
        };
        match only {
            Some(only) => only.server(),
            None => Some(names).filter(|names| !names.is_empty()),
        }
    }

    /// Whether further sources help before one fails.
    fn may_have_more(&self) -> bool {
        self.options.sources > 1 && self.identity.size >= self.options.large
    }

    /// Whether there is more than one source, or may soon be.
    pub(crate) fn is_shared(&self, state: &SourcesState) -> bool {
        let several = state.roster.at_hand().nth(1).is_some();
        let soon = state.wanted >= self.options.large / EARLY;
        let more = self.may_have_more() && soon && !state.search.is_exhausted();
        several || more || state.roster.active().next().is_none()
    }

    /// Searches for a further source, if one is wanted and it is time.
    pub(crate) fn search_if_wanted(self: &Arc<Self>) {
        let search = {
            let state = &mut *self.lock();
            let at_hand = state.roster.at_hand().count();
            let failed = state.roster.replicas().iter().any(|replica| replica.error.is_some())
                || state.roster.all_are_silent(now());
            let more = self.may_have_more() && (state.wanted >= self.options.large);
            let wanted = if more || failed { self.options.sources.max(1) } else { 1 };
            if at_hand < wanted {
                state.search.begin(at_hand > 0, now()).then_some(0)
            } else {
                let probes = more && self.probe_budget(state) >= OPENING;
                (probes && state.search.begin_beyond(self.options.probe_interval, now())).then_some(OPENING)
            }
        };
        if let Some(probed) = search {
            self.run_search(probed);
        }
    }

    /// Bytes that may be read now to measure sources.
    pub(crate) fn probe_budget(&self, state: &SourcesState) -> u64 {
        let budget = (state.wanted as f64 * self.options.probes) as u64;
        budget.saturating_sub(state.probed)
    }

    /// Counts bytes that are read to measure sources.
    pub(crate) fn count_probe(&self, state: &mut SourcesState, bytes: u64) {
        state.probed += bytes;
        self.counters.probe_bytes.add(bytes);
    }

    /// Searches for one source; `probed` bytes of its opening count as a probe.
    fn run_search(self: &Arc<Self>, probed: u64) {
        self.count_probe(&mut self.lock(), probed);
        let shared = Arc::clone(self);
        self.spawn(async move {
            let found = shared.find_one_more().await;
            shared.lock().search.end(found, now());
            shared.changed.notify_waiters();
        });
    }

    async fn find_one_more(self: &Arc<Self>) -> bool {
        let deadline = Deadline::at(now() + SEARCH);
        let known = self.all_known();
        let found = find(&*self.finder, &known, self.options.read_timeout, &self.counters, deadline);
        let found = tokio::time::timeout_at(deadline.instant().into(), found).await;
        let Ok(Ok(Some((began, opened)))) = found else { return false };
        let agreed = match self.agreed(&opened, deadline).await {
            Ok(()) => {
                let OpenedSource { source, known } = &opened;
                self.verified(source, || self.join(Arc::clone(source), began, known)).await
            }
            different => different,
        };
        match agreed {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Changed => self.refuse(&opened, error),
            Err(error) => self.log(vec![(opened.source.server(), SourceEvent::Failed, error.to_string())]),
        }
        true
    }

    /// Compares a further source with the bytes of the first one.
    async fn agreed(&self, opened: &OpenedSource, deadline: Deadline) -> Result<()> {
        let OpenedSource { source, known } = opened;
        let ask = compare((&self.identity, &self.known), (source.identity(), known))?;
        if ask.is_empty() {
            return Ok(());
        }
        let mut more = Segments::default();
        for (range, bytes) in ask.iter().zip(source.read_ranges(&ask, deadline).await?) {
            more.insert(range.start, bytes);
        }
        compare((&self.identity, &self.known), (source.identity(), &more)).map(drop)
    }

    fn refuse(&self, opened: &OpenedSource, error: Error) {
        let source = &opened.source;
        let name = source.server().unwrap_or_else(|| source.identity().url.clone());
        {
            let state = &mut *self.lock();
            state.sources.push(Arc::clone(source));
            let id = state.roster.join(Replica::new(name, Quality::default()), source.cost_model());
            state.roster.refuse(id, error);
        }
        self.change(|roster, now| roster.refresh(now));
    }

    fn all_known(&self) -> Vec<KnownReplica> {
        let state = self.lock();
        let replicas = state.roster.replicas().iter().zip(&state.sources);
        let known = replicas.map(|(replica, source)| KnownReplica {
            url: source.identity().url.clone(),
            server: source.server(),
            standing: replica.standing(),
        });
        known.collect()
    }

    /// Runs a task that is cancelled with the file.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let task = tokio::spawn(task);
        let tasks = &mut self.lock().tasks;
        tasks.retain(|task| !task.is_finished());
        tasks.push(task);
    }

    /// Cancels the tasks.
    pub(crate) fn stop(&self) {
        self.lock().tasks.drain(..).for_each(|task| task.abort());
    }
}

fn names(roster: &Roster) -> String {
    let names: Vec<_> = roster.active().filter_map(|id| roster.replicas().get(id)).collect();
    names.iter().map(|replica| replica.name.as_str()).collect::<Vec<_>>().join("+")
}

/// The next source that can be opened, and when that began. While a candidate is silent, the next ones are
/// tried, too.
///
/// # Errors
/// That of the last candidate, if none could be opened.
async fn find(
    finder: &dyn Finder,
    known: &[KnownReplica],
    read_timeout: Duration,
    counters: &Counters,
    deadline: Deadline,
) -> Result<Option<(Instant, OpenedSource)>> {
    let began = now();
    let mut trying = FuturesUnordered::new();
    let (mut last, mut exhausted) = (None, false);
    loop {
        let (silent, try_more) = (trying.len(), !exhausted && trying.len() < TOGETHER);
        if try_more && (silent == 0 || last_is_silent(began, silent, read_timeout)) {
            trying.push(finder.next(known, deadline));
        }
        let next = began + read_timeout.saturating_mul(u32::try_from(trying.len()).unwrap_or(u32::MAX));
        tokio::select! {
            biased;
            Some(tried) = trying.next() => match tried {
                Ok(Some(opened)) => return Ok(Some((began, opened))),
                Ok(None) => exhausted = true,
                Err(error) => {
                    let url = error.url_str().unwrap_or("a replica");
                    log_event(counters, url, server_of(url).as_deref(), SourceEvent::Failed, error.message());
                    last = Some(error);
                }
            },
            () = tokio::time::sleep_until(next.into()), if !exhausted && trying.len() < TOGETHER => {}
        }
        if exhausted && trying.is_empty() {
            return last.map_or(Ok(None), Err);
        }
    }
}

/// Whether this many candidates had enough time to answer.
fn last_is_silent(began: Instant, places: usize, read_timeout: Duration) -> bool {
    let places = u32::try_from(places).unwrap_or(u32::MAX);
    now().saturating_duration_since(began) >= read_timeout.saturating_mul(places)
}
