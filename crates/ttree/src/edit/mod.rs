//! Rewrites a tree's record for baskets at other offsets.

mod arrays;
mod change;
mod emit;
mod graft;

pub use change::{BranchChange, ClusterChange, TreeChange};
