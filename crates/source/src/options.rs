//! The options for opening a file, for all protocols.

use crate::ends::TAIL;
use crate::{BlockOptions, RetryPolicy};
use sapwood_core::{Counters, Deadline, redact};
use sapwood_credentials::{Environment, StorageOptions};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How to open a file, and which counters to add its reads to.
#[derive(Clone)]
pub struct OpenOptions {
    /// When opening gives up. Default: one hour after the options were made.
    pub deadline: Deadline,
    /// The counters that the source adds its requests, ranges, round trips and bytes to, also after opening.
    pub counters: Arc<Counters>,
    /// Number of bytes to read from the end of the file while opening; 0 for none. Default: [`TAIL`](crate::TAIL),
    /// which usually holds the directory and the record of the last tree; at least [`FAR_TAIL`](crate::FAR_TAIL) if
    /// the server is known to be distant.
    pub tail: u64,
    /// HTTP headers to send, such as `Authorization`; only to the server named in the URL, not to those that it
    /// redirects to. Default: none.
    pub headers: Vec<(String, String)>,
    /// How to reach object stores. Default: as the environment says.
    pub storage: StorageOptions,
    /// Where to search for credentials. Default: in the environment of the process.
    pub environment: Environment,
    /// How long a server may be silent before a request is abandoned and tried again. Default: 30 s.
    pub read_timeout: Duration,
    /// How to repeat requests that fail for a reason that may pass.
    pub retry: RetryPolicy,
    /// How to read the file in blocks that are kept. [`open`](crate::open) ignores this; code that reads in blocks
    /// uses it. Default: not at all.
    pub blocks: Option<BlockOptions>,
    /// Other replicas of the file. [`open`](crate::open) reads one replica only; code that reads several at once uses
    /// this. Default: none.
    pub replicas: ReplicaOptions,
    /// For a dataset in several object stores: how to reach those whose URLs begin with each rule.
    /// [`OpenOptions::for_base`] uses this. Default: none.
    pub bases: Vec<(String, StorageOptions)>,
}

impl OpenOptions {
    /// How to reach another base of the same dataset: by the longest rule in `bases` that its URL begins with, else
    /// as the dataset itself. Headers are only for the server of the dataset.
    #[must_use]
    pub fn for_base(&self, url: &str) -> OpenOptions {
        let begins = |rule: &str| {
            let rest = url.strip_prefix(rule.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let rules = self.bases.iter().filter(|(rule, _)| begins(rule));
        let storage = rules.max_by_key(|(rule, _)| rule.len()).map_or(&self.storage, |(_, storage)| storage);
        OpenOptions { storage: storage.clone(), headers: Vec::new(), ..self.clone() }
    }
}

/// The replicas of a file, and how many to read at once.
#[derive(Clone, PartialEq, Eq)]
pub struct ReplicaOptions {
    /// Paths and URLs of replicas, and of documents that list some; the best first.
    pub urls: Vec<String>,
    /// The contents of such documents: see [`parse_document`](crate::parse_document).
    pub documents: Vec<String>,
    /// Most replicas to read at once; with 1, no redirector is asked for a second one. Default: 2.
    pub sources: usize,
}

impl Default for ReplicaOptions {
    fn default() -> Self {
        ReplicaOptions { urls: Vec::new(), documents: Vec::new(), sources: 2 }
    }
}

impl fmt::Debug for ReplicaOptions {
    /// URLs may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let urls: Vec<_> = self.urls.iter().map(|url| redact(url)).collect();
        f.debug_struct("ReplicaOptions")
            .field("urls", &urls)
            .field("documents", &self.documents.len())
            .field("sources", &self.sources)
            .finish()
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            deadline: Deadline::default(),
            counters: Arc::default(),
            tail: TAIL,
            headers: Vec::new(),
            storage: StorageOptions::default(),
            environment: Environment::default(),
            read_timeout: Duration::from_secs(30),
            retry: RetryPolicy::default(),
            blocks: None,
            replicas: ReplicaOptions::default(),
            bases: Vec::new(),
        }
    }
}

impl fmt::Debug for OpenOptions {
    /// Header values may be secrets; they are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header_names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("OpenOptions")
            .field("deadline", &self.deadline)
            .field("tail", &self.tail)
            .field("header_names", &header_names)
            .field("storage", &self.storage)
            .field("read_timeout", &self.read_timeout)
            .field("retry", &self.retry)
            .field("blocks", &self.blocks)
            .field("replicas", &self.replicas)
            .field("bases", &self.bases.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_are_reached_by_the_longest_rule() {
        let at = |region: &str| StorageOptions { region: Some(region.into()), ..StorageOptions::default() };
        let rules = [("s3://", "any"), ("s3://b/", "b"), ("s3://b/deep", "deep")];
        let options = OpenOptions {
            storage: at("own"),
            headers: vec![("Authorization".into(), "secret".into())],
            bases: rules.map(|(rule, region)| (rule.to_owned(), at(region))).into(),
            ..OpenOptions::default()
        };
        let region = |url: &str| options.for_base(url).storage.region.unwrap_or_default();
        let urls = ["gs://b/x", "s3://other", "s3://b", "s3://b/x", "s3://b/deeper", "s3://b/deep/x"];
        assert_eq!(urls.map(region), ["own", "any", "b", "b", "b", "deep"]);
        assert!(options.for_base("gs://b").headers.is_empty());
    }
}
