//! Keeps measuring idle sources: each gets a small part of the reads.

use super::replica::{Replica, ReplicaState as ReplicaStanding};
use super::roster::ReplicaId;
use super::shared::{SharedReplicas, SourcesState, now};
use sapwood_core::{ByteRange, Deadline};
use std::sync::Arc;
use std::time::Duration;

/// Most bytes of one probe.
const PROBE: u64 = 256 << 10;

/// The same for a source that had failed.
const CAREFUL: u64 = 64 << 10;

/// Fewest bytes of a probe: fewer would measure too little.
const SMALLEST: u64 = 4 << 10;

/// Fewest bytes of the first probe of a source: the time of a smaller one is mostly latency.
const FIRST: u64 = 128 << 10;

/// How long a probe may take.
const LONGEST: Duration = Duration::from_secs(10);

/// Most ranges in a probe.
const RANGES: usize = 16;

impl SharedReplicas {
    /// Requests a part of these ranges from an idle source, if it is time to.
    pub(crate) fn probe_if_due(self: &Arc<Self>, ranges: &[ByteRange]) {
        self.probe(ranges, |_| true, SMALLEST);
    }

    /// The same for a source of which nothing is known yet: it need not wait for the next read, which may be seconds away.
    pub(crate) fn probe_if_new(self: &Arc<Self>, ranges: &[ByteRange]) {
        self.probe(ranges, |replica| replica.quality.measured().is_none(), FIRST);
    }

    /// Requests at least `least` bytes of these ranges from an idle source that is `eligible`.
    fn probe(self: &Arc<Self>, ranges: &[ByteRange], eligible: fn(&Replica) -> bool, least: u64) {
        let Some((id, part, number)) = self.choose_probe(ranges, eligible, least) else { return };
        let shared = Arc::clone(self);
        self.spawn(async move {
            let deadline = Deadline::at(now() + LONGEST);
            let answers = shared.ask_source(id, &part, deadline);
            let answers = tokio::time::timeout_at(deadline.instant().into(), answers).await;
            shared.lock().probing = None;
            shared.change(|roster, now| match answers {
                Ok(Ok(_)) => roster.answered(id, number, now),
                Ok(Err(error)) => roster.failed(id, number, error, now),
                Err(_) => roster.silent(id, number, now),
            });
        });
    }

    fn choose_probe(
        &self,
        ranges: &[ByteRange],
        eligible: fn(&Replica) -> bool,
        least: u64,
    ) -> Option<(ReplicaId, Vec<ByteRange>, u64)> {
        let state = &mut *self.lock();
        if state.probing.is_some() {
            return None;
        }
        let (id, most) = candidate(state, eligible)?;
        let part = part(ranges, most.min(self.probe_budget(state)));
        let bytes: u64 = part.iter().map(|range| range.len).sum();
        if bytes < least {
            return None;
        }
        self.count_probe(state, bytes);
        state.probing = Some(id);
        let sent = state.roster.sent(id, bytes, now());
        Some((id, part, sent.number))
    }
}

/// The source to probe, and most bytes to request: first those that failed, then the least recently probed.
fn candidate(state: &SourcesState, eligible: fn(&Replica) -> bool) -> Option<(ReplicaId, u64)> {
    let replicas = state.roster.replicas().iter().enumerate().filter(|(_, replica)| eligible(replica));
    let idle = replicas.filter_map(|(id, replica)| match replica.state {
        ReplicaStanding::Idle { trusted: false } => Some((0, replica.bytes, id, CAREFUL)),
        ReplicaStanding::Idle { trusted: true } => Some((1, replica.bytes, id, PROBE)),
        _ => None,
    });
    idle.min().map(|(_, _, id, most)| (id, most))
}

/// The front of the ranges, at most this many bytes.
fn part(ranges: &[ByteRange], most: u64) -> Vec<ByteRange> {
    let mut left = most;
    let mut part = Vec::new();
    for range in ranges.iter().filter(|range| range.len > 0).take(RANGES) {
        let len = range.len.min(left);
        if len == 0 {
            break;
        }
        part.push(ByteRange { start: range.start, len });
        left -= len;
    }
    part
}
