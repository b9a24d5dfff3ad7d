//! Files on XRootD servers, read with libXrdCl.
//!
//! - `source`: the source. `opening`: head and tail in hand. `listing`: what is in a directory.
//! - `library`: the functions of the shim over libXrdCl (`native/xrdcl`); `loading`: where it is, loaded at the first
//!   `root://` URL; `settings`: how it is set up.
//! - `call`: one operation of XrdCl as a future; `raw`: its pointer to a file; `file`: the operations of an open file;
//!   `closing`: their end. `status`: XrdCl's failures as errors; `codes`: their codes.
//! - `contact`: what is done before XrdCl is called about a server. `remote`: a file, here or on the server that it
//!   redirects to; `server`: what is remembered about each server. `replicas`: where else a file is.
//! - `reading`: from ranges to vector reads and back; `streams`: over further connections, where much is read.

mod call;
mod closing;
pub(crate) mod codes;
mod contact;
#[cfg(test)]
mod fake;
mod file;
mod library;
mod listing;
mod loading;
mod opening;
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
