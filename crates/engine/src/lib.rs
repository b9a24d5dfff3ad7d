//! Read ROOT trees into arrays, fast, from any place.
//!
//! Open a file with [`File::open`], take a tree with [`File::tree`], read columns with [`Tree::read`], or
//! range by range with [`Tree::scan`]. Every call blocks until it is done, fails, passes its deadline, or is
//! [interrupted](Interrupt).
//!
//! ```no_run
//! use sapwood::{File, OpenOptions, ReadOptions};
//! # fn main() -> sapwood::Result<()> {
//! let file = File::open("https://example.org/data.root", OpenOptions::default(), &mut || false)?;
//! let tree = file.tree("Events", None, Default::default(), &mut || false)?;
//! let pt = tree.find_branch("Muon_pt").unwrap_or_default();
//! let columns = tree.read(&[pt], 0..tree.entries(), &ReadOptions::default(), &mut || false)?;
//! # Ok(()) }
//! ```
//!
//! ```text
//! scan: windows of clusters ─▶ fetch ─▶ decompress and decode, on all threads ─▶ columns, in order
//!                               └── the next window, while this one is decoded; the next range, while one is worked on
//! ```

mod beside;
mod chain;
pub mod dataset;
mod doctor;
mod file;
mod keys;
mod listing;
mod object;
mod opening;
mod reach;
pub mod repack;
mod storage;
mod tree;
pub mod verify;
pub mod write;

pub use beside::beside;
pub use chain::{ChainOptions, ChainOutput, ChainReport, ChainSource, chain};
pub use doctor::diagnose;
pub use file::{File, Item, KeyEntry};
pub use listing::list_directory;
pub use object::Object;
pub use sapwood_core::{
    Buffer, Call, Column, Counters, Deadline, Error, ErrorKind, Event, Form, Interrupt, Primitive, Result,
    Snapshot, Story, Told, printable,
};
pub use sapwood_fetch::blocks::{Cache, Kept as CachedFile, Verified};
pub use sapwood_fetch::learn::{Accounting, ColumnUse, Fetch, Kind, KindUse};
pub use sapwood_fetch::replay;
pub use sapwood_source::{
    BlockOptions, CacheOptions, Entry, OpenOptions, Replicas, Source, Trace, TraceRecord,
};
pub use sapwood_table::{
    CutCosts, CutOptions, CutQuery, CutRead, CutScan, CutStage, EntryRead, EntrySelection, EntryStatistics,
    ExcludedEntries, Lazy, LazyOptions, PassingEntries, Query, Scan, Table, count_excluded,
};
pub use sapwood_tfile::{ElementKind, StreamerElement, StreamerInfo, StreamerInfos};
pub use sapwood_ttree::{BasketRef, Branch, BranchKind, Meaning, Outcome};
pub use tree::{Member, ReadOptions, Tree};
