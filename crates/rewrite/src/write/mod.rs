//! Writes new files from arrays: trees and RNTuples, cluster by cluster, and objects. A file appears complete or not at
//! all.
//!
//! ```text
//! extend: columns ─▶ baskets or pages, filled and compressed by all threads ─▶ records, cluster by cluster ─▶ sink
//! ```

mod existing;
mod widening;
mod writer;

use sapwood_core::Result;
use sapwood_source::SourceOptions;
use sapwood_table::pool::runtime;

pub use sapwood_codec::{Algorithm, Compression};
pub use sapwood_core::FilePiece;
pub use sapwood_rntuple::write::{FieldSpec, Projection, RNTupleOptions};
pub use sapwood_sink::Sink;
pub use sapwood_streamer::write::Value;
pub use sapwood_table::write::{ClusterSize, ColumnView};
pub use sapwood_ttree::write::{BranchSpec, Class, ClassMember, Storage, VectorItem, split};
pub use writer::{DirectoryId, TableId, Writer, WriterOptions};

/// A sink for a new file at a path or URL (also `s3://`, `gs://` and `az://`). The file appears there with
/// [`commit`](Sink::commit).
///
/// # Errors
/// `Unsupported` for schemes that cannot be written to; errors of the target.
pub fn create_sink(url: &str) -> Result<Box<dyn Sink>> {
    sapwood_sink::create(url, &SourceOptions::default(), &runtime()?)
}
