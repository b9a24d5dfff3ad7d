//! Baskets cut anew: entries as bytes, without knowing what they mean.
//!
//! [`Entries`] takes a basket apart, [`Cutter`] makes new ones of any size. References inside an entry count from the
//! start of the basket that the entry was written to: where an entry has such references, the new basket says where it
//! stood (its displacement). [`serialised`] makes entries of values again.

mod cutter;
mod entries;
mod serialise;

pub use cutter::{Cut, Cutter};
pub use entries::Entries;
pub use serialise::serialised;
