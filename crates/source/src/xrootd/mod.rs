//! Files on XRootD servers, read with libXrdCl.
//!
//! - `source`: the source. `opening`: the first requests, for head and tail. `listing`: directories.
//! - `library`: the functions of the shim over libXrdCl (`native/xrdcl`); `loading`: finds and loads it at the first
//!   `root://` URL; `settings`: configures libXrdCl.
//! - `call`: one operation of XrdCl as a future; `raw`: a pointer to a file of XrdCl; `file`: the operations of an
//!   open file; `closing`: closes files. `status`: failures of XrdCl as errors.
//! - `contact`: prepares the first call about a server. `query`: questions about a URL. `remote`: a file, here or on
//!   the server that it redirects to; `server`: what the process remembers about each server. `replicas`: other
//!   replicas of a file.
//! - `reading`: from ranges to vector reads and back; `streams`: the connections of a file; `need`: how many pay.

mod call;
mod closing;
mod contact;
#[cfg(test)]
mod fake;
mod file;
mod library;
mod listing;
mod loading;
mod need;
mod opening;
mod query;
mod raw;
mod reading;
mod remote;
mod replicas;
mod server;
mod settings;
mod source;
mod status;
mod streams;

pub(crate) use listing::list;
pub(crate) use opening::open;
pub(crate) use replicas::{AvoidReason, avoiding, is_cache, is_redirected, locate, normalized, on_server};
pub(crate) use server::site;
pub use source::XrootdSource;
