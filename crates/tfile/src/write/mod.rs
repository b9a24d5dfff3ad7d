//! Writing ROOT's container: header, keys, directories, free segments, streamer information. Without I/O.
//!
//! [`FileWriter`] gives every record its place and hands out [`Piece`](sapwood_core::Piece)s; who writes them
//! where is for others to know. [`RecordBuffer`] is what the payload of an object is written with, [`NewKey`] its key
//! before it has a place, and [`Descriptions`] the classes that the file describes.

mod buffer;
mod copied;
mod descriptions;
mod directory;
mod file;
mod free;
mod header;
mod key;
mod origin;
mod resume;

pub use buffer::RecordBuffer;
pub use copied::{is_wide, pid_offset};
pub use descriptions::Descriptions;
pub use file::{DirectoryId, FileWriter, RecordPosition};
pub use key::NewKey;
pub use origin::{Datime, Origin};
