//! Opens a file in blocks, with the bytes of a cache if it holds the current version.

use super::Blocks;
use super::cache::{Cache, Shelf};
use super::options::{BlockOptions, CacheOptions};
use super::origin::{Origin, Reopen, fetcher_of};
use super::scratch::Scratch;
use super::store::BlockStore;
use super::trouble::Trouble;
use sapwood_core::{Counters, Deadline, Error, ErrorKind, Result, Segments, redact};
use sapwood_source::{Identity, OpenedSource};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::spawn_blocking;
use xxhash_rust::xxh64::xxh64;

/// What a cache holds of the version of a file that was seen last.
struct CachedVersion {
    identity: Identity,
    shelf: Shelf,
    known: Segments,
    /// Whether it is used without asking the server.
    is_young: bool,
}

/// Opens a file that is read in blocks; `name` is its key in the cache: see [`name_of`].
///
/// `reopen` opens its source: now, unless the cache is [recent enough](CacheOptions::max_age) to be used
/// without asking, and whenever blocks are missing after the source was closed. A file that is read without
/// waiting is returned as it is: a local one, or one that its server sent whole, which the cache keeps. What is
/// answered from blocks is added to the `block_bytes` of `counters`.
///
/// # Errors
/// Those of `reopen`. Problems with the cache are not errors: they are logged once, and reading continues
/// without it.
pub async fn open(
    options: &BlockOptions,
    name: &str,
    reopen: Arc<dyn Reopen>,
    counters: Arc<Counters>,
    deadline: Deadline,
) -> Result<OpenedSource> {
    let (cache, kept) = match options.cache.clone() {
        Some(cache_options) => {
            let name = name.to_owned();
            blocking(move || found(&cache_options, &name)).await?
        }
        None => (None, None),
    };
    if let Some(CachedVersion { identity, shelf, known, is_young: true }) = kept {
        let origin = Origin::new(identity, reopen, None);
        return Ok(wrapped(origin, options, Some(shelf), counters, known));
    }
    let mut opened = reopen.open(kept.is_none(), deadline).await?;
    let current = kept.is_some();
    let kept = kept.filter(|kept| is_same(&kept.identity, opened.source.identity()));
    if current && kept.is_none() {
        // It was opened without its tail.
        opened = reopen.open(true, deadline).await?;
    }
    let immediate = opened.source.cost_model().immediate;
    // A server that sends no parts sent the whole file; nothing came with opening of a local one.
    if immediate && opened.known.byte_count() == 0 {
        return Ok(opened);
    }
    let identity = opened.source.identity().clone();
    let mut known = opened.known.clone();
    let shelf = match cache {
        Some(cache) => {
            let (shelf, all) = kept.map(|kept| (kept.shelf, kept.known)).unzip();
            all.iter().for_each(|all| add(&mut known, all));
            let (name, identity, known) = (name.to_owned(), identity.clone(), known.clone());
            blocking(move || remembered(&cache, &name, &identity, shelf, &known)).await?
        }
        None => None,
    };
    if immediate {
        return Ok(opened);
    }
    let origin = Origin::new(identity, reopen, Some(fetcher_of(opened)));
    Ok(wrapped(origin, options, shelf, counters, known))
}

fn wrapped(
    origin: Origin,
    options: &BlockOptions,
    shelf: Option<Shelf>,
    counters: Arc<Counters>,
    known: Segments,
) -> OpenedSource {
    let block = options.block_size.max(1);
    let url = origin.identity().url.clone();
    let store: Box<dyn BlockStore> = match shelf {
        Some(shelf) => Box::new(shelf),
        None => Box::new(Scratch::new(block, options.scratch_size, Trouble::new(url))),
    };
    OpenedSource { source: Arc::new(Blocks::new(origin, block, store, counters)), known }
}

/// The configured cache, and what it holds of the file.
fn found(cache_options: &CacheOptions, name: &str) -> (Option<Cache>, Option<CachedVersion>) {
    let cache = match Cache::open(&cache_options.directory, cache_options.size) {
        Ok(cache) => cache,
        Err(error) => {
            log::warn!(target: "sapwood.source", "{error}; reading continues without it");
            return (None, None);
        }
    };
    let kept = cache.latest(name).and_then(|latest| {
        let shelf = cache.shelf(name, &latest.identity)?;
        let known = shelf.known(latest.identity.size)?;
        Some(CachedVersion {
            is_young: latest.age() < cache_options.max_age,
            identity: latest.identity,
            shelf,
            known,
        })
    });
    (Some(cache), kept)
}

/// Records the version on the server, and the bytes that came with opening.
fn remembered(
    cache: &Cache,
    name: &str,
    identity: &Identity,
    shelf: Option<Shelf>,
    known: &Segments,
) -> Option<Shelf> {
    let Some(shelf) = shelf.or_else(|| cache.shelf(name, identity)) else {
        warn_of_no_version(&identity.url);
        return None;
    };
    shelf.keep_known(known);
    if let Err(error) = cache.remember(name, identity) {
        shelf.fail(&error);
    }
    Some(shelf)
}

/// Once per process: the cause is the server, and there are many files on it.
fn warn_of_no_version(url: &str) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        log::warn!(
            target: "sapwood.source",
            "{url}: the server does not say which version of the file this is (no ETag, no modification time): \
             blocks of such files are kept for the process only, not in the cache"
        );
    }
}

fn is_same(one: &Identity, other: &Identity) -> bool {
    (one.size, &one.version) == (other.size, &other.version)
}

fn add(known: &mut Segments, more: &Segments) {
    for range in more.ranges() {
        if let Some(bytes) = more.get(range) {
            known.insert(range.start, bytes);
        }
    }
}

/// The key of a file in a cache: its URL without secrets, and a hash of the rest of its query, which may be
/// what distinguishes files.
///
/// ```
/// use sapwood_fetch::blocks::name_of;
/// assert_eq!(name_of("https://me:pw@h/f.root?X-Amz-Signature=1&authz=2"), "https://h/f.root");
/// assert_ne!(name_of("https://h/get?file=1"), name_of("https://h/get?file=2"));
/// assert_eq!(name_of("https://h/get?file=1"), name_of("https://h/get?file=1&X-Amz-Date=3"));
/// ```
pub fn name_of(url: &str) -> String {
    let redacted = redact(url);
    let place = redacted.split_once('?').map_or(&*redacted, |(place, _)| place);
    // A local path has no query: it is used as it is.
    let query =
        url.split_once("://").and_then(|(_, rest)| rest.split_once('?')).map_or("", |(_, query)| query);
    let query = query.split_once('#').map_or(query, |(query, _)| query);
    let telling: Vec<_> = query.split('&').filter(|pair| !pair.is_empty() && !is_credential(pair)).collect();
    match telling.as_slice() {
        [] => place.to_owned(),
        telling => format!("{place}?{:016x}", xxh64(telling.join("&").as_bytes(), 0)),
    }
}

/// Whether a part of a query only grants access, and therefore differs each time.
fn is_credential(pair: &str) -> bool {
    const NAMES: [&str; 12] = [
        "access_token",
        "authz",
        "token",
        "signature",
        "expires",
        "awsaccesskeyid",
        "googleaccessid",
        "key-pair-id",
        "policy",
        "sig",
        "se",
        "st",
    ];
    const BEGINNINGS: [&str; 3] = ["x-amz-", "x-goog-", "xrd."];
    let name = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
    NAMES.contains(&&*name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let broken = |error| Error::new(ErrorKind::Io, "the task that reads the cache panicked").caused_by(error);
    spawn_blocking(work).await.map_err(broken)
}
