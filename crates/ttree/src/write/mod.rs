//! Writes new trees: columns to compressed baskets, cluster by cluster, and the tree's record at the end.
//!
//! A [`TreeBuilder`] does no I/O. [Fill](TreeBuilder::fill) it with entries; when a cluster is
//! [full](TreeBuilder::cluster_is_full), and at the end, take its [baskets](TreeBuilder::end_cluster), report
//! [where each was placed](TreeBuilder::placed), and finally write the [record](TreeBuilder::record) of the
//! tree.

mod builder;
mod class;
mod clusters;
mod columns;
mod element;
mod existing;
mod fill;
mod record;
mod resume;
mod room;
mod schema;
mod shape;
mod split;

pub use builder::{Basket, TreeBuilder};
pub(crate) use element::Element;
pub(crate) use fill::put as put_numbers;
pub(crate) use record::shapes_record;
pub use schema::{BranchSpec, Class, ClassMember, Storage, VectorItem};
pub(crate) use shape::{BranchShape, LeafShape};
pub use split::split;
