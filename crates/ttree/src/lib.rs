//! ROOT's TTree: metadata, basket layout, and bytes to columns. Does no I/O: the caller provides the bytes.
//!
//! - [`TTree::parse`] turns the tree's record into branches, leaves, baskets and clusters.
//! - [`interpret`] determines the type of a branch (a [`sapwood_core::Form`]) and how to decode its bytes.
//! - [`decode`] turns raw basket records into a [`sapwood_core::Column`].
//! - [`TreeTable`] is a tree as a [table of columns](sapwood_table::Table).

mod basket;
mod decode;
mod edit;
mod interpret;
mod meta;
mod objects;
mod record;
mod recut;
mod table;
pub mod write;

pub use basket::{BasketHeader, uncompressed_record};
pub use decode::{BasketBytes, Counts, Interpretation, Layout, decode};
pub use edit::{BranchChange, ClusterChange, TreeChange};
pub use interpret::{BranchType, Meaning, interpret};
pub use meta::{BasketRef, Baskets, Branch, BranchElement, BranchKind, Friend, Leaf, LeafKind, TTree};
pub use objects::{ItemClasses, ObjectBranches, clones_members, is_whole_clones};
pub use record::{BranchOutline, Maximum, TreeOutline};
pub use recut::{BasketRecord, Cutter, Entries, NewBasket, References, serialized};
pub use table::{BasketStorage, TreeTable, integers};
