//! Which bytes when: planning, merging, windows, read-ahead. Knows byte ranges and no file format.
//!
//! - To read ranges call [`Fetcher::fetch`]; inside a computing task, of a source that never waits, [`Fetcher::fetch_now`].
//! - To run a parser that asks for bytes call [`Fetcher::satisfy`].
//! - To scan call [`windows`], make a [`Job`] of each window and let [`ReadAhead`] fetch them ahead of the work.
//! - To read a file in large blocks that are kept on the local disk open it by [`blocks`].
//! - To read one file from several places open [`Replicas`](replicas::Replicas).
//! - To read what turns out to be needed, as if it had been known, use [`learn`].
//! - To judge a policy by a job that was recorded use [`replay`].
//! - To wait for any of it in blocking code call [`wait`], which can be interrupted.
//!
//! How requests are cut follows from what the source says of itself ([`CostModel`](sapwood_source::CostModel)) and from what
//! was measured of the way to its server ([`Link`]).
//!
//! ```text
//! wanted ranges ─▶ plan ─▶ requests ─▶ source ─▶ answers ─▶ sliced back, one buffer per wanted range
//! ```

mod ahead;
pub mod blocks;
mod budget;
mod cost;
mod fetcher;
pub mod learn;
mod link;
pub mod places;
mod plan;
pub mod replay;
pub mod replicas;
mod unplanned;
mod wait;
mod window;

pub use ahead::{Ahead, Job, ReadAhead};
pub use budget::Budget;
pub use fetcher::Fetcher;
pub use link::Link;
pub use plan::{Plan, plan};
pub use wait::wait;
pub use window::{cut_windows, near_window_bytes, window_bytes, windows};
