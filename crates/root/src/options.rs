//! The options for opening a file: how to reach it, its replicas, and what to keep of it on the local disk.

use sapwood_core::{Deadline, redact};
use sapwood_fetch::blocks::{BlockOptions, CacheOptions};
use sapwood_fetch::replicas::ReplicaReadOptions;
use sapwood_source::SourceOptions;
use std::fmt;
use std::time::Duration;

/// How to open a file.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// How to reach the file and its replicas: deadline, credentials, retries.
    pub source: SourceOptions,
    /// Other replicas of the file. Default: none.
    pub replicas: ReplicaOptions,
    /// How to download the file lazily, in blocks that are kept on the local disk. Default: not at all.
    pub lazy_download: Option<BlockOptions>,
    /// Where to keep decoded columns. Default: nowhere. Its `max_age` does not apply: opening finds out the version.
    pub column_cache: Option<CacheOptions>,
}

impl OpenOptions {
    /// The same options with another deadline.
    #[must_use]
    pub fn until(&self, deadline: Deadline) -> OpenOptions {
        OpenOptions { source: SourceOptions { deadline, ..self.source.clone() }, ..self.clone() }
    }
}

/// The replicas of a file, and how many to read at once.
#[derive(Clone, PartialEq, Eq)]
pub struct ReplicaOptions {
    /// Paths and URLs of replicas, and of documents that list some; the best first.
    pub urls: Vec<String>,
    /// The contents of such documents: see [`parse_document`](sapwood_source::parse_document).
    pub documents: Vec<String>,
    /// Most replicas to read at once; with 1, no redirector is asked for a second one. Default: 2.
    pub sources: usize,
    /// When a further one is opened and probed while that many are read: see
    /// [`ReplicaReadOptions::probe_interval`](sapwood_fetch::replicas::ReplicaReadOptions::probe_interval).
    pub probe_interval: Duration,
}

impl ReplicaOptions {
    /// Whether they name no replica.
    pub fn is_empty(&self) -> bool {
        self.urls.is_empty() && self.documents.is_empty()
    }
}

impl Default for ReplicaOptions {
    fn default() -> Self {
        let ReplicaReadOptions { sources, probe_interval, .. } = ReplicaReadOptions::default();
        ReplicaOptions { urls: Vec::new(), documents: Vec::new(), sources, probe_interval }
    }
}

impl fmt::Debug for ReplicaOptions {
    /// Hides secrets in URLs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let urls: Vec<_> = self.urls.iter().map(|url| redact(url)).collect();
        f.debug_struct("ReplicaOptions")
            .field("urls", &urls)
            .field("documents", &self.documents.len())
            .field("sources", &self.sources)
            .field("probe_interval", &self.probe_interval)
            .finish()
    }
}
