//! One modelled file at several places, each at the end of a way of its own.

use super::model::Way;
use crate::replicas::{Finder, Known};
use sapwood_core::{BoxFuture, Deadline, Result};
use sapwood_source::OpenedSource;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What opens the file at the end of a way, under the name of its server.
pub(super) type Open = dyn Fn(Arc<Way>, String) -> BoxFuture<'static, OpenedSource> + Send + Sync;

/// The places of a file; none of them fails.
pub(super) struct Places {
    ways: Vec<Arc<Way>>,
    open: Box<Open>,
    found: AtomicUsize,
    /// What is measured of servers is known by their names in all of the process: those of one replay are no other's.
    number: u64,
}

impl Places {
    pub(super) fn new(ways: Vec<Arc<Way>>, open: Box<Open>) -> Arc<Places> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Arc::new(Places { ways, open, found: AtomicUsize::new(0), number })
    }
}

impl std::fmt::Debug for Places {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Places").field("ways", &self.ways).finish_non_exhaustive()
    }
}

impl Finder for Places {
    fn next<'a>(&'a self, _: &'a [Known], _: Deadline) -> BoxFuture<'a, Result<Option<OpenedSource>>> {
        Box::pin(async move {
            let index = self.found.fetch_add(1, Ordering::Relaxed);
            match self.ways.get(index) {
                Some(way) => {
                    let server = format!("model-{}-{index}:0", self.number);
                    Ok(Some((self.open)(Arc::clone(way), server).await))
                }
                None => Ok(None),
            }
        })
    }
}
