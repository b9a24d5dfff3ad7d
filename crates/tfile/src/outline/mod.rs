//! The outline of a record: where byte counts, class tags and references stand in it, so that it can be written again
//! with parts replaced or left out. Everything else is copied as it is, whatever it means.

mod containers;
mod emit;
mod marks;
mod walker;

pub use emit::Edits;
pub use marks::{Outline, Pointer, PointerTarget};
pub use walker::Walker;
