//! ROOT's container format: header, keys, directories, free segments, streamer information, objects.
//!
//! Sans I/O: call [`TFile::open`] with the known [`Segments`](sapwood_core::Segments) of the file, usually
//! its first [`HEAD_LEN`] and last [`TAIL_LEN`] bytes. Every parser returns a [`ParseStep`](sapwood_core::ParseStep):
//! its value, or the ranges that it needs to continue. In an open file, [`find`](TFile::find) and
//! [`list`](TFile::list) return keys, [`record`](TFile::record) the bytes of an object,
//! [`streamers`](TFile::streamers) the class descriptions; [`Cursor`] reads objects. [`mod@write`] writes files.

mod cursor;
mod directory;
mod elements;
mod file;
mod find;
mod free;
mod header;
mod key;
mod likely;
mod listing;
mod outline;
mod reader;
mod recent_streamers;
mod record;
mod streamers;
pub mod write;

pub use cursor::{BYTE_COUNT_MASK, CLASS_MASK, IS_REFERENCED, MAP_OFFSET, NEW_CLASS_TAG};
pub use cursor::{Cursor, ObjectBase, ObjectHeader, ObjectSlot, TNamed};
pub use directory::Directory;
pub use elements::{Count, ElementKind, StreamerElement, ValueRange};
pub use file::{HEAD_LEN, TAIL_LEN, TFile};
pub use find::KeyEntry;
pub use header::FileHeader;
pub use key::Key;
pub use listing::PartialListing;
pub use outline::{Edits, Outline, Pointer, PointerTarget, Walker};
pub use record::Record;
pub use streamers::{StreamerInfo, StreamerInfos};
