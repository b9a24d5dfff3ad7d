//! Reads one file from several replicas at once; the layers above see one source.
//!
//! [`Replicas::open`] gets its sources from a [`Finder`]. A source is *active*: read from; *idle*: available;
//! or *resting*: not used after an error, for a time that grows. Each request is divided among the active
//! sources so that all finish together; what fails or is late is requested from another one. Events go to the
//! log.
//!
//! ```text
//! request ─▶ planned: shares ─▶ pieces ─▶ sources        roster: which sources, and what each can do
//! ```
//!
//! The modules that decide (`divide`, `planned`, `row`, `replica`, `quality`, `roster`, `search`) do no I/O
//! and have no clock; `read`, `probe`, `verify` and `shared` carry out their decisions.

mod agree;
mod divide;
mod finder;
mod options;
mod planned;
mod probe;
mod quality;
mod read;
mod replica;
mod roster;
mod row;
mod search;
mod shared;
mod verify;

pub use finder::{Finder, KnownReplica, ReplicaStanding};
pub use options::ReplicaReadOptions;

use bytes::Bytes;
use sapwood_core::BoxFuture;
use sapwood_core::{ByteRange, Counters, Deadline, Result};
use sapwood_source::{CostModel, Identity, OpenedSource, Source, Trace};
use shared::SharedReplicas;
use std::sync::Arc;
use std::time::Duration;

/// Several sources of one file.
#[derive(Debug)]
pub struct Replicas {
    shared: Arc<SharedReplicas>,
}

impl Replicas {
    /// Opens the first source that works; others are opened when they help. Reads are added to `trace`, for
    /// each source separately, and events to the log in `counters`; the sources themselves count their
    /// requests.
    ///
    /// Needs a tokio runtime, both now and for every read.
    ///
    /// # Errors
    /// That of the last candidate, if the file cannot be opened anywhere; `NotFound` if there is no
    /// candidate.
    pub async fn open(
        finder: Arc<dyn Finder>,
        options: ReplicaReadOptions,
        counters: Arc<Counters>,
        trace: Trace,
        deadline: Deadline,
    ) -> Result<OpenedSource> {
        let (shared, known) = SharedReplicas::open(finder, options, counters, trace, deadline).await?;
        Ok(OpenedSource { source: Arc::new(Replicas { shared }), known })
    }
}

impl Drop for Replicas {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

impl Source for Replicas {
    /// The identity that the first source has.
    fn identity(&self) -> &Identity {
        &self.shared.identity
    }

    /// Requests that suit all active sources, and as many as all of them together can take.
    fn cost_model(&self) -> CostModel {
        let together = |a: CostModel, b: CostModel| CostModel {
            gap: a.gap.max(b.gap),
            largest_request: a.largest_request.min(b.largest_request),
            ranges_per_request: a.ranges_per_request.min(b.ranges_per_request),
            concurrency: a.concurrency.saturating_add(b.concurrency),
            immediate: false,
            tied: false,
            deals_out: false,
        };
        let all = self.shared.active().into_iter().map(|source| source.cost_model());
        let usual = || self.shared.source(0).map_or(CostModel::LOCAL, |first| first.cost_model());
        CostModel { immediate: false, ..all.reduce(together).unwrap_or_else(usual) }
    }

    /// The active ones; several as `a:1+b:2`, because what is measured for all of them is not true for each.
    fn server(&self) -> Option<String> {
        self.shared.server()
    }

    /// The round trip to the most distant active one.
    fn round_trip(&self) -> Option<Duration> {
        self.shared.active().iter().filter_map(|source| source.round_trip()).max()
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        Box::pin(self.shared.read(ranges, deadline))
    }
}
