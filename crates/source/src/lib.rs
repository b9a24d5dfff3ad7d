//! Byte ranges of an object in memory, in a local file, on an HTTP or XRootD server, or in an object store; and
//! decorators of the one trait.
//!
//! [`open`] makes a [`Source`] of a path or URL; [`Source::read_ranges`] reads it. [`SourceOptions`] holds credentials,
//! deadlines and the [`RetryPolicy`]. [`list`] lists a directory, [`diagnose`] explains why a file cannot be opened.
//! Nothing here knows ROOT or trees.
//!
//! | source | bytes of |
//! |---|---|
//! | [`MemorySource`] | memory |
//! | [`LocalSource`] | a local file |
//! | [`HttpSource`] | an object on an HTTP server, or in an object store |
//! | [`XrootdSource`] | a file on an XRootD server |
//!
//! | decorator | purpose |
//! |---|---|
//! | [`CountingSource`] | counts requests and bytes |
//! | [`TracedSource`] | records every range that is requested |
//! | [`DelayedSource`] | behaves like a distant server |
//! | [`FaultySource`] | fails by script |

mod accounting;
mod admission;
mod check;
mod checksum;
pub mod cloud;
mod cost_model;
mod counting;
mod delay;
mod doctor;
mod ends;
mod entry;
mod environment;
mod fault;
mod find;
pub mod http;
mod list;
mod local;
mod memory;
mod mount;
mod open;
mod options;
pub mod record;
mod retry;
mod spans;
mod trace;
mod traits;
mod transient;
mod uses;
#[cfg(unix)]
mod xrootd;
mod xrootd_codes;

pub use accounting::{RequestAccounting, RequestDepth, RoundTrips};
pub use checksum::Checksum;
pub use cloud::address;
pub use cost_model::CostModel;
pub use counting::CountingSource;
pub use delay::DelayedSource;
pub use doctor::{Diagnosis, DiagnosisStep, StepOutcome, diagnose};
pub use ends::{FAR_TAIL, FURTHER_TAIL, HEAD, SHORT_HEAD, TAIL, head_with};
pub use entry::ListingEntry;
pub use fault::{Fault, FaultySource};
pub use find::{
    Redirector, Replica, ReplicaList, choose, is_document, normalized_server, normalized_server_of,
    parse_document, read_document, site_of,
};
pub use http::HttpSource;
pub use list::list;
pub use local::LocalSource;
pub use memory::MemorySource;
pub use mount::is_on_network;
pub use open::open;
pub use options::{PageCache, SourceOptions};
pub use retry::{LOG, Retries, RetryPolicy, log_event, without_retries};
pub use trace::{Trace, TraceRecord, TracedSource};
pub use traits::{Identity, OpenedSource, Source};
pub use transient::{is_transient, is_transient_status, may_succeed_later};
pub use uses::{ServerReads, ServerUse};
#[cfg(unix)]
pub use xrootd::XrootdSource;
