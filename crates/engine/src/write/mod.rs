//! Writing files: trees that are filled cluster by cluster, and objects; complete at the end, or not there at all.
//!
//! ```text
//! extend: columns ─▶ baskets, filled and compressed on all threads ─▶ records, cluster by cluster ─▶ sink
//! ```

mod resume;
mod writer;

pub use sapwood_codec::Compression;
pub use sapwood_core::Piece;
pub use sapwood_source::sink::{Sink, create as create_sink};
pub use sapwood_streamer::write::Value;
pub use sapwood_ttree::write::{BranchSpec, ClusterSize, ColumnView, Item, Storage};
pub use writer::{DirectoryId, TreeId, Writer, WriterOptions};
