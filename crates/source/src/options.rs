//! The options for reaching an object, for all protocols.

use crate::RetryPolicy;
use crate::ends::TAIL;
use sapwood_core::{Counters, Deadline};
use sapwood_credentials::{Environment, StorageOptions};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What becomes of the pages of a local file in the memory of the operating system after they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageCache {
    /// They stay until the system needs the memory: a second read finds them.
    #[default]
    Keep,
    /// They are dropped, so that a job that reads terabytes once does not displace what other jobs read again.
    Drop,
}

/// How to reach an object, and which counters to add its reads to.
#[derive(Clone)]
pub struct SourceOptions {
    /// When opening gives up. Default: one hour after the options were made.
    pub deadline: Deadline,
    /// The counters that the source adds its requests, ranges, round trips and bytes to, also after opening.
    pub counters: Arc<Counters>,
    /// Number of bytes to read from the end of the file while opening; 0 for none. Default: [`TAIL`](crate::TAIL),
    /// which usually holds the directory and the record of the last tree. If it is at least that, and the server is
    /// known to be distant, at least [`FAR_TAIL`](crate::FAR_TAIL). Of a local file, 16 KiB at most are read; the rest is
    /// announced to the disk.
    pub tail_size: u64,
    /// HTTP headers to send, such as `Authorization`; only to the server named in the URL, not to those that it
    /// redirects to. Default: none.
    pub headers: Vec<(String, String)>,
    /// How to reach object stores. Default: as the environment says.
    pub storage: StorageOptions,
    /// How to reach the object stores whose URLs begin with these prefixes. [`SourceOptions::for_url`] applies them to
    /// the stores that a dataset names. Default: none.
    pub storage_rules: Vec<(String, StorageOptions)>,
    /// Where to search for credentials. Default: in the environment of the process.
    pub environment: Environment,
    /// How long a server may be silent before a request is abandoned and tried again. Default: 30 s.
    pub read_timeout: Duration,
    /// How to repeat requests that fail for a reason that may pass.
    pub retry: RetryPolicy,
    /// For local files and network mounts. Default: pages are kept.
    pub page_cache: PageCache,
}

impl SourceOptions {
    /// How to reach another URL that a dataset names: by the longest matching prefix in `storage_rules`, else by
    /// `storage`. Headers are dropped, because they are only for the server of the dataset.
    #[must_use]
    pub fn for_url(&self, url: &str) -> SourceOptions {
        let matches = |prefix: &str| {
            let rest = url.strip_prefix(prefix.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let rules = self.storage_rules.iter().filter(|(prefix, _)| matches(prefix));
        let longest = rules.max_by_key(|(prefix, _)| prefix.len());
        let storage = longest.map_or(&self.storage, |(_, storage)| storage).clone();
        SourceOptions { storage, headers: Vec::new(), ..self.clone() }
    }
}

impl Default for SourceOptions {
    fn default() -> Self {
        SourceOptions {
            deadline: Deadline::default(),
            counters: Arc::default(),
            tail_size: TAIL,
            headers: Vec::new(),
            storage: StorageOptions::default(),
            storage_rules: Vec::new(),
            environment: Environment::default(),
            read_timeout: Duration::from_secs(30),
            retry: RetryPolicy::default(),
            page_cache: PageCache::default(),
        }
    }
}

impl fmt::Debug for SourceOptions {
    /// Hides the values of headers, which may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header_names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("SourceOptions")
            .field("deadline", &self.deadline)
            .field("tail_size", &self.tail_size)
            .field("header_names", &header_names)
            .field("storage", &self.storage)
            .field("storage_rules", &self.storage_rules)
            .field("read_timeout", &self.read_timeout)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rule_applies() {
        let at = |region: &str| StorageOptions { region: Some(region.into()), ..StorageOptions::default() };
        let rules = [("s3://", "any"), ("s3://b/", "b"), ("s3://b/deep", "deep")];
        let options = SourceOptions {
            storage: at("own"),
            headers: vec![("Authorization".into(), "secret".into())],
            storage_rules: rules.map(|(prefix, region)| (prefix.to_owned(), at(region))).into(),
            ..SourceOptions::default()
        };
        let region = |url: &str| options.for_url(url).storage.region.unwrap_or_default();
        let urls = ["gs://b/x", "s3://other", "s3://b", "s3://b/x", "s3://b/deeper", "s3://b/deep/x"];
        assert_eq!(urls.map(region), ["own", "any", "b", "b", "b", "deep"]);
        assert!(options.for_url("gs://b").headers.is_empty());
    }
}
