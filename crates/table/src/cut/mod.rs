//! Reading with a cut: the columns that it needs first, then the other columns of the entries that pass.

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
