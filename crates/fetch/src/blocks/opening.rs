//! Opening a file in blocks: with the bytes of a cache, if it has those of the current version.

use super::cache::{Cache, CacheSettings, Shelf};
use super::origin::{Origin, Reopen, fetcher_of};
use super::scratch::Scratch;
use super::store::Store;
use super::trouble::Trouble;
use super::{Blocks, Settings};
use sapwood_core::{Counters, Deadline, Error, ErrorKind, Result, Segments};
use sapwood_source::{Identity, Opened};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::spawn_blocking;

/// What a cache has of a file, of the version that was seen last.
struct Kept {
    identity: Identity,
    shelf: Shelf,
    known: Segments,
    /// Whether it is believed without asking the server.
    is_young: bool,
}

/// Opens a file that is read in blocks.
///
/// `reopen` opens its source: now, unless the cache may be [believed](CacheSettings::max_age) without asking, and
/// whenever blocks are missing after it was let go. A file that is read without waiting (a local one) is returned as
/// it is. What is answered from blocks is added to the `block_bytes` of `counters`.
///
/// # Errors
/// Those of `reopen`. What goes wrong with the cache is no error: it is logged, once, and done without.
pub async fn open(
    settings: &Settings,
    reopen: Arc<dyn Reopen>,
    counters: Arc<Counters>,
    deadline: Deadline,
) -> Result<Opened> {
    let wish = settings.cache.clone();
    let (cache, kept) = blocking(move || wish.and_then(found).unzip()).await?;
    let kept = kept.flatten();
    if let Some(Kept { identity, shelf, known, is_young: true }) = kept {
        let origin = Origin::new(identity, reopen, None);
        return Ok(wrapped(origin, settings, Some(shelf), counters, known));
    }
    let mut opened = reopen.open(kept.is_none(), deadline).await?;
    let current = kept.is_some();
    let kept = kept.filter(|kept| is_same(&kept.identity, opened.source.identity()));
    if current && kept.is_none() {
        // It came without its tail.
        opened = reopen.open(true, deadline).await?;
    }
    if opened.source.physics().immediate {
        return Ok(opened);
    }
    let identity = opened.source.identity().clone();
    let mut known = opened.known.clone();
    let shelf = match (cache, settings.cache.clone()) {
        (Some(cache), Some(wish)) => {
            let (shelf, all) = kept.map(|kept| (kept.shelf, kept.known)).unzip();
            all.iter().for_each(|all| add(&mut known, all));
            let (identity, known) = (identity.clone(), known.clone());
            blocking(move || remembered(&cache, &wish.name, &identity, shelf, &known)).await?
        }
        _ => None,
    };
    let origin = Origin::new(identity, reopen, Some(fetcher_of(opened)));
    Ok(wrapped(origin, settings, shelf, counters, known))
}

fn wrapped(
    origin: Origin,
    settings: &Settings,
    shelf: Option<Shelf>,
    counters: Arc<Counters>,
    known: Segments,
) -> Opened {
    let block = settings.block.max(1);
    let url = origin.identity().url.clone();
    let store: Box<dyn Store> = match shelf {
        Some(shelf) => Box::new(shelf),
        None => Box::new(Scratch::new(block, settings.scratch, Trouble::new(url))),
    };
    Opened { source: Arc::new(Blocks::new(origin, block, store, counters)), known }
}

/// The cache that is wished for, and what it has of the file.
fn found(wish: CacheSettings) -> Option<(Cache, Option<Kept>)> {
    let cache = match Cache::open(&wish.directory, wish.size) {
        Ok(cache) => cache,
        Err(error) => {
            log::warn!(target: "sapwood.source", "{error}; it is read on without it");
            return None;
        }
    };
    let kept = cache.latest(&wish.name).and_then(|latest| {
        let shelf = cache.shelf(&wish.name, &latest.identity)?;
        let known = shelf.known(latest.identity.size)?;
        Some(Kept { is_young: latest.age() < wish.max_age, identity: latest.identity, shelf, known })
    });
    Some((cache, kept))
}

/// Remembers the version that the server has, and what came with opening.
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

/// Once in a process: it is the server that is at fault, and there are many files on it.
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

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let broken =
        |error| Error::new(ErrorKind::Io, "the task that looks into the cache broke down").caused_by(error);
    spawn_blocking(work).await.map_err(broken)
}
