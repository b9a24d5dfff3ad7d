//! Datasets of product stripes (`sapwood-stripe`): read as the tree of a file, written from the trees of files.
//!
//! - `schema`: the branches of all products as one tree.
//! - `view`: which baskets they have; asked for when a branch is wanted first.
//! - `storage`: where the baskets of each branch are, found when they are asked for first.
//! - `beside`: what else the files had that it was made of.
//! - `open`: what names a dataset; a version as a file.
//! - `objects`: where each object lies in the file that readers see; `source`: its bytes.
//! - `writing`: datasets out of files. `products` says which branches belong together, `template` where they are in a file,
//!   `cutting` cuts their entries into baskets (`basket`; `statistics` says what is in them), `segment` stores them (`uploads`),
//!   `identity` says which events they are, `matching` which entries of a tree are the same events.
//! - `held`: the lease of who writes. `receipts`: many write, one commits. `consolidate`: small pieces become larger ones.
//! - `grafted`: the tree of all products as one record, by which it is an input of what writes files; `export`: a file again.

mod basket;
mod beside;
mod consolidate;
mod contents;
mod cutting;
mod describe;
mod export;
mod grafted;
mod held;
mod identity;
mod matching;
mod memory;
mod objects;
mod open;
mod options;
mod products;
mod receipts;
mod references;
mod scattered;
mod schema;
mod segment;
mod source;
mod statistics;
mod storage;
mod template;
mod uploads;
mod view;
mod writing;

pub use consolidate::{Consolidation, consolidate};
pub use describe::{describe, log_after};
pub use export::export;
pub use options::{AddOptions, InputSelection, WriteOptions, Written};
pub use receipts::{commit as commit_receipts, write as write_receipt};
pub use sapwood_core::{Extremes, Statistics};
pub use writing::{Place, add, append, create};

pub use basket::{BasketForm, CutBasket, StripeCut, StripeCutter};
pub use contents::view_of;
pub use cutting::Batch;
pub use grafted::{Grafted, ProductBasket};
pub use held::Held;
pub use identity::{Events, queries as event_queries};
pub use open::{Named, file_of_dataset, open_dataset};
pub use options::stored;
pub use references::check as same_references;
pub use segment::{Part, Placing, put_whole, stripes};
pub use template::{Template, open_schema, open_tree};
pub use uploads::Uploads;
pub use view::View;
