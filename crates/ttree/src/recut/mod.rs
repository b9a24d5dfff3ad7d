//! Re-splits baskets: entries are bytes of unknown meaning.
//!
//! [`Entries`] splits a basket, [`Cutter`] makes new ones of any size, and [`BasketRecord`] one that is not
//! compressed. References inside an entry count from the start of the basket that it was first written to:
//! [`References`] finds them, and they are rewritten when the entry moves. [`serialized`] turns values into
//! entries.

mod basket_record;
mod cutter;
mod entries;
mod references;
mod serialize;

pub use basket_record::BasketRecord;
pub use cutter::{Cutter, NewBasket};
pub use entries::Entries;
pub use references::References;
pub use serialize::serialized;
