//! ROOT's RNTuple: metadata, fields, and pages to columns. Does no I/O: the caller provides the bytes.
//!
//! ```text
//! Anchor ─▶ Metadata: schema (header, footer), pages (lists) ─▶ RNTuple: a table whose columns are top-level fields
//!                                                                 node: what a field holds ─▶ reader: pages to buffers
//! ```

mod anchor;
mod attributes;
mod blob;
mod decode;
mod describe;
mod elements;
mod encoding;
mod needed;
mod node;
mod page_list;
mod pages;
mod plan;
mod reader;
mod schema;
mod streamed;
mod table;
mod wire;
pub mod write;

pub use anchor::Anchor;
pub use attributes::AttributeSet;
pub use schema::ExtraTypeInfo;
pub use table::{CLASS, Metadata, RNTuple};
