//! Objects on HTTP servers.
//!
//! - `source`: the source; `limits`: its cost model.
//! - `opening`: the first requests, which find the size and read head and tail.
//! - `reading`: from ranges to requests and back, with retries.
//! - `remote`: one request and its answer, following redirects; `exchange`: one message, with its credentials.
//! - `listing`: directories, by WebDAV. `access`: credentials, found or given by the user.
//! - `answer`, `multipart`, `header`: the syntax of messages.
//! - `object_reader`: many objects, each read by a request or two.
//! - `checksums`: checksums that servers state.
//! - `server`: what the process remembers about each server. `buffers`: memory for answers.
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
