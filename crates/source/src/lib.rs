//! Byte ranges of an object, wherever it lies: memory, a local file, an HTTP server; and decorators over the one trait.
//!
//! To read call [`Source::read_ranges`]. Nothing here knows ROOT or trees.

mod physics;
mod traits;

pub use physics::Physics;
pub use traits::{BoxFuture, Identity, Opened, Source};
