//! Writes ROOT's container: header, keys, directories, free segments, streamer information. Without I/O.
//!
//! [`FileWriter`] places every record and returns [`FilePiece`](sapwood_core::FilePiece)s; the caller writes them.
//! The payload of an object is written with [`RecordBuffer`], [`NewKey`] is its key before it is placed, and
//! [`Descriptions`] are the classes that the file describes.

mod buffer;
mod copied;
mod descriptions;
mod directory;
mod file;
mod free;
mod header;
mod key;
mod resume;
mod stamp;

pub use buffer::RecordBuffer;
pub use copied::{is_wide, pid_offset};
pub use descriptions::Descriptions;
pub use file::{DirectoryId, FileWriter, RecordPosition};
pub use key::NewKey;
#[cfg(test)]
pub(crate) use key::RecordExtent;
pub use stamp::{Datime, FileStamp};
