//! Parses a tree's record: its branches, leaves and baskets and, on request, the positions of their members.

mod basket_table;
mod branch;
mod classes;
mod clusters;
mod leaf;
mod number;
mod parser;
mod positions;
mod resolve;
mod tree;

pub use positions::{BranchOutline, Maximum, TreeOutline};
pub(crate) use positions::{NumberPosition, PointerArray, TableLayout};
