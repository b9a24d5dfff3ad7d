//! Learning: which columns a reader turns out to need, window by window, so that they are fetched ahead of need.
//!
//! Knows columns and windows as numbers, and where the bytes of a column in a window lie ([`Layout`]); nothing
//! of formats.
//!
//! ```text
//! touch ─▶ policy: what else is likely? ─▶ one planned fetch ─▶ store: bytes, then values, by window
//!             ▲                               └─ and the trained columns of the next windows (travel)
//!             └── ledger: hits, misses, bytes that nobody used
//! ```

mod ahead;
mod claim;
mod flight;
mod ledger;
mod policy;
mod reader;
mod store;
mod travel;

pub use ledger::{Accounting, ColumnUse, Fetch, KindUse};
pub use policy::Rules;
pub use reader::{Fetched, Limits, Reader};
pub use travel::Stop;

use crate::Fetcher;
use sapwood_core::ByteRange;
use sapwood_source::record;
use std::fmt;

/// Where the bytes of columns lie.
pub trait Layout: fmt::Debug + Send + Sync + 'static {
    /// Number of columns.
    fn columns(&self) -> usize;

    /// Number of windows.
    fn windows(&self) -> usize;

    /// What is to be fetched for a column in a window; nothing for one that cannot be read, or needs nothing.
    fn pieces(&self, column: usize, window: usize) -> Vec<Piece>;

    /// What fetches from an object.
    fn fetcher(&self, object: usize) -> Fetcher;

    /// The read, if the job is recorded.
    fn recorded(&self) -> Option<&record::RecordedRead> {
        None
    }
}

/// A range of bytes that a column needs in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The object that it lies in.
    pub object: usize,
    /// Where in it.
    pub range: ByteRange,
    /// True if another window or column needs it, too.
    pub shared: bool,
}

/// Why something is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Nothing is known yet: all columns of a window, as far as the budget reaches.
    Startup,
    /// Columns that are touched in most windows, ahead of need.
    Trained,
    /// A column that was not fetched is touched: it, and all that were touched like that before.
    Trigger,
    /// A set of columns that the reader names.
    Declared,
    /// Exactly what is touched.
    Touched,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 5] = [Kind::Startup, Kind::Trained, Kind::Trigger, Kind::Declared, Kind::Touched];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Startup => "startup",
            Kind::Trained => "trained",
            Kind::Trigger => "trigger",
            Kind::Declared => "declared",
            Kind::Touched => "touched",
        }
    }
}
