//! Writing a tree's record again, for baskets that lie elsewhere.

mod arrays;
mod change;
mod emit;
mod graft;

pub use change::{BranchChange, ClusterChange, TreeChange};
