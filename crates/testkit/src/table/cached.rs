//! A table with a cache of decoded columns keeps the contract of tables.

use super::subject::{Decorate, Subject};
use super::{check, check_values};
use sapwood_fetch::blocks::{Cache, ColumnShelf};
use sapwood_source::Identity;
use sapwood_table::CachedTable;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Checks a table with caches that are empty at first, and the values with one that all reads share.
///
/// # Panics
/// If a check fails.
#[expect(clippy::expect_used, reason = "so a check fails")]
pub fn check_cached(subject: Subject) {
    let folder = tempfile::tempdir().expect("a folder");
    let shelf = shelves(folder.path());
    let shared = shelf();
    let cold = Subject { decorate: Some(cached(shelf)), ..subject };
    check(&cold);
    check_values(&Subject { decorate: Some(cached(move || Arc::clone(&shared))), ..cold });
}

/// Empty shelves of one cache, each of another version of a file.
#[expect(clippy::expect_used, reason = "so a check fails")]
fn shelves(folder: &Path) -> impl Fn() -> Arc<ColumnShelf> + Send + Sync + use<> {
    let cache = Cache::open(folder, 1 << 30).expect("a cache");
    let versions = AtomicUsize::new(0);
    move || {
        let version = Some(versions.fetch_add(1, Ordering::Relaxed).to_string());
        let identity = Identity { url: String::new(), size: 0, version };
        Arc::new(cache.columns("file", &identity, [0; 16]).expect("a shelf of a version that is known"))
    }
}

fn cached(shelf: impl Fn() -> Arc<ColumnShelf> + Send + Sync + 'static) -> Decorate {
    Box::new(move |table| Arc::new(CachedTable::new(table, shelf(), "table")))
}
