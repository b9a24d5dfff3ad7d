//! Carries out decisions: sends the requests of one read, and handles their answers.

use super::planned::{Order, PlannedRequest};
use super::shared::{SharedReplicas, now};
use crate::link::Meter;
use crate::replicas::roster::ReplicaId;
use bytes::Bytes;
use futures::future::{AbortHandle, Abortable};
use futures::stream::{FuturesUnordered, StreamExt};
use sapwood_core::{ByteRange, Deadline, Error, ErrorKind, Result};
use sapwood_source::{Source, without_retries};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long before the deadline a read ends, so that it can report why.
const MARGIN: Duration = Duration::from_millis(20);

/// The result of a request.
struct RequestOutcome {
    piece: usize,
    number: u64,
    answers: Option<Vec<Bytes>>,
}

impl SharedReplicas {
    /// The bytes of all ranges, from any of the sources.
    pub(crate) async fn read(
        self: &Arc<Self>,
        ranges: &[ByteRange],
        deadline: Deadline,
    ) -> Result<Vec<Bytes>> {
        self.check(ranges)?;
        let bytes = ranges.iter().map(|range| range.len).sum();
        let mut planned = {
            let mut state = self.lock();
            state.wanted = state.wanted.saturating_add(bytes);
            PlannedRequest::new(ranges, self.is_shared(&state))
        };
        self.probe_if_due(ranges);
        let left = deadline.instant().saturating_duration_since(now());
        let end = deadline.instant() - MARGIN.min(left / 10);
        let mut in_flight = FuturesUnordered::new();
        let mut handles: HashMap<u64, AbortHandle> = HashMap::new();
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            changed.as_mut().enable();
            self.search_if_wanted();
            self.probe_if_new(ranges);
            let (orders, next) = self.decide(&mut planned, end);
            for order in orders {
                let (handle, registration) = AbortHandle::new_pair();
                handles.insert(order.number, handle);
                // Created here, so that a future that is never polled is withdrawn, too.
                let flight = Flight { shared: self, id: order.id, number: order.number };
                in_flight.push(Abortable::new(self.ask(order, flight, deadline), registration));
            }
            if let Some(error) = self.spoiled() {
                return Err(self.explain(error));
            }
            if planned.is_done() {
                return Ok(planned.finish());
            }
            if in_flight.is_empty()
                && let Some(error) = self.hopeless()
            {
                return Err(self.explain(error));
            }
            tokio::select! {
                biased;
                Some(outcome) = in_flight.next() => {
                    if let Ok(outcome) = outcome {
                        handles.remove(&outcome.number);
                        self.settle(&mut planned, outcome, &mut handles);
                    }
                }
                () = changed => {}
                () = tokio::time::sleep_until(next.min(end).into()) => {
                    if now() >= end {
                        return Err(self.explain(self.too_late()));
                    }
                }
            }
        }
    }

    /// The requests to send now, and when to decide again if nothing happens before.
    fn decide(&self, planned: &mut PlannedRequest<'_>, end: Instant) -> (Vec<Order>, Instant) {
        let now = now();
        let (orders, next, news) = {
            let state = &mut *self.lock();
            state.roster.refresh(now);
            state.roster.hurry(end, now);
            let orders = planned.decide(&mut state.roster, now);
            let have_one = state.roster.at_hand().next().is_some();
            let searched = state.search.due(have_one).filter(|&due| due > now);
            let next = [planned.next_moment(now), state.roster.next_moment(now), searched];
            (orders, next.into_iter().flatten().min().unwrap_or(end), self.news(state))
        };
        let again: u64 = orders.iter().filter(|order| order.again).map(Order::bytes).sum();
        self.counters.duplicated_bytes.add(again);
        self.log(news);
        (orders, next)
    }

    fn settle(
        &self,
        planned: &mut PlannedRequest<'_>,
        outcome: RequestOutcome,
        handles: &mut HashMap<u64, AbortHandle>,
    ) {
        let Some(answers) = outcome.answers else { return planned.failed(outcome.piece, outcome.number) };
        let late = planned.answered(outcome.piece, outcome.number, answers);
        for &(_, number) in &late {
            if let Some(handle) = handles.remove(&number) {
                handle.abort();
            }
        }
        if !late.is_empty() {
            self.change(|roster, now| late.iter().for_each(|&(id, number)| roster.late(id, number, now)));
        }
    }

    /// Sends a request, and records its result in the roster.
    async fn ask(&self, order: Order, flight: Flight<'_>, deadline: Deadline) -> RequestOutcome {
        let Order { piece, id, number, ranges, .. } = order;
        let answers = self.ask_source(id, &ranges, deadline).await;
        std::mem::forget(flight);
        let answers = match answers {
            Ok(answers) => {
                self.change(|roster, now| roster.answered(id, number, now));
                Some(answers)
            }
            Err(error) => {
                self.change(|roster, now| roster.failed(id, number, error, now));
                None
            }
        };
        RequestOutcome { piece, number, answers }
    }

    /// The answers of a source, checked to match the ranges in number and length.
    pub(crate) async fn ask_source(
        &self,
        id: ReplicaId,
        ranges: &[ByteRange],
        deadline: Deadline,
    ) -> Result<Vec<Bytes>> {
        let source = self.source(id).ok_or_else(|| Error::new(ErrorKind::Closed, "the source is gone"))?;
        // With a single source, the fetcher measures the link itself.
        let measured = { self.lock().roster.active().nth(1).is_some() }.then(|| source.server()).flatten();
        let asked = measured.map(|server| Meter::of(&server).asked(now()));
        let answers = read(source, ranges, deadline).await?;
        if let Some(asked) = asked {
            asked.answered(ranges.iter().map(|range| range.len).sum(), now());
        }
        let right = |(range, answer): (&ByteRange, &Bytes)| range.len == answer.len() as u64;
        if answers.len() == ranges.len() && ranges.iter().zip(&answers).all(right) {
            return Ok(answers);
        }
        Err(Error::new(
            ErrorKind::Server,
            "broken data: the length of the answer differs from that of the request",
        ))
    }

    fn check(&self, ranges: &[ByteRange]) -> Result<()> {
        let size = self.identity.size;
        let beyond = |range: &&ByteRange| range.start.checked_add(range.len).is_none_or(|end| end > size);
        ranges.iter().find(beyond).map_or(Ok(()), |range| {
            let message = format!("{} bytes are wanted, but the file ends at byte {size}", range.len);
            Err(Error::new(ErrorKind::Truncated, message).at(range.start).url(&*self.identity.url))
        })
    }

    /// The error to end with, if no source will ever answer, and there are no others.
    fn hopeless(&self) -> Option<Error> {
        let state = self.lock();
        state.roster.hopeless().filter(|_| state.search.is_exhausted())
    }

    fn spoiled(&self) -> Option<Error> {
        self.lock().spoiled.as_ref().map(Error::copy)
    }

    fn too_late(&self) -> Error {
        let state = self.lock();
        let reason = |replica: &super::replica::Replica| {
            replica.error.as_ref().map(|error| format!("; {}: {}", replica.name, error.message()))
        };
        let reasons: String = state.roster.replicas().iter().filter_map(reason).collect();
        Error::new(ErrorKind::Timeout, format!("no source answered before the deadline{reasons}"))
            .hint("ask for a later deadline if the connection is slow")
    }

    fn explain(&self, error: Error) -> Error {
        error.url(&*self.identity.url).with_events(&self.counters.events)
    }
}

/// Reads from a source, which does not retry: what fails is requested from another source. An immediate
/// source would block the thread, so it gets a thread of its own.
async fn read(source: Arc<dyn Source>, ranges: &[ByteRange], deadline: Deadline) -> Result<Vec<Bytes>> {
    if !source.cost_model().immediate {
        return without_retries(source.read_ranges(ranges, deadline)).await;
    }
    let (ranges, runtime) = (ranges.to_vec(), tokio::runtime::Handle::current());
    let task = tokio::task::spawn_blocking(move || runtime.block_on(source.read_ranges(&ranges, deadline)));
    task.await
        .unwrap_or_else(|error| Err(Error::new(ErrorKind::Io, "the task that reads failed").caused_by(error)))
}

/// A request in flight; dropped when it is no longer needed.
struct Flight<'a> {
    shared: &'a SharedReplicas,
    id: ReplicaId,
    number: u64,
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.shared.change(|roster, _| roster.dropped(self.id, self.number));
    }
}
