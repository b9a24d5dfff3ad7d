//! The sources of a file, and which of them are active.
//!
//! Pure: no I/O, and the time is an argument. Events are returned for others to log.

use super::ReplicaReadOptions;
use super::divide::Worker;
use super::replica::{Replica, ReplicaState};
use sapwood_core::{Error, ErrorKind, SourceEvent};
use sapwood_source::CostModel;
use std::time::{Duration, Instant};

/// The index of a source among the replicas.
pub(crate) type ReplicaId = usize;

/// How long a source rests at least that reports that the file is missing, or access is denied.
const DENIED_REST: Duration = Duration::from_secs(30);

/// An idle source must be better by this share of the time to replace an active one.
const BETTER: f64 = 0.7;

/// Bytes for which sources are compared.
const TYPICAL: u64 = 1 << 20;

/// A source that no other can replace is asked again sooner after an error: after this share of its rest, and
/// at most this many times the first rest.
const ALONE: (f64, u32) = (0.25, 8);

/// The time between two replacements of sources.
const DWELL: Duration = Duration::from_secs(10);

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReplicaNews {
    pub(crate) id: ReplicaId,
    pub(crate) event: SourceEvent,
    pub(crate) text: String,
}

/// A request that was sent: its number at the source, and after which time it is late.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentRequest {
    pub(crate) number: u64,
    pub(crate) limit: Duration,
}

/// The sources of a file.
#[derive(Debug)]
pub(crate) struct Roster {
    pub(crate) options: ReplicaReadOptions,
    replicas: Vec<Replica>,
    cost_model: Vec<CostModel>,
    numbers: u64,
    exchanged: Option<Instant>,
    /// The sources that were last reported as active.
    reported: Vec<ReplicaId>,
    news: Vec<ReplicaNews>,
}

impl Roster {
    pub(crate) fn new(options: ReplicaReadOptions) -> Self {
        let (replicas, cost_model, reported, news) = Default::default();
        Roster { options, replicas, cost_model, numbers: 0, exchanged: None, reported, news }
    }

    /// Adds a source.
    pub(crate) fn join(&mut self, replica: Replica, cost_model: CostModel) -> ReplicaId {
        let id = self.replicas.len();
        self.replicas.push(replica);
        self.cost_model.push(cost_model);
        self.log(id, SourceEvent::Opened, "");
        id
    }

    pub(crate) fn replicas(&self) -> &[Replica] {
        &self.replicas
    }

    pub(crate) fn cost_model(&self, id: ReplicaId) -> CostModel {
        self.cost_model.get(id).copied().unwrap_or(CostModel::MEMORY)
    }

    /// The events since the last call.
    pub(crate) fn take_news(&mut self) -> Vec<ReplicaNews> {
        std::mem::take(&mut self.news)
    }

    pub(crate) fn log(&mut self, id: ReplicaId, event: SourceEvent, text: impl Into<String>) {
        self.news.push(ReplicaNews { id, event, text: text.into() });
    }

    /// The active sources.
    pub(crate) fn active(&self) -> impl Iterator<Item = ReplicaId> {
        self.of(|state| state == ReplicaState::Active)
    }

    /// The active sources and those that could be active at once.
    pub(crate) fn at_hand(&self) -> impl Iterator<Item = ReplicaId> {
        self.of(|state| matches!(state, ReplicaState::Active | ReplicaState::Idle { .. }))
    }

    fn of(&self, is: impl Fn(ReplicaState) -> bool) -> impl Iterator<Item = ReplicaId> {
        self.replicas.iter().enumerate().filter(move |(_, replica)| is(replica.state)).map(|(id, _)| id)
    }

    /// The sources that get work: not the silent ones, unless all are silent.
    pub(crate) fn workers(&self, now: Instant) -> Vec<(ReplicaId, Worker)> {
        let all_silent = self.active().all(|id| self.is_silent(id, now));
        let usable = self.active().filter(|&id| all_silent || !self.is_silent(id, now));
        usable.filter_map(|id| Some((id, self.replicas.get(id)?.worker()))).collect()
    }

    /// The source to ask when others failed or are late: the one that will finish first, preferably an active
    /// one.
    pub(crate) fn elsewhere(
        &self,
        not: impl Fn(ReplicaId) -> bool,
        bytes: u64,
        now: Instant,
    ) -> Option<ReplicaId> {
        let all_silent = self.all_are_silent(now);
        let usable = self.at_hand().filter(|&id| !not(id) && (all_silent || !self.is_silent(id, now)));
        let cost = |id: &ReplicaId| {
            let replica = self.replicas.get(*id);
            let rank = replica.map_or(3, |replica| match replica.state {
                ReplicaState::Active => 0,
                ReplicaState::Idle { trusted: true } => 1,
                _ => 2,
            });
            (rank, replica.map_or(f64::MAX, |replica| replica.worker().finish(bytes as f64)))
        };
        usable.min_by(|a, b| {
            let (a, b) = (cost(a), cost(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        })
    }

    pub(crate) fn has_room(&self, id: ReplicaId) -> bool {
        self.replicas.get(id).is_some_and(|replica| replica.has_room(&self.cost_model(id)))
    }

    /// A request is sent.
    pub(crate) fn sent(&mut self, id: ReplicaId, bytes: u64, now: Instant) -> SentRequest {
        self.numbers += 1;
        let number = self.numbers;
        let replica = self.replicas.get_mut(id);
        let limit = replica.map_or(Duration::MAX, |replica| replica.sent(number, bytes, &self.options, now));
        SentRequest { number, limit }
    }

    /// A request was answered.
    pub(crate) fn answered(&mut self, id: ReplicaId, number: u64, now: Instant) {
        let Some(replica) = self.replicas.get_mut(id) else { return };
        replica.answered(number, now);
        match replica.state {
            ReplicaState::Resting { silent: true, .. } => {
                replica.state = ReplicaState::Idle { trusted: true };
                self.log(id, SourceEvent::Resumed, "it answers again");
            }
            ReplicaState::Idle { trusted: false } => {
                replica.state = ReplicaState::Idle { trusted: true };
                self.log(id, SourceEvent::Resumed, "it answers again");
            }
            _ => {}
        }
        self.refresh(now);
    }

    /// A request failed. Failures of requests that were sent before the last failure are not news.
    pub(crate) fn failed(&mut self, id: ReplicaId, number: u64, error: Error, now: Instant) {
        let Some(replica) = self.replicas.get_mut(id) else { return };
        let is_known = replica.failed(number);
        if matches!(replica.state, ReplicaState::Refused) {
            return;
        }
        let text = format!("{}: {}", error.kind().code(), error.message());
        if error.kind() == ErrorKind::Changed {
            replica.state = ReplicaState::Refused;
            replica.error = Some(error);
            self.log(id, SourceEvent::Refused, text);
        } else if !is_known && !matches!(replica.state, ReplicaState::Resting { silent: false, .. }) {
            self.rest(id, error, text, false, now);
        }
        self.refresh(now);
    }

    /// A request was not answered in its time.
    pub(crate) fn silent(&mut self, id: ReplicaId, number: u64, now: Instant) {
        self.late(id, number, now);
        if self.at_hand().any(|at_hand| at_hand == id) {
            self.rest(id, Error::new(ErrorKind::Timeout, "it is silent"), "it is silent".into(), true, now);
        }
        self.refresh(now);
    }

    /// A source has a different file.
    pub(crate) fn refuse(&mut self, id: ReplicaId, error: Error) {
        let text = error.message().to_owned();
        if let Some(replica) = self.replicas.get_mut(id) {
            replica.state = ReplicaState::Refused;
            replica.error = Some(error);
        }
        self.log(id, SourceEvent::Refused, text);
    }

    /// A request was cancelled because another source answered first.
    pub(crate) fn late(&mut self, id: ReplicaId, number: u64, now: Instant) {
        if let Some(replica) = self.replicas.get_mut(id) {
            replica.late(number, now);
        }
    }

    /// A request is no longer needed.
    pub(crate) fn dropped(&mut self, id: ReplicaId, number: u64) {
        if let Some(replica) = self.replicas.get_mut(id) {
            replica.dropped(number);
        }
    }

    /// Lets a source rest: longer with each failure, and as long as the server asks for.
    fn rest(&mut self, id: ReplicaId, error: Error, text: String, silent: bool, now: Instant) {
        let alone = !is_final(error.kind()) && self.at_hand().all(|other| other == id);
        let Some(replica) = self.replicas.get_mut(id) else { return };
        let doubled = 2_u32.saturating_pow(replica.failures.min(30));
        let least = if is_final(error.kind()) { DENIED_REST } else { Duration::ZERO };
        let (usual, longest) = (self.options.rest.saturating_mul(doubled), self.options.longest_rest);
        let usual = match alone {
            true => usual.mul_f64(ALONE.0).min(self.options.rest.saturating_mul(ALONE.1)),
            false => usual,
        };
        let rest = usual.max(error.asked_pause().unwrap_or_default()).min(longest).max(least);
        // An answer takes one failure back, so each counts twice: a source that fails every other time rests
        // longer and longer.
        replica.failures = replica.failures.saturating_add(2);
        replica.state = ReplicaState::Resting { until: now + rest, silent };
        replica.left = Some(now);
        replica.error = Some(error);
        if alone {
            return self.log(id, SourceEvent::Retried, text);
        }
        self.reported.retain(|&other| other != id);
        self.log(id, SourceEvent::Left, text);
    }

    /// Updates the states.
    pub(crate) fn refresh(&mut self, now: Instant) {
        self.leave_the_silent(now);
        for id in 0..self.replicas.len() {
            let Some(replica) = self.replicas.get_mut(id) else { continue };
            if matches!(replica.state, ReplicaState::Resting { until, .. } if until <= now) {
                replica.state = ReplicaState::Idle { trusted: false };
            }
        }
        while self.active().count() < self.options.sources.max(1) && self.promote() {}
        self.exchange(now);
    }

    /// When the states must be updated, if nothing happens before.
    pub(crate) fn next_moment(&self, now: Instant) -> Option<Instant> {
        let moments = self.replicas.iter().filter_map(|replica| match replica.state {
            ReplicaState::Resting { until, .. } => Some(until),
            ReplicaState::Active | ReplicaState::Idle { .. } => replica.silent_at(&self.options),
            ReplicaState::Refused => None,
        });
        moments.filter(|&moment| moment > now).min()
    }

    /// If all sources rest for longer than there is time, the one whose rest ends first is asked before that.
    pub(crate) fn hurry(&mut self, end: Instant, now: Instant) {
        if self.at_hand().next().is_some() {
            return;
        }
        let resting = self.replicas.iter_mut().filter_map(|replica| match &mut replica.state {
            ReplicaState::Resting { until, .. } => Some(until),
            _ => None,
        });
        if let Some(until) = resting.min_by_key(|until| **until)
            && *until >= end
        {
            *until = now + end.saturating_duration_since(now) / 2;
        }
    }

    /// The error to end with, if no source will ever answer.
    pub(crate) fn hopeless(&self) -> Option<Error> {
        let lost = |replica: &Replica| match replica.state {
            ReplicaState::Refused => true,
            ReplicaState::Resting { .. } => {
                replica.error.as_ref().is_some_and(|error| is_final(error.kind()))
            }
            _ => false,
        };
        if !self.replicas.iter().all(lost) {
            return None;
        }
        let errors = || self.replicas.iter().filter_map(|replica| replica.error.as_ref());
        errors().find(|error| !is_final(error.kind())).or_else(|| errors().next_back()).map(Error::copy)
    }

    /// Whether all sources that could be asked are silent.
    pub(crate) fn all_are_silent(&self, now: Instant) -> bool {
        self.at_hand().all(|id| self.is_silent(id, now))
    }

    fn is_silent(&self, id: ReplicaId, now: Instant) -> bool {
        let moment = self.replicas.get(id).and_then(|replica| replica.silent_at(&self.options));
        moment.is_some_and(|moment| moment <= now)
    }

    /// Lets silent sources rest, as long as there are others to ask.
    fn leave_the_silent(&mut self, now: Instant) {
        for id in 0..self.replicas.len() {
            let others = self.at_hand().any(|other| other != id && !self.is_silent(other, now));
            if others && self.at_hand().any(|at_hand| at_hand == id) && self.is_silent(id, now) {
                let error = Error::new(ErrorKind::Timeout, "it is silent");
                self.rest(id, error, "it is silent".into(), true, now);
            }
        }
    }

    /// Activates one more source; false if none is available.
    fn promote(&mut self) -> bool {
        let alone = self.active().next().is_none();
        let idle = self.of(|state| matches!(state, ReplicaState::Idle { trusted } if trusted || alone));
        let Some(best) = idle.min_by(|&a, &b| self.time(a).total_cmp(&self.time(b))) else { return false };
        self.activate(best);
        true
    }

    fn activate(&mut self, id: ReplicaId) {
        let before: Vec<_> = self.active().collect();
        if let Some(replica) = self.replicas.get_mut(id) {
            replica.state = ReplicaState::Active;
        }
        let active: Vec<_> = before.into_iter().chain([id]).collect();
        if self.replicas.len() > 1 && active != self.reported {
            let names: Vec<_> = active.iter().filter_map(|&id| self.replicas.get(id)).collect();
            let names: Vec<_> = names.iter().map(|replica| replica.name.as_str()).collect();
            self.log(id, SourceEvent::Switched, format!("read from {}", names.join(" and ")));
        }
        self.reported = active;
    }

    /// Replaces the worst source by one that is clearly better, as far as that was measured.
    fn exchange(&mut self, now: Instant) {
        if self.exchanged.is_some_and(|exchanged| now.saturating_duration_since(exchanged) < DWELL) {
            return;
        }
        let idle = self.of(|state| state == ReplicaState::Idle { trusted: true });
        let idle =
            idle.filter(|&id| self.replicas.get(id).is_some_and(|idle| idle.quality.measured().is_some()));
        let Some(best) = idle.min_by(|&a, &b| self.time(a).total_cmp(&self.time(b))) else { return };
        let Some(worst) = self.active().max_by(|&a, &b| self.time(a).total_cmp(&self.time(b))) else {
            return;
        };
        if self.time(best) < BETTER * self.time(worst) {
            if let Some(replica) = self.replicas.get_mut(worst) {
                replica.state = ReplicaState::Idle { trusted: true };
            }
            self.activate(best);
            self.exchanged = Some(now);
        }
    }

    /// Seconds that a source takes for a typical request.
    fn time(&self, id: ReplicaId) -> f64 {
        self.replicas.get(id).map_or(f64::MAX, |replica| replica.quality.seconds_for(TYPICAL))
    }
}

/// Whether asking again soon is pointless.
fn is_final(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::Permission | ErrorKind::Unsupported | ErrorKind::Usage)
}
