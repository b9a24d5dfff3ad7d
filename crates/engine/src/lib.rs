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

mod chain;
pub mod dataset;
mod doctor;
mod elsewhere;
mod entries;
mod file;
mod join;
mod kept;
mod keys;
mod lazy;
mod listing;
mod meanwhile;
mod member;
mod object;
mod opening;
mod plan;
mod pool;
mod reach;
mod read;
mod recorded;
pub mod repack;
mod request;
mod scan;
mod tree;
pub mod verify;
mod windows;
pub mod write;

pub use chain::{ChainOptions, ChainOutput, ChainReport, ChainSource, chain};
pub use doctor::diagnose;
pub use elsewhere::beside;
pub use entries::EntryRead;
pub use file::{File, Item, KeyEntry};
pub use lazy::{Lazy, LazyOptions};
pub use listing::list_directory;
pub use object::Object;
pub use read::ReadOptions;
pub use request::Request;
pub use sapwood_core::{
    Buffer, Column, CounterSnapshot, Counters, Deadline, Error, ErrorKind, EventLog, Form, LoggedEvent,
    Primitive, Result, SourceEvent, printable,
};
pub use sapwood_fetch::blocks::{Cache, Kept as CachedFile, Verified};
pub use sapwood_fetch::learn::{Accounting, ColumnUse, Fetch, Kind, KindUse};
pub use sapwood_fetch::replay;
pub use sapwood_source::{
    BlockOptions, CacheOptions, ListingEntry, OpenOptions, ReplicaOptions, Source, Trace, TraceRecord,
};
pub use sapwood_tfile::{ElementKind, StreamerElement, StreamerInfo, StreamerInfos};
pub use sapwood_ttree::{BasketRef, Branch, BranchKind, Meaning, Outcome};
pub use scan::Scan;
pub use tree::{Member, Tree};

/// Asked about ten times a second during a wait: true gives up, with an error of kind `Cancelled`.
pub type Interrupt<'a> = &'a mut dyn FnMut() -> bool;
