//! ROOT files: opened, listed, and read as trees and objects.
//!
//! ```text
//! URL ─▶ reach: one source of all replicas ─▶ opening: in blocks that are kept, or as it is ─▶ RootFile: keys, records
//!        File: what stands behind it may be stored otherwise (FileContents) ─▶ Tree, Object
//! ```

mod beside;
mod contents;
mod file;
mod item;
mod keys;
mod listing;
mod object;
mod opening;
mod options;
mod reach;
mod root_file;
mod storage;
mod tree;

pub use beside::beside;
pub use contents::{FileContents, TreeRecord};
pub use file::File;
pub use item::{Item, RNTUPLES, is_tree};
pub use listing::list_directory;
pub use object::Object;
pub use opening::open as open_source;
pub use options::{OpenOptions, ReplicaOptions};
pub use reach::ReachedSource;
pub use root_file::{KeyEntry, KeyRecord, RootFile, VirtualFile, explained};
pub use sapwood_table::{EntryRead, Lazy, LazyOptions, Query, Scan};
pub use tree::{Member, ReadOptions, Tree};
