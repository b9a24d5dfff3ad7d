//! Reading with a cut: first the columns that it needs, then the other columns of the passing entries.

mod excluded;
mod parts;
mod query;
mod read;
mod scan;
mod second;
mod stages;

pub use excluded::{ExcludedEntries, count_excluded};
pub use query::{CutCosts, CutOptions, CutQuery, EntrySelection};
pub use read::{CutRead, CutStage};
pub use scan::{CutScan, PassingEntries, read_where};
