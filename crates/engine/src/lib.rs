//! Read ROOT trees into arrays, fast, from anywhere.
//!
//! Open a file with [`open`], take a tree with [`File::tree`], read columns with [`Tree::read`], or range by range with
//! [`Tree::scan`]; an [`EventLoop`] goes through many files. Every call blocks until it is done, fails, passes its
//! deadline, or is interrupted; a [`Call`] carries both.
//!
//! ```no_run
//! use sapwood::{Call, Deadline, OpenOptions, ReadOptions};
//! # fn main() -> sapwood::Result<()> {
//! let mut never = || false;
//! let mut call = Call::new(Deadline::default(), &mut never);
//! let file = sapwood::open("https://example.org/data.root", OpenOptions::default(), &mut call)?;
//! let tree = file.tree("Events", None, &mut call)?;
//! let pt = tree.find_branch("Muon_pt").unwrap_or_default();
//! let columns = tree.read(&[pt], 0..tree.entries(), &ReadOptions::default(), &mut call)?;
//! # Ok(()) }
//! ```
//!
//! This crate is the façade: it joins [files](sapwood_root), [tables](sapwood_table), [writing](sapwood_rewrite) and
//! [datasets](sapwood_dataset), and adds verification and diagnosis, which need all of them.

/// Compiles the examples of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/loops.md")]
struct Guide;

mod doctor;
mod event_loop;
mod open;
pub mod verify;

pub use doctor::diagnose;
pub use event_loop::{EventChunk, EventLoop, EventLoopOptions, Lists};
pub use open::{input, open};
pub use sapwood_chain::{ChainOptions, ChainOutput, ChainReport, ChainSource, chain};
pub use sapwood_core::{
    Buffer, Call, Column, CounterValues, Counters, Deadline, Error, ErrorKind, EventLog, Field, Form,
    Interrupt, LoggedEvent, Number, Primitive, Result, SourceEvent, printable,
};
pub use sapwood_dataset as dataset;
pub use sapwood_fetch::blocks::{BlockOptions, Cache, CacheCheck, CacheOptions, CachedFile};
pub use sapwood_fetch::learn::{Accounting, ColumnUse, Fetch, FetchKind, KindUse};
pub use sapwood_fetch::replay;
pub use sapwood_rewrite::{repack, write};
pub use sapwood_root::{
    File, FileItem, KeyEntry, MemberInfo, Object, OpenOptions, RawFile, ReadOptions, ReplicaOptions,
    RootFile, Tree, list_directory, sibling_url,
};
pub use sapwood_source::{ListingEntry, PageCache, RetryPolicy, Source, SourceOptions, Trace, TraceRecord};
pub use sapwood_table::{
    Chunk, ColumnContent, ColumnSchema, CutCosts, CutOptions, CutQuery, CutRead, CutScan, CutStage,
    EntryRead, EntrySelection, EntryStatistics, ExcludedEntries, Lazy, LazyOptions, PassingEntries, Query,
    Scan, Table, count_excluded,
};
pub use sapwood_tfile::{ElementKind, StreamerElement, StreamerInfo, StreamerInfos};
pub use sapwood_ttree::{BasketRef, Branch, BranchKind, BranchType, Meaning};
