//! Datasets of stripes (`sapwood-stripe`), read as files and written from files.
//!
//! Reading:
//! - `open`: URLs of datasets; a version as a file. `contents` implements `FileContents` for it.
//! - `view`: a dataset at one version. `schema` joins the branches of all products into one tree, `storage` locates
//!   their baskets.
//! - `addresses`: where each object lies in the virtual file; `source`: its bytes.
//! - `auxiliary`: the other contents of the input files.
//! - `tree_writer`: the tree of all products as one record, as an input for writing files; `export`: a file again.
//!
//! Writing:
//! - `writing`: create, append, add. `products` groups branches, `template` finds them in a file, `cutting` cuts their
//!   entries into baskets (`basket`, with `statistics`), `segment` stores these (`uploads`).
//! - `identity`: which event each entry is; `matching`: which entries of a tree are the same events.
//! - `writer_lease`: protects objects that are not committed yet. `receipts`: many write, one commits.
//! - `consolidate`: merges small objects into larger ones.

mod addresses;
mod auxiliary;
mod basket;
mod consolidate;
mod contents;
mod conversion;
mod cutting;
mod describe;
mod export;
mod identity;
mod location;
mod matching;
mod memory;
mod open;
mod options;
mod products;
mod receipts;
mod references;
mod reordering;
mod schema;
mod segment;
mod source;
mod statistics;
mod storage;
mod template;
mod tree_writer;
mod uploads;
mod view;
mod writer_lease;
mod writing;

pub use basket::{BasketForm, CutBasket, StripeCut, StripeCutter};
pub use consolidate::{ConsolidationReport, consolidate};
pub use contents::view_of;
pub use cutting::CutBatch;
pub use describe::{describe, log_after};
pub use export::export;
pub use identity::{EventNumbers, queries as event_queries};
pub use location::DatasetLocation;
pub use open::{DatasetUrl, file_of_dataset, open_dataset};
pub use options::{AddOptions, InputSelection, WriteOptions, WriteReport};
pub use receipts::{commit as commit_receipts, write as write_receipt};
pub use references::check as same_references;
pub use sapwood_core::{Extremes, Statistics};
pub use segment::{InputProduct, StripeWriter, put_object, stripe_entries};
pub use template::{Template, open_schema, open_tree};
pub use tree_writer::{ProductBasket, UnionTreeWriter};
pub use uploads::Uploads;
pub use view::DatasetView;
pub use writer_lease::WriterLease;
pub use writing::{add, append, create};
