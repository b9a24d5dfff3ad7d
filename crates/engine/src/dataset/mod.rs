//! Datasets of product stripes (`sapwood-stripe`): read as the tree of a file, written from the trees of files.
//!
//! - `schema`: the branches of all products as one tree.
//! - `view`: which baskets they have; asked for when a branch is wanted first.
//! - `known`: what is known of their values, for cuts.
//! - `beside`: what else the files had that it was made of.
//! - `open`: what names a dataset; a version as a file.
//! - `objects`: where each object lies in the file that readers see; `source`: its bytes.
//! - `writing`: datasets out of files. `products` says which branches belong together, `template` where they are in a file,
//!   `cutting` cuts their entries (`statistics` says what is in them), `segment` stores them (`uploads`), `identity` says which
//!   events they are.
//! - `held`: the lease of who writes. `receipts`: many write, one commits. `consolidate`: small pieces become larger ones.
//! - `export`: a file again; `stripes` reads the baskets for it.

mod beside;
mod consolidate;
mod cutting;
mod describe;
mod export;
mod held;
mod identity;
mod known;
mod memory;
mod objects;
mod open;
mod products;
mod receipts;
mod scattered;
mod schema;
mod segment;
mod source;
mod statistics;
mod stripes;
mod template;
mod uploads;
mod view;
mod writing;

pub use consolidate::{Consolidation, consolidate};
pub use describe::{describe, log_after};
pub use export::export;
pub use known::KnownValues;
pub use receipts::{commit as commit_receipts, write as write_receipt};
pub use sapwood_stripe::{Extremes, Statistics};
pub use writing::{AddOptions, Place, WriteOptions, Written, add, append, create};

pub(crate) use cutting::{Batch, CutBasket};
pub(crate) use export::Grafted;
pub(crate) use open::Named;
pub(crate) use schema::Origin;
pub(crate) use segment::{Part, Placing, stripes};
pub(crate) use stripes::Basket as ExportedBasket;
pub(crate) use template::{Template, open_schema, open_tree};
pub(crate) use uploads::Uploads;
pub(crate) use view::View;
