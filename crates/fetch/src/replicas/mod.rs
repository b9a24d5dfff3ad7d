//! One file, read from several places at once: everything above sees one source.
//!
//! [`Replicas::open`] gets its sources from a [`Finder`]. A source is *active*: read from; *idle*: at
//! hand; or *resting*: left alone after an error, for a time that grows. Each request is divided among those that are
//! active so that all finish together; what fails or is late is asked of another one. What happens is logged to the event log.
//!
//! ```text
//! request ─▶ job: shares ─▶ pieces ─▶ sources        roster: which sources, and what each can do
//! ```
//!
//! What decides (`divide`, `job`, `layout`, `member`, `quality`, `roster`, `search`) does no I/O and has no clock; `read`,
//! `probe`, `verify` and `shared` carry it out.

mod agree;
mod divide;
mod finder;
mod job;
mod layout;
mod member;
mod probe;
mod quality;
mod read;
mod roster;
mod search;
mod settings;
mod shared;
mod verify;

pub use finder::{Finder, Known, Standing};
pub use settings::Settings;

use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Counters, Deadline, Result};
use sapwood_source::{CostModel, Identity, OpenedSource, Source, Trace};
use shared::Shared;
use std::sync::Arc;
use std::time::Duration;

/// Several sources of one file.
#[derive(Debug)]
pub struct Replicas {
    shared: Arc<Shared>,
}

impl Replicas {
    /// Opens the first source that can be; others are opened when they are of use. What is read is added to `trace`,
    /// each source for itself, and what happens to the event log in `counters`; the requests are counted by the sources
    /// themselves, where they were opened.
    ///
    /// Needs a tokio runtime, then and whenever it is read.
    ///
    /// # Errors
    /// That of the last place, if the file cannot be opened at any; `NotFound` if there is none.
    pub async fn open(
        finder: Arc<dyn Finder>,
        settings: Settings,
        counters: Arc<Counters>,
        trace: Trace,
        deadline: Deadline,
    ) -> Result<OpenedSource> {
        let (shared, known) = Shared::open(finder, settings, counters, trace, deadline).await?;
        Ok(OpenedSource { source: Arc::new(Replicas { shared }), known })
    }
}

impl Drop for Replicas {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

impl Source for Replicas {
    /// That of the first source.
    fn identity(&self) -> &Identity {
        &self.shared.identity
    }

    /// Requests that suit all active sources, and so many as all of them together bear.
    fn cost_model(&self) -> CostModel {
        let together = |a: CostModel, b: CostModel| CostModel {
            gap: a.gap.max(b.gap),
            largest_request: a.largest_request.min(b.largest_request),
            ranges_per_request: a.ranges_per_request.min(b.ranges_per_request),
            concurrency: a.concurrency.saturating_add(b.concurrency),
            immediate: false,
            tied: false,
        };
        let all = self.shared.active().into_iter().map(|source| source.cost_model());
        let usual = || self.shared.source(0).map_or(CostModel::LOCAL, |first| first.cost_model());
        CostModel { immediate: false, ..all.reduce(together).unwrap_or_else(usual) }
    }

    /// The active ones; several as `a:1+b:2`, because what is measured of the way to all is not true of one.
    fn server(&self) -> Option<String> {
        self.shared.server()
    }

    /// That to the farthest active one.
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
