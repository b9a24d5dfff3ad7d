//! Writing files: trees that are filled cluster by cluster, and objects; complete at the end, or not there at all.
//!
//! ```text
//! extend: columns ─▶ baskets, filled and compressed on all threads ─▶ records, cluster by cluster ─▶ sink
//! ```

mod resume;
mod writer;

use sapwood_core::Result;
use sapwood_source::OpenOptions;
use sapwood_table::pool::runtime;

pub use sapwood_codec::Compression;
pub use sapwood_core::Piece;
pub use sapwood_sink::Sink;
pub use sapwood_streamer::write::Value;
pub use sapwood_ttree::write::{
    BranchSpec, Class, ClassMember, ClusterSize, ColumnView, Storage, VectorItem, split,
};
pub use writer::{DirectoryId, TreeId, Writer, WriterOptions};

/// The place of a new file, at a path or URL: `s3://`, `gs://` and `az://`, too. Nothing is seen there before its
/// [`commit`](Sink::commit).
///
/// # Errors
/// `Unsupported` if nothing can be written to URLs of its kind, and what the place itself fails with.
pub fn create_sink(url: &str) -> Result<Box<dyn Sink>> {
    sapwood_sink::create(url, &OpenOptions::default(), &runtime()?)
}
