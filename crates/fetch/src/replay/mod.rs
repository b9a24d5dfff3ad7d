//! Replaying a recorded job: the same accesses, over another link or by another policy.
//!
//! Against a model of the link, nothing is transferred and no time passes: the clock is tokio's paused one,
//! which jumps from one event to the next. The code that reads files decides which requests are made.
//!
//! ```text
//! Recording ─▶ RecordedJob: steps of threads ─▶ replay ─▶ Fetcher, ReadAhead, Blocks ─▶ model of a link, or real sources
//! ```

mod model;
mod policy;
mod recorded;
mod replicas;
mod run;
mod summary;

pub use policy::{LinkModel, Policy};
pub use recorded::{
    Action, EntryRange, RecordedFile, RecordedJob, RecordedProcess, RecordedRead, RecordedRequest,
    RecordedStep, RecordedWrite, SpentTime,
};
pub use run::{Cost, ReplayTarget, replay};
pub use summary::{cost_json, links, summary};
