//! Baskets cut anew: entries as bytes, without knowing what they mean.
//!
//! [`Entries`] takes a basket apart, [`Cutter`] makes new ones of any size. References inside an entry count from the
//! start of the basket that the entry was written to: they are found by [`References`], and rewritten when the entry
//! moves. [`serialised`] makes entries of values again.

mod cutter;
mod entries;
mod references;
mod serialise;

pub use cutter::{Cutter, NewBasket};
pub use entries::Entries;
pub use references::References;
pub use serialise::serialised;
