//! The sources of a file, and which of them are read from.
//!
//! Pure: no I/O, and the time is an argument. What happens is returned as news, to be told by others.

use super::Settings;
use super::divide::Worker;
use super::member::{Member, State};
use sapwood_core::{Error, ErrorKind, SourceEvent};
use sapwood_source::CostModel;
use std::time::{Duration, Instant};

/// The place of a source among the members.
pub(crate) type Id = usize;

/// How long a source is left alone at least that says that it does not have the file, or that we may not read it.
const DENIED_REST: Duration = Duration::from_secs(30);

/// A source that is not used must be so much better than one that is, to take its place: part of its time.
const BETTER: f64 = 0.7;

/// Bytes that sources are compared by.
const TYPICAL: u64 = 1 << 20;

/// A source that no other can stand in for is asked again sooner after an error: after that part of the time that it
/// would rest else, and so many times the first rest at most.
const ALONE: (f64, u32) = (0.25, 8);

/// The time between two exchanges of sources.
const DWELL: Duration = Duration::from_secs(10);

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct News {
    pub(crate) id: Id,
    pub(crate) event: SourceEvent,
    pub(crate) text: String,
}

/// A request that is sent: its number at the source, and after which time it is late.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) number: u64,
    pub(crate) limit: Duration,
}

/// The sources of a file.
#[derive(Debug)]
pub(crate) struct Roster {
    pub(crate) settings: Settings,
    members: Vec<Member>,
    cost_model: Vec<CostModel>,
    numbers: u64,
    exchanged: Option<Instant>,
    /// The sources that were said to be read from.
    told: Vec<Id>,
    news: Vec<News>,
}

impl Roster {
    pub(crate) fn new(settings: Settings) -> Self {
        let (members, cost_model, told, news) = Default::default();
        Roster { settings, members, cost_model, numbers: 0, exchanged: None, told, news }
    }

    /// A further source.
    pub(crate) fn join(&mut self, member: Member, cost_model: CostModel) -> Id {
        let id = self.members.len();
        self.members.push(member);
        self.cost_model.push(cost_model);
        self.tell(id, SourceEvent::Opened, "");
        id
    }

    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    pub(crate) fn cost_model(&self, id: Id) -> CostModel {
        self.cost_model.get(id).copied().unwrap_or(CostModel::MEMORY)
    }

    /// What happened since it was asked last.
    pub(crate) fn take_news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    pub(crate) fn tell(&mut self, id: Id, event: SourceEvent, text: impl Into<String>) {
        self.news.push(News { id, event, text: text.into() });
    }

    /// The sources that are read from.
    pub(crate) fn active(&self) -> impl Iterator<Item = Id> {
        self.of(|state| state == State::Active)
    }

    /// Those that are, or could be at once.
    pub(crate) fn at_hand(&self) -> impl Iterator<Item = Id> {
        self.of(|state| matches!(state, State::Active | State::Idle { .. }))
    }

    fn of(&self, is: impl Fn(State) -> bool) -> impl Iterator<Item = Id> {
        self.members.iter().enumerate().filter(move |(_, member)| is(member.state)).map(|(id, _)| id)
    }

    /// Those that work is given to: not those that are silent, unless all are.
    pub(crate) fn workers(&self, now: Instant) -> Vec<(Id, Worker)> {
        let all_silent = self.active().all(|id| self.is_silent(id, now));
        let usable = self.active().filter(|&id| all_silent || !self.is_silent(id, now));
        usable.filter_map(|id| Some((id, self.members.get(id)?.worker()))).collect()
    }

    /// The source to ask when others failed, or are late: the one that is done first, if possible of those that are active.
    pub(crate) fn elsewhere(&self, not: impl Fn(Id) -> bool, bytes: u64, now: Instant) -> Option<Id> {
        let all_silent = self.at_hand().all(|id| self.is_silent(id, now));
        let usable = self.at_hand().filter(|&id| !not(id) && (all_silent || !self.is_silent(id, now)));
        let cost = |id: &Id| {
            let member = self.members.get(*id);
            let rank = member.map_or(3, |member| match member.state {
                State::Active => 0,
                State::Idle { trusted: true } => 1,
                _ => 2,
            });
            (rank, member.map_or(f64::MAX, |member| member.worker().finish(bytes as f64)))
        };
        usable.min_by(|a, b| {
            let (a, b) = (cost(a), cost(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        })
    }

    pub(crate) fn has_room(&self, id: Id) -> bool {
        self.members.get(id).is_some_and(|member| member.has_room(&self.cost_model(id)))
    }

    /// A request is sent.
    pub(crate) fn sent(&mut self, id: Id, bytes: u64, now: Instant) -> Sent {
        self.numbers += 1;
        let number = self.numbers;
        let member = self.members.get_mut(id);
        let limit = member.map_or(Duration::MAX, |member| member.sent(number, bytes, &self.settings, now));
        Sent { number, limit }
    }

    /// A request was answered.
    pub(crate) fn answered(&mut self, id: Id, number: u64, now: Instant) {
        let Some(member) = self.members.get_mut(id) else { return };
        member.answered(number, now);
        match member.state {
            State::Resting { silent: true, .. } => {
                member.state = State::Idle { trusted: true };
                self.tell(id, SourceEvent::Resumed, "it answers again");
            }
            State::Idle { trusted: false } => {
                member.state = State::Idle { trusted: true };
                self.tell(id, SourceEvent::Resumed, "it answers again");
            }
            _ => {}
        }
        self.refresh(now);
    }

    /// A request failed. Those that were sent before the source was left tell nothing new.
    pub(crate) fn failed(&mut self, id: Id, number: u64, error: Error, now: Instant) {
        let Some(member) = self.members.get_mut(id) else { return };
        let is_known = member.failed(number);
        if matches!(member.state, State::Refused) {
            return;
        }
        let text = format!("{}: {}", error.kind().code(), error.message());
        if error.kind() == ErrorKind::Changed {
            member.state = State::Refused;
            member.error = Some(error);
            self.tell(id, SourceEvent::Refused, text);
        } else if !is_known && !matches!(member.state, State::Resting { silent: false, .. }) {
            self.rest(id, error, text, false, now);
        }
        self.refresh(now);
    }

    /// A request was not answered in all the time that it had.
    pub(crate) fn silent(&mut self, id: Id, number: u64, now: Instant) {
        self.late(id, number, now);
        if self.at_hand().any(|at_hand| at_hand == id) {
            self.rest(id, Error::new(ErrorKind::Timeout, "it is silent"), "it is silent".into(), true, now);
        }
        self.refresh(now);
    }

    /// A source has another file.
    pub(crate) fn refuse(&mut self, id: Id, error: Error) {
        let text = error.message().to_owned();
        if let Some(member) = self.members.get_mut(id) {
            member.state = State::Refused;
            member.error = Some(error);
        }
        self.tell(id, SourceEvent::Refused, text);
    }

    /// A request was abandoned because another source answered first.
    pub(crate) fn late(&mut self, id: Id, number: u64, now: Instant) {
        if let Some(member) = self.members.get_mut(id) {
            member.late(number, now);
        }
    }

    /// Nobody waits any more for a request.
    pub(crate) fn dropped(&mut self, id: Id, number: u64) {
        if let Some(member) = self.members.get_mut(id) {
            member.dropped(number);
        }
    }

    /// Leaves a source alone for a while: longer with each failure, and for as long as it asks for.
    fn rest(&mut self, id: Id, error: Error, text: String, silent: bool, now: Instant) {
        let alone = !is_final(error.kind()) && self.at_hand().all(|other| other == id);
        let Some(member) = self.members.get_mut(id) else { return };
        let doubled = 2_u32.saturating_pow(member.failures.min(30));
        let least = if is_final(error.kind()) { DENIED_REST } else { Duration::ZERO };
        let (usual, longest) = (self.settings.rest.saturating_mul(doubled), self.settings.longest_rest);
        let usual = match alone {
            true => usual.mul_f64(ALONE.0).min(self.settings.rest.saturating_mul(ALONE.1)),
            false => usual,
        };
        let rest = usual.max(error.asked_pause().unwrap_or_default()).min(longest).max(least);
        // An answer takes one failure back, so each counts for two: who fails every other time rests longer and longer.
        member.failures = member.failures.saturating_add(2);
        member.state = State::Resting { until: now + rest, silent };
        member.left = Some(now);
        member.error = Some(error);
        if alone {
            return self.tell(id, SourceEvent::Retried, text);
        }
        self.told.retain(|&told| told != id);
        self.tell(id, SourceEvent::Left, text);
    }

    /// Brings the states up to date.
    pub(crate) fn refresh(&mut self, now: Instant) {
        self.leave_the_silent(now);
        for id in 0..self.members.len() {
            let Some(member) = self.members.get_mut(id) else { continue };
            if matches!(member.state, State::Resting { until, .. } if until <= now) {
                member.state = State::Idle { trusted: false };
            }
        }
        while self.active().count() < self.settings.sources.max(1) && self.promote() {}
        self.exchange(now);
    }

    /// When the states will have to be brought up to date, if nothing happens before.
    pub(crate) fn next_moment(&self, now: Instant) -> Option<Instant> {
        let moments = self.members.iter().filter_map(|member| match member.state {
            State::Resting { until, .. } => Some(until),
            State::Active | State::Idle { .. } => member.silent_at(&self.settings),
            State::Refused => None,
        });
        moments.filter(|&moment| moment > now).min()
    }

    /// If all rest, and for longer than there is time: the one whose rest ends first is asked before.
    pub(crate) fn hurry(&mut self, end: Instant, now: Instant) {
        if self.at_hand().next().is_some() {
            return;
        }
        let resting = self.members.iter_mut().filter_map(|member| match &mut member.state {
            State::Resting { until, .. } => Some(until),
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
        let lost = |member: &Member| match member.state {
            State::Refused => true,
            State::Resting { .. } => member.error.as_ref().is_some_and(|error| is_final(error.kind())),
            _ => false,
        };
        if !self.members.iter().all(lost) {
            return None;
        }
        let errors = || self.members.iter().filter_map(|member| member.error.as_ref());
        errors().find(|error| !is_final(error.kind())).or_else(|| errors().next_back()).map(Error::copy)
    }

    fn is_silent(&self, id: Id, now: Instant) -> bool {
        let moment = self.members.get(id).and_then(|member| member.silent_at(&self.settings));
        moment.is_some_and(|moment| moment <= now)
    }

    /// Leaves those that were silent for too long, as long as there are others to ask.
    fn leave_the_silent(&mut self, now: Instant) {
        for id in 0..self.members.len() {
            let others = self.at_hand().any(|other| other != id && !self.is_silent(other, now));
            if others && self.at_hand().any(|at_hand| at_hand == id) && self.is_silent(id, now) {
                let error = Error::new(ErrorKind::Timeout, "it is silent");
                self.rest(id, error, "it is silent".into(), true, now);
            }
        }
    }

    /// Reads from one source more; false if there is none for it.
    fn promote(&mut self) -> bool {
        let alone = self.active().next().is_none();
        let idle = self.of(|state| matches!(state, State::Idle { trusted } if trusted || alone));
        let Some(best) = idle.min_by(|&a, &b| self.time(a).total_cmp(&self.time(b))) else { return false };
        self.activate(best);
        true
    }

    fn activate(&mut self, id: Id) {
        let before: Vec<_> = self.active().collect();
        if let Some(member) = self.members.get_mut(id) {
            member.state = State::Active;
        }
        let active: Vec<_> = before.into_iter().chain([id]).collect();
        if self.members.len() > 1 && active != self.told {
            let names: Vec<_> = active.iter().filter_map(|&id| self.members.get(id)).collect();
            let names: Vec<_> = names.iter().map(|member| member.name.as_str()).collect();
            self.tell(id, SourceEvent::Switched, format!("read from {}", names.join(" and ")));
        }
        self.told = active;
    }

    /// Puts a source that is clearly better in the place of the worst one.
    fn exchange(&mut self, now: Instant) {
        if self.exchanged.is_some_and(|exchanged| now.saturating_duration_since(exchanged) < DWELL) {
            return;
        }
        let idle = self.of(|state| state == State::Idle { trusted: true });
        let Some(best) = idle.min_by(|&a, &b| self.time(a).total_cmp(&self.time(b))) else { return };
        let Some(worst) = self.active().max_by(|&a, &b| self.time(a).total_cmp(&self.time(b))) else {
            return;
        };
        if self.time(best) < BETTER * self.time(worst) {
            if let Some(member) = self.members.get_mut(worst) {
                member.state = State::Idle { trusted: true };
            }
            self.activate(best);
            self.exchanged = Some(now);
        }
    }

    /// Seconds that a source takes for a typical request.
    fn time(&self, id: Id) -> f64 {
        self.members.get(id).map_or(f64::MAX, |member| member.quality.seconds_for(TYPICAL))
    }
}

/// Whether asking again soon is of no use.
fn is_final(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::Permission | ErrorKind::Unsupported | ErrorKind::Usage)
}
