//! Byte ranges of an object, wherever it lies: memory, a local file, an HTTP or XRootD server, an object store; and
//! decorators over the one trait.
//!
//! To get a source call [`open`]; to read call [`Source::read_ranges`]. Nothing here knows ROOT or trees.
//! [`list`] says what is in a directory, [`diagnose`] why a file cannot be opened.
//!
//! | source | bytes of |
//! |---|---|
//! | [`MemorySource`] | memory |
//! | [`LocalSource`] | a local file |
//! | [`HttpSource`] | an object on an HTTP server, or in an object store |
//! | [`XrootdSource`] | a file on an XRootD server |
//!
//! What is written goes to a [`sink`]. Objects that are put and listed by key are in a [`Store`].
//!
//! | decorator | purpose |
//! |---|---|
//! | [`CountingSource`] | counts requests and bytes |
//! | [`TracedSource`] | remembers every range that was asked for |
//! | [`DelayedSource`] | behaves like a distant server |
//! | [`FaultySource`] | fails as its script says |

mod accounting;
mod blocks;
mod check;
mod checksum;
mod cloud;
mod counting;
mod credentials;
mod delay;
mod doctor;
mod fault;
mod find;
mod http;
mod listing;
mod local;
mod memory;
mod open;
mod physics;
pub mod record;
mod retry;
mod server;
pub mod sink;
mod spans;
mod store;
mod trace;
mod traits;
mod uses;
#[cfg(unix)]
mod xrootd;

pub use accounting::{Turnarounds, Wait};
pub use blocks::{BlockOptions, CacheOptions};
pub use checksum::Checksum;
pub use cloud::{StorageOptions, address};
pub use counting::CountingSource;
pub use credentials::{Environment, Finding, Secret, State};
pub use delay::DelayedSource;
pub use doctor::{Diagnosis, Outcome, Step, diagnose};
pub use fault::{Fault, FaultySource};
pub use find::{
    Described, Place, Redirector, choose, comparable, is_document, parse_document, place_of, read_document,
    site_of,
};
pub use http::HttpSource;
pub use listing::{Entry, list};
pub use local::LocalSource;
pub use memory::MemorySource;
pub use open::{FAR_TAIL, HEAD, OpenOptions, Replicas, TAIL, open, redact};
pub use physics::Physics;
pub use retry::{LOG, once, tell};
pub use server::server_of;
pub use store::{
    CountingStore, Created, FaultyStore, LocalStore, MemoryStore, Store, StoreCall, StoreFault,
    StoreOperation, Stored, open_store,
};
pub use trace::{Trace, TraceRecord, TracedSource};
pub use traits::{BoxFuture, Identity, Opened, Source};
pub use uses::{Reads, ServerUse};
#[cfg(unix)]
pub use xrootd::XrootdSource;
