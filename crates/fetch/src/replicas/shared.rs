//! What all reads of one file share: its sources, and what happens to them.

use super::agree::compare;
use super::member::Member;
use super::quality::Quality;
use super::roster::{Id, Roster};
use super::search::Search;
use super::{Finder, Known, Settings};
use crate::link::Meter;
use futures::stream::{FuturesUnordered, StreamExt};
use sapwood_core::{Counters, Deadline, Error, ErrorKind, Result, Segments, SourceEvent, server_of};
use sapwood_source::{Checksum, Identity, OpenedSource, Source, Trace, TracedSource, log_event};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, OnceCell};
use tokio::task::JoinHandle;

/// Places that are tried at the same time, while those tried first are silent.
const TOGETHER: usize = 3;

/// From this part of what is wanted before further sources are looked for, requests are cut into pieces: the first of many
/// large ones would else be left to a source of which nothing is known.
const EARLY: u64 = 8;

/// How long a search for a further source may take.
const SEARCH: Duration = Duration::from_secs(60);

/// What all reads of one file share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) finder: Arc<dyn Finder>,
    pub(crate) settings: Settings,
    pub(crate) counters: Arc<Counters>,
    trace: Trace,
    pub(crate) identity: Identity,
    /// What the first source brought: what others are compared with.
    known: Segments,
    /// Those of the first source, once they were asked for.
    pub(crate) checksums: OnceCell<Vec<Checksum>>,
    state: Mutex<State>,
    /// Told whenever a source may have become free, or better, or worse.
    pub(crate) changed: Notify,
}

/// The state of the sources.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) roster: Roster,
    pub(crate) search: Search,
    sources: Vec<Arc<dyn Source>>,
    /// Bytes that were wanted since the file was opened.
    pub(crate) wanted: u64,
    /// Bytes that were read to keep knowing what sources can do.
    pub(crate) probed: u64,
    /// Why nothing that was read can be trusted.
    pub(crate) spoiled: Option<Error>,
    /// The source that is probed now.
    pub(crate) probing: Option<Id>,
    /// What is under way, and abandoned with the file.
    tasks: Vec<JoinHandle<()>>,
}

/// The time now: the one that the runtime has, which a test may stop.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

impl Shared {
    pub(crate) async fn open(
        finder: Arc<dyn Finder>,
        settings: Settings,
        counters: Arc<Counters>,
        trace: Trace,
        deadline: Deadline,
    ) -> Result<(Arc<Shared>, Segments)> {
        let found = find(&*finder, &[], settings.stall, &counters, deadline).await;
        let (began, opened) = found?
            .ok_or_else(|| Error::new(ErrorKind::NotFound, "there is no place to read the file from"))?;
        let OpenedSource { source, known } = opened;
        let state = State {
            roster: Roster::new(settings),
            search: Search::default(),
            sources: Vec::new(),
            wanted: 0,
            probed: 0,
            spoiled: None,
            probing: None,
            tasks: Vec::new(),
        };
        let shared = Shared {
            finder,
            settings,
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

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn source(&self, id: Id) -> Option<Arc<dyn Source>> {
        self.lock().sources.get(id).cloned()
    }

    /// The sources that are read from.
    pub(crate) fn active(&self) -> Vec<Arc<dyn Source>> {
        let state = self.lock();
        state.roster.active().filter_map(|id| state.sources.get(id).cloned()).collect()
    }

    /// Changes the state, tells what happened, and wakes those who wait for it.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Roster, Instant) -> T) -> T {
        let (result, news) = {
            let state = &mut *self.lock();
            let result = change(&mut state.roster, now());
            (result, self.news(state))
        };
        self.tell(news);
        self.changed.notify_waiters();
        result
    }

    /// What happened, with the names of the sources.
    pub(crate) fn news(&self, state: &mut State) -> Vec<(Option<String>, SourceEvent, String)> {
        let news = state.roster.take_news();
        if news.iter().any(|one| one.event == SourceEvent::Switched) {
            self.seed_link(state);
        }
        let name = |id: Id| state.roster.members().get(id).map(|member| member.name.clone());
        news.into_iter().map(|one| (name(one.id), one.event, one.text)).collect()
    }

    pub(crate) fn tell(&self, news: Vec<(Option<String>, SourceEvent, String)>) {
        for (name, event, text) in news {
            self.counters.retries.add(u64::from(matches!(event, SourceEvent::Left | SourceEvent::Retried)));
            match event {
                // As usual, and often: of no interest while it happens.
                SourceEvent::Opened | SourceEvent::Duplicated => {
                    self.counters.events.log(name.as_deref(), event, text)
                }
                _ if !self.settings.logged => self.counters.events.log(name.as_deref(), event, text),
                _ => log_event(&self.counters, &self.identity.url, name.as_deref(), event, &text),
            }
        }
    }

    /// Adds a source that has the right file.
    fn join(&self, source: Arc<dyn Source>, began: Instant, known: &Segments) -> Id {
        let (cost_model, round_trip) = (source.cost_model(), source.round_trip());
        let name = source.server().unwrap_or_else(|| source.identity().url.clone());
        let quality = Quality::seeded(Meter::of(&name).link(), round_trip);
        let traced = TracedSource::within(source, self.trace.clone()).with_opening(began, known);
        let id = {
            let state = &mut *self.lock();
            state.sources.push(Arc::new(traced));
            state.roster.join(Member::new(name, quality), cost_model)
        };
        self.change(|roster, now| roster.refresh(now));
        id
    }

    /// Of several sources together, the planner knows at first what is known of each.
    fn seed_link(&self, state: &State) {
        let members: Vec<_> = state.roster.active().filter_map(|id| state.roster.members().get(id)).collect();
        if members.len() < 2 {
            return;
        }
        let link = crate::Link {
            round_trip: members
                .iter()
                .map(|member| member.quality.latency())
                .reduce(f64::max)
                .map(Duration::from_secs_f64),
            bandwidth: members
                .iter()
                .map(|member| member.quality.measured())
                .sum::<Option<f64>>()
                .map(|sum| sum as u64),
        };
        Meter::of(&names(&state.roster)).seed(link, now());
    }

    /// The servers that are read from, as one name.
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

    /// Whether further sources are of use before one fails.
    fn may_have_more(&self) -> bool {
        self.settings.sources > 1 && self.identity.size >= self.settings.large
    }

    /// Whether more than one source is there, or may soon be.
    pub(crate) fn is_shared(&self, state: &State) -> bool {
        let several = state.roster.at_hand().nth(1).is_some();
        let soon = state.wanted >= self.settings.large / EARLY;
        let more = self.may_have_more() && soon && !state.search.is_exhausted();
        several || more || state.roster.active().next().is_none()
    }

    /// Looks for a further source, if one is wanted and it is time.
    pub(crate) fn search_if_wanted(self: &Arc<Self>) {
        let begin = {
            let state = &mut *self.lock();
            let at_hand = state.roster.at_hand().count();
            let failed = state.roster.members().iter().any(|member| member.error.is_some());
            let more = self.may_have_more() && (state.wanted >= self.settings.large);
            let wanted = if more || failed { self.settings.sources.max(1) } else { 1 };
            at_hand < wanted && state.search.begin(at_hand > 0, now())
        };
        if begin {
            self.run_search();
        }
    }

    fn run_search(self: &Arc<Self>) {
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
        let found = find(&*self.finder, &known, self.settings.stall, &self.counters, deadline);
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
            Err(error) => self.tell(vec![(opened.source.server(), SourceEvent::Failed, error.to_string())]),
        }
        true
    }

    /// Compares what a further source has with what the first one brought.
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
            let id = state.roster.join(Member::new(name, Quality::default()), source.cost_model());
            state.roster.refuse(id, error);
        }
        self.change(|roster, now| roster.refresh(now));
    }

    fn all_known(&self) -> Vec<Known> {
        let state = self.lock();
        let members = state.roster.members().iter().zip(&state.sources);
        let known = members.map(|(member, source)| Known {
            url: source.identity().url.clone(),
            server: source.server(),
            standing: member.standing(),
        });
        known.collect()
    }

    /// Runs something that is abandoned with the file.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let task = tokio::spawn(task);
        let tasks = &mut self.lock().tasks;
        tasks.retain(|task| !task.is_finished());
        tasks.push(task);
    }

    /// Abandons what is under way.
    pub(crate) fn stop(&self) {
        self.lock().tasks.drain(..).for_each(|task| task.abort());
    }
}

fn names(roster: &Roster) -> String {
    let names: Vec<_> = roster.active().filter_map(|id| roster.members().get(id)).collect();
    names.iter().map(|member| member.name.as_str()).collect::<Vec<_>>().join("+")
}

/// The next source that can be opened, and when that began. Where a place is silent, the next ones are tried, too.
///
/// # Errors
/// That of the last place, if none could be opened.
async fn find(
    finder: &dyn Finder,
    known: &[Known],
    stall: Duration,
    counters: &Counters,
    deadline: Deadline,
) -> Result<Option<(Instant, OpenedSource)>> {
    let began = now();
    let mut trying = FuturesUnordered::new();
    let (mut last, mut exhausted) = (None, false);
    loop {
        let (silent, try_more) = (trying.len(), !exhausted && trying.len() < TOGETHER);
        if try_more && (silent == 0 || last_is_silent(began, silent, stall)) {
            trying.push(finder.next(known, deadline));
        }
        let next = began + stall.saturating_mul(u32::try_from(trying.len()).unwrap_or(u32::MAX));
        tokio::select! {
            biased;
            Some(tried) = trying.next() => match tried {
                Ok(Some(opened)) => return Ok(Some((began, opened))),
                Ok(None) => exhausted = true,
                Err(error) => {
                    let url = error.url_str().unwrap_or("a place of the file");
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

/// Whether so many places had time enough to answer.
fn last_is_silent(began: Instant, places: usize, stall: Duration) -> bool {
    let places = u32::try_from(places).unwrap_or(u32::MAX);
    now().saturating_duration_since(began) >= stall.saturating_mul(places)
}
