//! Learning: which columns a reader turns out to need, window by window, so that they are fetched ahead of need.
//!
//! Knows columns and windows as numbers, and where the bytes of a column in a window lie; nothing of formats.

mod ledger;

pub use ledger::{Accounting, ColumnUse, Fetch, KindUse};

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
