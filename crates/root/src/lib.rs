//! ROOT files: opened, listed, and read as trees and objects.
//!
//! ```text
//! URL ─▶ reach: one source for all replicas ─▶ opening: with or without a block cache ─▶ RootFile: keys, records
//!        File: its contents may be stored in another form (FileContents) ─▶ Tree, Object
//! ```

mod contents;
mod file;
mod item;
mod keys;
mod listing;
mod ntuple;
mod object;
mod opening;
mod options;
mod raw;
mod reach;
mod root_file;
mod sibling;
mod storage;
mod tree;

pub use contents::{FileContents, TreeRecord, VirtualTree, file_table};
pub use file::File;
pub use item::{FileItem, is_tree};
pub use listing::list_directory;
pub use ntuple::RNTUPLES;
pub use object::Object;
pub use opening::open as open_source;
pub use options::{OpenOptions, ReplicaOptions};
pub use raw::RawFile;
pub use reach::ReachedSource;
pub use root_file::{KeyEntry, KeyRecord, RootFile, VirtualFile, explained};
pub use sapwood_table::{EntryRead, Lazy, LazyOptions, Query, Scan};
pub use sibling::sibling_url;
pub use tree::{MemberInfo, ReadOptions, Tree};
