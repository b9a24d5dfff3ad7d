//! Replaying a recorded job: the same accesses, over another link or by another policy.
//!
//! Against a model of the link nothing is transferred and no time passes: the clock is tokio's paused one, and jumps
//! from one event to the next. What decides which requests are made is the code that reads files.
//!
//! ```text
//! Recording ─▶ Job: steps of threads ─▶ replay ─▶ Fetcher, ReadAhead, Blocks ─▶ model of a link, or real sources
//! ```

mod job;
mod model;
mod places;
mod policy;
mod run;
mod summary;

pub use job::{Action, EntryRange, File, Job, Process, Read, Request, Step};
pub use policy::{Line, Policy};
pub use run::{Cost, Place, replay};
pub use summary::{cost_json, links, summary};
