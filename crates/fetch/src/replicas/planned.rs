//! One request of the planner: which parts go to which source, and when a part is requested again from
//! another source.
//!
//! Pure: no I/O, and the time is an argument. Each source has a share, requested from its front on in several
//! requests; a source that finishes early takes over the tail of another's share.

use super::divide::{Worker, divide, steal};
use super::roster::{ReplicaId, Roster};
use super::row::ByteRow;
use bytes::Bytes;
use sapwood_core::{ByteRange, SourceEvent};
use std::time::{Duration, Instant};

/// A request of the planner.
#[derive(Debug)]
pub(crate) struct PlannedRequest<'a> {
    row: ByteRow<'a>,
    /// Whether there may be more than one source: then it is requested in parts.
    shared: bool,
    shares: Vec<UnaskedPart>,
    pieces: Vec<AskedPart>,
}

/// A range that was not requested yet, and the source that should get it.
#[derive(Debug, Clone, Copy)]
struct UnaskedPart {
    owner: Option<ReplicaId>,
    from: u64,
    to: u64,
}

/// A range that was requested as one.
#[derive(Debug)]
struct AskedPart {
    from: u64,
    to: u64,
    asks: Vec<Ask>,
    answers: Option<Vec<Bytes>>,
}

#[derive(Debug, Clone, Copy)]
struct Ask {
    id: ReplicaId,
    number: u64,
    late: Instant,
}

/// A request to be sent now.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) piece: usize,
    pub(crate) id: ReplicaId,
    pub(crate) number: u64,
    pub(crate) ranges: Vec<ByteRange>,
    /// Whether the same was requested before from another source, which may still answer.
    pub(crate) again: bool,
}

impl Order {
    pub(crate) fn bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.len).sum()
    }
}

impl<'a> PlannedRequest<'a> {
    pub(crate) fn new(ranges: &'a [ByteRange], shared: bool) -> Self {
        let row = ByteRow::new(ranges);
        let shares = vec![UnaskedPart { owner: None, from: 0, to: row.len() }];
        PlannedRequest { row, shared, shares, pieces: Vec::new() }
    }

    /// True once all bytes have arrived.
    pub(crate) fn is_done(&self) -> bool {
        self.shares.iter().all(|share| share.from >= share.to)
            && self.pieces.iter().all(|piece| piece.answers.is_some())
    }

    /// The bytes of the ranges.
    pub(crate) fn finish(self) -> Vec<Bytes> {
        let parts = self.pieces.into_iter().map(|piece| (piece.from, piece.answers.unwrap_or_default()));
        self.row.join(parts.collect())
    }

    /// The requests to send now.
    pub(crate) fn decide(&mut self, roster: &mut Roster, now: Instant) -> Vec<Order> {
        let mut orders = Vec::new();
        self.ask_again(roster, now, &mut orders);
        self.assign(&roster.workers(now));
        for (id, worker) in roster.workers(now) {
            while (roster.has_room(id) || !self.shared)
                && let Some(share) = self.share_of(id, &worker, roster)
            {
                orders.push(self.send(share, id, roster, now));
            }
        }
        orders
    }

    /// When to decide again, if nothing happens before.
    pub(crate) fn next_moment(&self, now: Instant) -> Option<Instant> {
        let open = self.pieces.iter().filter(|piece| piece.answers.is_none());
        open.filter_map(|piece| piece.asks.last().map(|ask| ask.late)).filter(|&late| late > now).min()
    }

    /// A part arrived. Returns the requests for the same part, which can be cancelled.
    pub(crate) fn answered(
        &mut self,
        piece: usize,
        number: u64,
        answers: Vec<Bytes>,
    ) -> Vec<(ReplicaId, u64)> {
        let Some(piece) = self.pieces.get_mut(piece) else { return Vec::new() };
        piece.answers.get_or_insert(answers);
        let others = piece.asks.drain(..).filter(|ask| ask.number != number);
        others.map(|ask| (ask.id, ask.number)).collect()
    }

    /// A request for a part failed.
    pub(crate) fn failed(&mut self, piece: usize, number: u64) {
        if let Some(piece) = self.pieces.get_mut(piece) {
            piece.asks.retain(|ask| ask.number != number);
        }
    }

    /// Requests failed and late parts from other sources.
    fn ask_again(&mut self, roster: &mut Roster, now: Instant, orders: &mut Vec<Order>) {
        for (index, piece) in self.pieces.iter_mut().enumerate() {
            let waits = piece.asks.last().is_some_and(|ask| ask.late > now);
            if piece.answers.is_some() || waits {
                continue;
            }
            let bytes = piece.to - piece.from;
            let asked = |id| piece.asks.iter().any(|ask| ask.id == id);
            let Some(id) = roster.elsewhere(asked, bytes, now) else { continue };
            let sent = roster.sent(id, bytes, now);
            let again = !piece.asks.is_empty();
            if again {
                roster.log(id, SourceEvent::Duplicated, "requested bytes that another source is slow with");
            }
            piece.asks.push(Ask { id, number: sent.number, late: later(now, sent.limit) });
            let ranges = self.row.cut(piece.from, piece.to);
            orders.push(Order { piece: index, id, number: sent.number, ranges, again });
        }
    }

    /// Divides parts without an owner, or whose owner is no longer active, among the active sources.
    fn assign(&mut self, workers: &[(ReplicaId, Worker)]) {
        if workers.is_empty() {
            return;
        }
        let is_worker = |owner: Option<ReplicaId>| workers.iter().any(|&(id, _)| Some(id) == owner);
        let shares = std::mem::take(&mut self.shares);
        let shares = shares.into_iter().filter(|share| share.from < share.to);
        let (kept, free): (Vec<_>, Vec<_>) = shares.partition(|share| is_worker(share.owner));
        self.shares = kept;
        let all: Vec<_> = workers.iter().map(|&(_, worker)| worker).collect();
        for share in free {
            let mut from = share.from;
            let parts = divide(share.to - share.from, &all);
            let last = parts.iter().rposition(|&bytes| bytes > 0);
            for (i, (&(id, _), bytes)) in workers.iter().zip(parts).enumerate() {
                let end = from.saturating_add(bytes).min(share.to);
                let to = if Some(i) == last { share.to } else { self.row.near(end).max(from) };
                if bytes > 0 && from < to {
                    self.shares.push(UnaskedPart { owner: Some(id), from, to });
                    from = to;
                }
            }
        }
    }

    /// The share that a source works on: its own, or the tail of another's.
    fn share_of(&mut self, id: ReplicaId, worker: &Worker, roster: &Roster) -> Option<usize> {
        let own = self.shares.iter().position(|share| share.owner == Some(id) && share.from < share.to);
        own.or_else(|| self.steal(id, worker, roster))
    }

    fn steal(&mut self, thief: ReplicaId, worker: &Worker, roster: &Roster) -> Option<usize> {
        let owner = |share: &UnaskedPart| Some(roster.replicas().get(share.owner?)?.worker());
        let gain = |(i, share): (usize, &UnaskedPart)| {
            Some((i, steal(share.to - share.from, &owner(share)?, worker)))
        };
        let open = self.shares.iter().enumerate().filter(|(_, share)| share.from < share.to);
        let (victim, bytes) = open.filter_map(gain).max_by_key(|&(_, bytes)| bytes)?;
        let share = self.shares.get_mut(victim)?;
        let from = self.row.near(share.to - bytes).max(share.from);
        if bytes == 0 || from >= share.to {
            return None;
        }
        let stolen = UnaskedPart { owner: Some(thief), from, to: share.to };
        share.to = from;
        self.shares.push(stolen);
        Some(self.shares.len() - 1)
    }

    /// Requests the front of a share from a source.
    fn send(&mut self, share: usize, id: ReplicaId, roster: &mut Roster, now: Instant) -> Order {
        let cost_model = roster.cost_model(id);
        let largest = cost_model.largest_request.max(1);
        let bytes = roster.replicas().get(id).filter(|_| self.shared).map_or(largest, |m| m.piece_bytes());
        let (from, to) = self.shares.get_mut(share).map_or((0, 0), |share| {
            let from = share.from;
            share.from = self.row.advance(from, share.to, bytes.min(largest), cost_model.ranges_per_request);
            (from, share.from)
        });
        let sent = roster.sent(id, to - from, now);
        let ask = Ask { id, number: sent.number, late: later(now, sent.limit) };
        self.pieces.push(AskedPart { from, to, asks: vec![ask], answers: None });
        let (piece, ranges) = (self.pieces.len() - 1, self.row.cut(from, to));
        Order { piece, id, number: sent.number, ranges, again: false }
    }
}

fn later(now: Instant, time: Duration) -> Instant {
    now.checked_add(time).unwrap_or(now + Duration::from_secs(3600))
}
