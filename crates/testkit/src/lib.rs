//! Development only: loopback servers, a WAN proxy, fault injection, conformance suites.
//!
//! - [`Server`] behaves like any HTTP server that was met in the wild: see [`Behaviour`].
//! - [`Proxy`] puts distance between a client and a server: see [`EmulatedLink`].
//! - [`conformance`] checks that a source keeps the contract of `sapwood_source::Source`, [`store_conformance`] the same
//!   of stores.
//! - [`table`] checks that a format keeps the contract of `sapwood_table::Table`.
//!
//! The program `sapwood-testkit serve` offers server and proxy to other languages.

mod behaviour;
mod conformance;
mod directory;
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

pub use behaviour::{Behaviour, CutOff, Multipart, Ranges, Redirect, Refusal};
pub use conformance::{conformance, sample};
pub use directory::TestDirectory;
pub use objects::Objects;
pub use proxy::{EmulatedLink, LinkFault, Proxy};
pub use request::HttpRequest;
pub use scripted::{ScriptedServer, answer, part, refusal};
pub use server::Server;
pub use stats::{Stats, StatsSnapshot};
pub use store::{store_conformance, store_race};
