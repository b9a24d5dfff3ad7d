//! A tree as a table of columns, for the readers that all formats share.

mod plan;
mod storage;
mod tree_table;

pub use plan::integers;
pub use storage::BasketStorage;
pub use tree_table::TreeTable;
