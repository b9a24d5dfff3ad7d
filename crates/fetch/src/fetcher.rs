//! Reads byte ranges of one source: plans requests, keeps deadlines, counts bytes.

use crate::cost::NOMINAL;
use crate::link::Meter;
use crate::plan::{Merging, Plan, plan_merging};
use crate::unplanned::UnplannedReads;
use crate::wait::late;
use crate::{Budget, Link};
use bytes::Bytes;
use futures::FutureExt;
use futures::stream::{FuturesUnordered, StreamExt};
use sapwood_core::{ByteRange, Counters, Deadline, Error, ErrorKind, ParseStep, Result, Segments};
use sapwood_source::{Source, record};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A parser that needs more rounds follows pointers in the file that form a circle.
const MOST_ROUNDS: usize = 64;

/// Bytes that measure the bandwidth well, also at 1 Gbit/s.
const MEASURING_BYTES: u64 = 1 << 20;

/// Measuring the bandwidth first may take this part of the time for the bytes that it may save.
const MOST_FOR_MEASURING: u64 = 16;

/// Links that carry less than this part of the nominal bandwidth are slow.
const SLOW: u64 = 4;

/// Reads byte ranges of a source: plans the requests, keeps the deadline, returns the bytes range by range.
///
/// Cheap to clone; clones share the source and the counters.
///
/// # Counters
/// Each figure is added in one place only. Here: `wanted_bytes`, `overread_bytes` and `wait_ns` (added by
/// [`ReadAhead`](crate::ReadAhead) instead when it waits). The source adds its traffic with the server:
/// `requests`, `ranges`, `round_trips` and `fetched_bytes`.
#[derive(Debug, Clone)]
pub struct Fetcher {
    /// The source for planned reads.
    planned: Arc<dyn Source>,
    /// The same source for all other reads.
    source: Arc<dyn Source>,
    counters: Arc<Counters>,
    known: Arc<Segments>,
    most_bytes: u64,
    budget: Arc<Budget>,
    /// Measures a source whose server has no name.
    nameless: Arc<Meter>,
    /// The number of the file in the recording of the job.
    recorded: Option<u64>,
    merging: Merging,
}

impl Fetcher {
    /// A fetcher of `source` that adds to `counters`.
    pub fn new(source: Arc<dyn Source>, counters: Arc<Counters>) -> Self {
        let planned = Arc::clone(&source);
        let source = Arc::new(UnplannedReads { inner: source, counters: Arc::clone(&counters) });
        let (known, nameless, budget) = (Arc::default(), Arc::default(), Budget::new(u64::MAX));
        Fetcher {
            planned,
            source,
            counters,
            known,
            most_bytes: u64::MAX,
            budget,
            nameless,
            recorded: None,
            merging: Merging::default(),
        }
    }

    /// Answers ranges that lie in one of the `known` segments from there, without a request.
    #[must_use]
    pub fn with_known(self, known: Segments) -> Self {
        Fetcher { known: Arc::new(known), ..self }
    }

    /// Refuses to fetch more than `most_bytes` at once, with an error of kind `Limit`. By default there is no
    /// limit.
    #[must_use]
    pub fn with_limit(self, most_bytes: u64) -> Self {
        Fetcher { most_bytes, ..self }
    }

    /// Charges what [`ReadAhead`](crate::ReadAhead) prefetches to a budget. By default there is no limit.
    #[must_use]
    pub fn with_budget(self, budget: Arc<Budget>) -> Self {
        Fetcher { budget, ..self }
    }

    /// Records reads of the file's structure under this file number.
    #[must_use]
    pub fn with_recording(self, file: Option<u64>) -> Self {
        Fetcher { recorded: file, ..self }
    }

    /// The number of the file in the recording of the job, if there is one.
    pub fn recorded(&self) -> Option<u64> {
        self.recorded
    }

    /// Plans with this policy, and measures a server without a name with this meter.
    pub(crate) fn judged(self, merging: Merging, nameless: Arc<Meter>) -> Self {
        Fetcher { merging, nameless, ..self }
    }

    /// The budget for prefetching.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// The source. Reading from it directly, and not through [`fetch`](Fetcher::fetch), counts as an
    /// unplanned read.
    pub fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    /// The measured link to the server, from the requests of all files on it.
    pub fn link(&self) -> Link {
        self.meter().link()
    }

    /// An upper bound for the round trip: as measured, or else as observed while the file was opened.
    pub fn round_trip(&self) -> Option<Duration> {
        self.link().round_trip.or_else(|| self.planned.round_trip())
    }

    fn meter(&self) -> Arc<Meter> {
        self.planned.server().map_or_else(|| Arc::clone(&self.nameless), |server| Meter::of(&server))
    }

    /// The counters that this fetcher adds to.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// The bytes of all `wanted` ranges, in the order asked.
    ///
    /// The ranges may come in any order, overlap, repeat and be empty. Answers may share memory. Dropping the
    /// future cancels the requests. Unless the source is immediate, this needs a tokio runtime.
    ///
    /// # Errors
    /// `Truncated` if a range lies beyond the end of the object; `Limit` if it is more than
    /// [`with_limit`](Fetcher::with_limit) allows; `Timeout` soon after the deadline, whether or not the
    /// source keeps it; those of the source.
    pub async fn fetch(&self, wanted: &[ByteRange], deadline: Deadline) -> Result<Vec<Bytes>> {
        let start = Instant::now();
        let result = self.fetch_unwaited(wanted, deadline).await;
        self.counters.wait_ns.add_time(start.elapsed());
        result
    }

    /// [`fetch`](Fetcher::fetch) for an [immediate](sapwood_source::CostModel::immediate) source, without a
    /// runtime: for use inside a computing task.
    ///
    /// # Errors
    /// Those of `fetch`; `Usage` if the source is not immediate.
    pub fn fetch_now(&self, wanted: &[ByteRange], deadline: Deadline) -> Result<Vec<Bytes>> {
        if !self.source.cost_model().immediate {
            return Err(self.error(ErrorKind::Usage, "this source cannot be read without waiting"));
        }
        self.fetch(wanted, deadline).now_or_never().unwrap_or_else(|| {
            Err(self
                .error(ErrorKind::Usage, "the source waits, although its cost model says that it never does"))
        })
    }

    /// Runs a parser that asks for bytes: calls `step` with `known`, fetches what it needs, adds that to
    /// `known`, and repeats until it is done.
    ///
    /// # Errors
    /// Those of `fetch` and of the parser, with the URL; `Corrupt` if the parser goes in circles, because the
    /// file does.
    pub async fn satisfy<T>(
        &self,
        known: &mut Segments,
        deadline: Deadline,
        mut step: impl FnMut(&Segments) -> Result<ParseStep<T>>,
    ) -> Result<T> {
        for _ in 0..MOST_ROUNDS {
            let needed = match step(known).map_err(|error| error.url(self.url()))? {
                ParseStep::Done(value) => return Ok(value),
                ParseStep::Need(ranges) => ranges,
            };
            let missing: Vec<_> =
                needed.iter().copied().filter(|&range| known.get(range).is_none()).collect();
            if missing.is_empty() {
                return Err(self.error(ErrorKind::Corrupt, "reading the file's structure makes no progress"));
            }
            let fetch = self.fetch(&missing, deadline);
            let answers = record::structure(self.recorded, &missing, fetch).await?;
            for (range, bytes) in missing.iter().zip(answers) {
                known.insert(range.start, bytes);
            }
        }
        let message = format!("the structure of the file asks for more bytes after {MOST_ROUNDS} rounds");
        Err(self.error(ErrorKind::Corrupt, message))
    }

    /// [`fetch`](Fetcher::fetch) without counting the time: the caller counts how long it waits.
    pub(crate) async fn fetch_unwaited(
        &self,
        wanted: &[ByteRange],
        deadline: Deadline,
    ) -> Result<Vec<Bytes>> {
        wanted.iter().try_for_each(|&range| self.check(range))?;
        let mut known: Vec<_> = wanted.iter().map(|&range| self.known.get(range)).collect();
        let unknown: Vec<_> =
            wanted.iter().zip(&known).filter(|(_, bytes)| bytes.is_none()).map(|(&range, _)| range).collect();
        let fetched = self.fetch_unknown(&unknown, deadline).await;
        let mut fetched = fetched.map_err(|error| error.with_events(&self.counters.events))?.into_iter();
        self.counters.wanted_bytes.add(wanted.iter().map(|range| range.len).sum());
        Ok(known.iter_mut().filter_map(|bytes| bytes.take().or_else(|| fetched.next())).collect())
    }

    /// Fetches ranges that are not known. Where little is lost, the first of them measure the bandwidth, on which the
    /// requests for the others depend.
    async fn fetch_unknown(&self, wanted: &[ByteRange], deadline: Deadline) -> Result<Vec<Bytes>> {
        let plan = self.plan(wanted, self.merging);
        if plan.fetched_bytes() > self.most_bytes {
            let message = format!(
                "{} bytes to fetch at once, where {} are allowed",
                plan.fetched_bytes(),
                self.most_bytes
            );
            return Err(self.error(ErrorKind::Limit, message).hint("read fewer branches or entries at once"));
        }
        let Some(end) = self.end_of_measuring_part(&plan) else {
            return self.fetch_planned(&plan, wanted, deadline).await;
        };
        let measures = |range: &ByteRange| range.end() <= end;
        let (first, rest): (Vec<_>, Vec<_>) = wanted.iter().copied().partition(measures);
        let first_plan = self.plan(&first, plan.merging());
        let mut first = self.fetch_planned(&first_plan, &first, deadline).await?.into_iter();
        let link = Link { round_trip: self.round_trip(), ..self.link() };
        // Many requests take a server some time, which must not count as that of a slow link.
        let is_slow = link.bandwidth.is_some_and(|bandwidth| bandwidth < NOMINAL / SLOW);
        let merging = if is_slow { self.merging } else { plan.merging() };
        let plan = plan_merging(&rest, &self.source.cost_model(), &link, merging);
        let mut rest = self.fetch_planned(&plan, &rest, deadline).await?.into_iter();
        let answers = wanted.iter().map(|range| if measures(range) { first.next() } else { rest.next() });
        Ok(answers.flatten().collect())
    }

    fn plan(&self, wanted: &[ByteRange], merging: Merging) -> Plan {
        let cost_model = self.source.cost_model();
        let link = if cost_model.immediate { Link::default() } else { self.link() };
        plan_merging(wanted, &cost_model, &link, merging)
    }

    /// Where the ranges end that are fetched before the others to measure the bandwidth: as long as it is unknown, and a
    /// round trip is short next to the time for the unused bytes, most of which a slow link would rather skip.
    fn end_of_measuring_part(&self, plan: &Plan) -> Option<u64> {
        let is_open = self.merging == Merging::Cheapest && !self.source.cost_model().immediate;
        if !is_open || self.link().bandwidth.is_some() || plan.fetched_bytes() < 2 * MEASURING_BYTES {
            return None;
        }
        let round_trip =
            Link { round_trip: self.round_trip(), bandwidth: Some(NOMINAL) }.bytes_in_flight()?;
        if round_trip > plan.overread_bytes() / MOST_FOR_MEASURING {
            return None;
        }
        let mut missing = MEASURING_BYTES;
        plan.pieces().iter().find_map(|piece| {
            let end = (piece.len >= missing).then(|| piece.start + missing);
            missing = missing.saturating_sub(piece.len);
            end
        })
    }

    async fn fetch_planned(
        &self,
        plan: &Plan,
        wanted: &[ByteRange],
        deadline: Deadline,
    ) -> Result<Vec<Bytes>> {
        let cost_model = self.source.cost_model();
        let answers = if plan.requests().len() == 0 {
            Vec::new()
        } else if cost_model.immediate {
            self.ask_in_turn(plan, deadline).await?
        } else {
            let all = self.ask_together(plan, cost_model.concurrency.max(1), deadline);
            tokio::time::timeout_at(deadline.instant().into(), all)
                .await
                .unwrap_or_else(|_| Err(late().url(self.url())))?
        };
        self.counters.overread_bytes.add(plan.overread_bytes());
        Ok(plan.cut(wanted, &answers))
    }

    async fn ask_in_turn(&self, plan: &Plan, deadline: Deadline) -> Result<Vec<Bytes>> {
        let mut answers = Vec::with_capacity(plan.pieces().len());
        for ranges in plan.requests() {
            if deadline.has_passed() {
                return Err(late().url(self.url()));
            }
            answers.extend(self.ask(ranges, deadline).await?);
        }
        Ok(answers)
    }

    /// Sends the requests with at most `concurrency` of them in flight.
    async fn ask_together(&self, plan: &Plan, concurrency: usize, deadline: Deadline) -> Result<Vec<Bytes>> {
        let numbered = |(i, ranges)| async move { (i, self.ask_and_measure(ranges, deadline).await) };
        let mut requests = plan.requests().enumerate();
        let mut in_flight: FuturesUnordered<_> = requests.by_ref().take(concurrency).map(numbered).collect();
        let mut answered = Vec::with_capacity(plan.requests().len());
        while let Some((i, answer)) = in_flight.next().await {
            answered.push((i, answer?));
            in_flight.extend(requests.next().map(numbered));
        }
        answered.sort_unstable_by_key(|&(i, _)| i);
        Ok(answered.into_iter().flat_map(|(_, answers)| answers).collect())
    }

    async fn ask_and_measure(&self, ranges: &[ByteRange], deadline: Deadline) -> Result<Vec<Bytes>> {
        // The clock of the waits: that of a model, while a job is replayed against it.
        let now = || tokio::time::Instant::now().into_std();
        let asked = self.meter().asked(now());
        let answers = self.ask(ranges, deadline).await?;
        asked.answered(ranges.iter().map(|range| range.len).sum(), now());
        Ok(answers)
    }

    /// Sends one request and checks that its answers match the ranges in number and length.
    async fn ask(&self, ranges: &[ByteRange], deadline: Deadline) -> Result<Vec<Bytes>> {
        let answers =
            self.planned.read_ranges(ranges, deadline).await.map_err(|error| error.url(self.url()))?;
        if answers.len() != ranges.len() {
            let message = format!("{} answers for {} ranges", answers.len(), ranges.len());
            return Err(self.error(ErrorKind::Server, message));
        }
        match ranges.iter().zip(&answers).find(|(range, answer)| range.len != answer.len() as u64) {
            None => Ok(answers),
            Some((range, answer)) => {
                let message = format!("the server sent {} bytes instead of {}", answer.len(), range.len);
                Err(self.error(ErrorKind::Server, message).at(range.start))
            }
        }
    }

    fn check(&self, range: ByteRange) -> Result<()> {
        let size = self.source.identity().size;
        match range.start.checked_add(range.len) {
            Some(end) if end <= size => Ok(()),
            _ => {
                let message = format!("{} bytes are wanted, but the file ends at byte {size}", range.len);
                Err(self.error(ErrorKind::Truncated, message).at(range.start))
            }
        }
    }

    fn url(&self) -> &str {
        &self.source.identity().url
    }

    pub(crate) fn error(&self, kind: ErrorKind, message: impl Into<String>) -> Error {
        Error::new(kind, message).url(self.url())
    }
}
