//! Learns which columns a reader needs, window by window, to fetch them ahead of need.
//!
//! Columns and windows are numbers here, and [`ColumnMap`] says where the bytes of a column in a window lie;
//! formats are unknown.
//!
//! ```text
//! touch ─▶ policy: what else is likely? ─▶ one planned fetch ─▶ store: bytes, then values, by window
//!             ▲                               └─ and the trained columns of the next windows (travel)
//!             └── ledger: hits, misses, unused bytes
//! ```

mod ahead;
mod claim;
mod column_set;
mod fetch_log;
mod fetching;
mod flight;
mod ledger;
mod policy;
mod reader;
mod store;
mod travel;

pub use claim::FetchedColumn;
pub use fetch_log::{Fetch, MOST_FETCHES};
pub use ledger::{Accounting, ColumnUse, KindUse};
pub use policy::Rules;
pub use reader::Reader;
pub use store::Limits;
pub use travel::ExpectedWindow;

use crate::Fetcher;
use sapwood_core::ByteRange;
use sapwood_source::record;
use std::fmt;

/// Where the bytes of columns lie.
pub trait ColumnMap: fmt::Debug + Send + Sync + 'static {
    /// Number of columns.
    fn columns(&self) -> usize;

    /// Number of windows.
    fn windows(&self) -> usize;

    /// The ranges to fetch for a column in a window; none if it cannot be read, or needs no bytes.
    fn pieces(&self, column: usize, window: usize) -> Vec<ColumnRange>;

    /// The fetcher of an object.
    fn fetcher(&self, object: usize) -> Fetcher;

    /// The read, if the job is recorded.
    fn recorded(&self) -> Option<&record::ReadRecording> {
        None
    }
}

/// A range of bytes that a column needs in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnRange {
    /// The object that it lies in.
    pub object: usize,
    /// Its range there.
    pub range: ByteRange,
    /// True if another window or column needs it, too.
    pub shared: bool,
}

/// Why a fetch is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FetchKind {
    /// Nothing is known yet: all columns of a window, as far as the budget allows.
    Startup,
    /// Columns that are touched in most windows, ahead of need.
    Trained,
    /// A column that was not fetched is touched: it is fetched together with all columns that triggered a
    /// fetch before.
    Trigger,
    /// A set of columns that the caller declares.
    Declared,
    /// Exactly the touched columns.
    Touched,
}

impl FetchKind {
    /// All kinds.
    pub const ALL: [FetchKind; 5] =
        [FetchKind::Startup, FetchKind::Trained, FetchKind::Trigger, FetchKind::Declared, FetchKind::Touched];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            FetchKind::Startup => "startup",
            FetchKind::Trained => "trained",
            FetchKind::Trigger => "trigger",
            FetchKind::Declared => "declared",
            FetchKind::Touched => "touched",
        }
    }
}
