//! Where a file is: documents that list its replicas, redirectors, sites.

mod document;
mod metalink;
mod redirector;
mod replica;
mod rucio;
mod site;

pub use document::{choose, is_document, parse_document, read_document};
pub use redirector::Redirector;
pub use replica::{Replica, ReplicaList};
pub use site::{normalized_server, normalized_server_of, site_of};
