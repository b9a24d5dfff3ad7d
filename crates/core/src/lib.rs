//! The vocabulary of all layers: errors, byte ranges, columns, deadlines, counters.
//!
//! Nothing here does I/O, starts a thread or knows a file format.
//!
//! - [`Error`], [`ErrorKind`]: what failed, where (URL, byte offset, branch), and what to do about it.
//! - [`ByteRange`], [`Segments`], [`Step`]: how parsers request bytes without doing I/O; [`Piece`]: how
//!   writers return them.
//! - [`Form`], [`Column`], [`Buffer`]: arrays as returned to callers.
//! - [`Deadline`]: no wait is unbounded.
//! - [`Counters`]: the cost of a read; [`Story`]: the events at its sources.
//! - [`printable`]: makes text from files and servers safe to display.
//! - [`random_bytes`]: for unique names.

mod buffer;
mod call;
mod column;
mod counters;
mod deadline;
mod error;
mod form;
mod piece;
mod printable;
mod random;
mod range;
mod segments;
mod statistics;
mod story;
mod take;
mod unify;

pub use buffer::Buffer;
pub use call::{Call, Interrupt};
pub use column::Column;
pub use counters::{Counter, CounterValues, Counters};
pub use deadline::Deadline;
pub use error::{Error, ErrorKind, Result};
pub use form::{Field, Form, Primitive};
pub use piece::Piece;
pub use printable::printable;
pub use random::random_bytes;
pub use range::ByteRange;
pub use segments::{Segments, Step};
pub use statistics::{Extremes, Statistics};
pub use story::{Event, Story, Told};
