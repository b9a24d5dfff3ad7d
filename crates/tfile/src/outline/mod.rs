//! The outline of a record: the positions of its byte counts, class tags and references, with which it can be
//! rewritten with parts replaced or removed. All other bytes are copied unchanged.

mod containers;
mod emit;
mod marks;
mod walker;

pub use emit::Edits;
pub use marks::{Outline, Pointer, PointerTarget};
pub use walker::Walker;
