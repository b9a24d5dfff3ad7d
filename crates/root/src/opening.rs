//! Opens a file by its options: directly, or through the block cache.

use crate::OpenOptions;
use crate::reach::{ReachedSource, reach};
use sapwood_core::{BoxFuture, Deadline, Result};
use sapwood_fetch::blocks::{Cache, CacheOptions, ColumnShelf, Reopen, name_of as cache_name};
use sapwood_source::{OpenedSource, Source, Trace, address};
use std::fs;
use std::path::{Path, absolute};
use std::sync::Arc;
use std::time::Duration;

/// Opens a file at `url`, or at the replicas in the options. Requests to its sources are added to `trace`.
pub async fn open(url: &str, options: &OpenOptions, trace: Trace) -> Result<ReachedSource> {
    let Some(blocks) = &options.lazy_download else { return reach(url, options, trace).await };
    let reopener = Reopener { url: url.to_owned(), options: options.clone(), trace: trace.clone() };
    let (name, counters) = (name_of(url, options), Arc::clone(&options.source.counters));
    let OpenedSource { source, known } =
        sapwood_fetch::blocks::open(blocks, &name, Arc::new(reopener), counters, options.source.deadline)
            .await?;
    Ok(ReachedSource { source, known, trace })
}

/// The cache of the decoded columns of a file that was opened at `url`; `None` without one, or if nothing identifies
/// this version of the file.
pub(crate) fn column_shelf(
    url: &str,
    options: &OpenOptions,
    source: &dyn Source,
    uuid: [u8; 16],
) -> Option<ColumnShelf> {
    let CacheOptions { directory, size, .. } = options.column_cache.as_ref()?;
    let mut identity = source.identity().clone();
    let mut name = name_of(url, options);
    if source.cost_model().immediate {
        let path = absolute(&identity.url).ok().filter(|path| !is_fresh(path))?;
        identity.url = path.display().to_string();
        name.clone_from(&identity.url);
    }
    match Cache::open(directory, *size) {
        Ok(cache) => cache.columns(&name, &identity, uuid),
        Err(error) => {
            log::warn!(target: "sapwood.source", "{error}; reading continues without it");
            None
        }
    }
}

/// Whether a local file may be written to again without a change of its modification time.
fn is_fresh(path: &Path) -> bool {
    const CLOCK: Duration = Duration::from_secs(2);
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age < CLOCK))
}

/// The key of the file in a cache: its URL, or that of its first replica if `url` is only a name.
fn name_of(url: &str, options: &OpenOptions) -> String {
    let replicas = &options.replicas;
    let place = match replicas.urls.first() {
        Some(first) if !url.contains("://") => first,
        _ => url,
    };
    let store = address(place, &options.source).map(|address| cache_name(&address));
    let parts = [url, place].map(cache_name).into_iter();
    parts.chain(store).chain(replicas.documents.iter().cloned()).collect::<Vec<_>>().join("\n")
}

/// Opens the same file again.
#[derive(Debug)]
struct Reopener {
    url: String,
    options: OpenOptions,
    trace: Trace,
}

impl Reopen for Reopener {
    fn open<'a>(&'a self, tail: bool, deadline: Deadline) -> BoxFuture<'a, Result<OpenedSource>> {
        Box::pin(async move {
            let mut options = self.options.until(deadline);
            if !tail {
                options.source.tail_size = 0;
            }
            let ReachedSource { source, known, .. } = reach(&self.url, &options, self.trace.clone()).await?;
            Ok(OpenedSource { source, known })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_same_name_have_different_keys() {
        let at = |endpoint: &str| {
            let mut options = OpenOptions::default();
            options.source.storage.endpoint = Some(endpoint.into());
            options
        };
        let [here, there] = ["https://a.example.org", "https://b.example.org"].map(at);
        assert_eq!(name_of("s3://b/k", &here), name_of("s3://b/k", &here));
        assert_ne!(name_of("s3://b/k", &here), name_of("s3://b/k", &there));
        let of = |first: &str| {
            let mut options = OpenOptions::default();
            options.replicas.urls = vec![first.into(), "root://c//k".into()];
            options
        };
        let [one, other] = ["root://a//k", "root://b//k"].map(of);
        assert_ne!(name_of("k", &one), name_of("k", &other));
        assert!(!name_of("https://me:word@h/k?authz=secret", &one).contains("secret"));
    }
}
