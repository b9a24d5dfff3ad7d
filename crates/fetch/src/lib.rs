//! Decides which bytes are fetched when: planning, merging, windows, read-ahead. Knows byte ranges and no
//! file format.
//!
//! - To read ranges, call [`Fetcher::fetch`]; inside a computing task, for a source that never waits, call
//!   [`Fetcher::fetch_now`].
//! - To run a parser that asks for bytes, call [`Fetcher::satisfy`].
//! - To scan, call [`windows`], make a [`Job`] of each window and let [`ReadAhead`] fetch them ahead of the
//!   work.
//! - To read a file in large blocks that are kept on the local disk, open it with [`blocks`].
//! - To read one file from several replicas, open [`Replicas`](replicas::Replicas); [`candidates`] finds
//!   them.
//! - To prefetch for a reader whose needs are learned as it goes, use [`learn`].
//! - To evaluate a policy against a recorded job, use [`replay`].
//! - To wait for any of these in blocking code, call [`wait`], which can be interrupted.
//!
//! How requests are cut follows from the cost model of the source ([`CostModel`](sapwood_source::CostModel)) and
//! from measurements of the link to its server ([`Link`]).
//!
//! ```text
//! wanted ranges ─▶ plan ─▶ requests ─▶ source ─▶ answers ─▶ sliced back, one buffer per wanted range
//! ```

mod ahead;
pub mod blocks;
mod budget;
pub mod candidates;
mod cost;
mod fetcher;
pub mod learn;
mod link;
mod plan;
pub mod replay;
pub mod replicas;
mod unplanned;
mod wait;
mod window;

pub use ahead::{Ahead, FileIndex, Job, ReadAhead};
pub use budget::Budget;
pub use fetcher::Fetcher;
pub use link::Link;
pub use plan::{Plan, plan};
pub use wait::wait;
pub use window::{cut_windows, near_window_bytes, window_bytes, windows};
