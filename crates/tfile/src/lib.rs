//! ROOT's container format: header, keys, directories, free segments, streamer information, objects.
//! Sans I/O: parsers are handed [`sapwood_core::Segments`] and answer [`sapwood_core::Step`].

mod cursor;

pub use cursor::{Cursor, Named, ObjectBase, ObjectHeader, ObjectSlot};

/// Streamer information by class.
#[derive(Debug, Default)]
pub struct StreamerInfos;
