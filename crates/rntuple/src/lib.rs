//! ROOT's RNTuple: metadata, fields, and pages to columns. Does no I/O: the caller provides the bytes.
//!
//! ```text
//! Anchor ─▶ Metadata: schema (header, footer), pages (lists) ─▶ RNTuple: a table whose columns are top-level fields
//! ```

mod anchor;
mod decode;
mod encoding;
mod node;
mod page_list;
mod pages;
mod plan;
mod schema;
mod table;
mod wire;

pub use anchor::Anchor;
pub use table::{Metadata, RNTuple};
