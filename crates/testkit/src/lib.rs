//! Development only: loopback servers, a WAN proxy, fault injection, conformance suites.
//!
//! - [`Server`] reproduces the behaviors of HTTP servers seen in practice: see [`Behaviour`].
//! - [`Proxy`] emulates the distance between a client and a server: see [`EmulatedLink`].
//! - `MountedDirectory` mounts a directory through FUSE, with delays and faults.
//! - [`conformance`] tests a source against the contract of `sapwood_source::Source`, [`store_conformance`] a store
//!   against that of `sapwood_store::Store`.
//! - [`MemoryStore`] is a store with a clock that tests move, [`InstrumentedStore`] records calls and injects faults.
//! - [`table`] tests a format against the contract of `sapwood_table::Table`.
//!
//! The program `sapwood-testkit` provides server, proxy and mount to other languages.

mod behaviour;
mod conformance;
mod directory;
mod flow;
mod instrumented_store;
mod memory_store;
mod mount_fault;
#[cfg_attr(not(target_os = "linux"), path = "mounted_nowhere.rs")]
mod mounted;
mod objects;
mod port;
mod proxy;
mod request;
mod respond;
mod scripted;
mod server;
mod stats;
mod store;
pub mod table;

pub use behaviour::{Behaviour, CutOff, Multipart, RangeBehaviour, Redirect, Refusal};
pub use conformance::{conformance, sample};
pub use directory::TestDirectory;
pub use instrumented_store::{InstrumentedStore, StoreCall, StoreFault, StoreOperation};
pub use memory_store::MemoryStore;
pub use mount_fault::MountFault;
pub use mounted::{MountedDirectory, MountedReads};
pub use objects::Objects;
pub use proxy::{EmulatedLink, LinkFault, Proxy};
pub use request::HttpRequest;
pub use scripted::{ScriptedServer, answer, part, refusal};
pub use server::Server;
pub use stats::{Stats, StatsSnapshot};
pub use store::{store_conformance, store_race};
