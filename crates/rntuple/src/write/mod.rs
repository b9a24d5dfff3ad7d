//! Writes new RNTuples: columns to compressed pages, cluster by cluster, and the metadata around them.
//!
//! An [`RNTupleBuilder`] does no I/O: it hands blobs to a function that places them in a file. [Fill](RNTupleBuilder::fill)
//! it with entries; [end the cluster](RNTupleBuilder::end_cluster) when it is [full](RNTupleBuilder::cluster_is_full); and
//! finally [finish](RNTupleBuilder::finish) it, which gives the object of its key.

mod builder;
mod clusters;
mod column;
mod copied;
mod elements;
mod envelope;
mod feed;
mod layout;
mod metadata;
mod recompressed;

pub use builder::{PAGE_SIZES, PlaceBlob, RNTupleBuilder, RNTupleOptions};
pub use copied::{CopiedFields, StoredCluster, StoredColumn, StoredPage};
pub use layout::{FieldSpec, Projection};
pub use metadata::{AttributeSetLink, MAX_BLOB};
