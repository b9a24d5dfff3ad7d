//! Datasets in an object store: products, stripes, snapshots, commits.
//!
//! A snapshot is a ROOT file whose baskets lie in other objects: it holds the records of the trees, without entries, and
//! says for each product and segment which stripes hold the baskets. Objects are never changed; a version is there
//! when its entry in the log is.
//!
//! ```text
//! log/n ─▶ snapshot ─▶ stripe lists ─▶ stripes: baskets
//!          products     of the wanted
//!          segments     products only
//! ```

mod id;
mod snapshot;

pub use id::Id;
pub use snapshot::{Made, ObjectRef, Product, Schema, Segment, Snapshot, StripeListRef};
