//! Tables of columns: the trait that a columnar format implements, and the ways to read one.
//!
//! A [`Table`] names the chunks that hold some entries of a column, and turns their bytes into values. Everything else
//! is here, once for all formats: which chunks are fetched together and ahead, parallel decoding, entry lists, cuts,
//! loops and lazy readers.
//!
//! ```text
//! query ─▶ plan: the table names chunks ─▶ windows of clusters ─▶ fetch ─▶ the table decodes, on all threads ─▶ columns
//!                                          └── the next window, while this one is decoded
//! ```

mod background;
mod cached;
mod carried;
mod chunk_reader;
mod cut;
mod entries;
mod join;
mod lazy;
mod members;
mod pages;
mod plan;
pub mod pool;
mod queries;
mod read;
mod recording;
mod scan;
mod selection;
mod table;
mod windows;
pub mod write;

pub use background::Background;
pub use cached::CachedTable;
pub use cut::{
    CutCosts, CutOptions, CutQuery, CutRead, CutScan, CutStage, EntrySelection, ExcludedEntries,
    PassingEntries, count_excluded, read_where,
};
pub use entries::EntryRead;
pub use lazy::{Lazy, LazyOptions, steps};
pub use members::{member, member_form, names, spelled_form};
pub use pages::{ClusterPart, entries_of_page};
pub use read::read;
pub use scan::Scan;
pub use selection::{Query, Selection};
pub use table::{
    Chunk, ChunkBytes, ChunkContent, ChunkId, ColumnContent, ColumnPlan, ColumnSchema, EntryStatistics,
    Table, TableLabel, chunk_content,
};

pub use sapwood_core::{Extremes, Statistics};
pub use sapwood_fetch::FileIndex;
