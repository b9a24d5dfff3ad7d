//! The replicas of a file.

use crate::Checksum;

/// A replica of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    /// Its URL; may hold secrets.
    pub url: String,
    /// The name of the site, if it is known. Replicas of one site are likely to fail together.
    pub site: Option<String>,
}

impl Replica {
    /// A replica of which only the URL is known.
    pub fn of(url: impl Into<String>) -> Replica {
        Replica { url: url.into(), site: None }
    }
}

/// The replicas of one file, as a document lists them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplicaList {
    /// The name of the file in the document.
    pub name: String,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// Its checksums of known kinds.
    pub checksums: Vec<Checksum>,
    /// Its replicas, the best first.
    pub replicas: Vec<Replica>,
}
