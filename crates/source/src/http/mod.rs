//! Objects on HTTP servers.
//!
//! - `source`: the source; `limits`: how it wants to be asked.
//! - `opening`: the first requests, which learn the size and bring head and tail.
//! - `reading`: from ranges to requests and back, with retries.
//! - `remote`: one request and its answer, redirects followed; `exchange`: one message, with what authorises it.
//! - `listing`: what is in a directory, by WebDAV. `access`: who may read an object, and what the user gave.
//! - `answer`, `multipart`, `header`: what the messages look like.
//! - `object_reader`: many objects, each read by a request or two.
//! - `checksums`: those that the server states of the object.
//! - `server`: what is remembered about each server. `buffers`: memory for answers.
//! - `client`: the connection pool and TLS. `spare`: connections that are made ahead of need.

mod access;
mod answer;
mod buffers;
mod checksums;
pub(crate) mod client;
mod exchange;
mod header;
mod limits;
mod listing;
mod multipart;
mod object_reader;
mod opening;
mod reading;
mod remote;
mod server;
mod source;
mod spare;

pub(crate) use access::access;
pub use access::access_by;
pub(crate) use answer::error_word;
pub(crate) use listing::list;
pub use object_reader::ObjectReader;
pub use opening::RangeSupport;
pub(crate) use opening::{open, open_object};
pub use source::HttpSource;
