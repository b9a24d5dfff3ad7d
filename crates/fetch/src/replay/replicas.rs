//! Replicas of one modeled file, each on a server with its own link.

use super::model::ModelLink;
use crate::replicas::{Finder, KnownReplica};
use sapwood_core::BoxFuture;
use sapwood_core::{Deadline, Result};
use sapwood_source::OpenedSource;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Opens the file over a link, under the name of its server.
pub(super) type Open = dyn Fn(Arc<ModelLink>, String) -> BoxFuture<'static, OpenedSource> + Send + Sync;

/// The replicas of a file; none of them fails.
pub(super) struct ModelReplicas {
    links: Vec<Arc<ModelLink>>,
    open: Box<Open>,
    found: AtomicUsize,
    /// Measurements of servers are shared in the process by name: this number keeps those of different
    /// replays apart.
    number: u64,
}

impl ModelReplicas {
    pub(super) fn new(links: Vec<Arc<ModelLink>>, open: Box<Open>) -> Arc<ModelReplicas> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Arc::new(ModelReplicas { links, open, found: AtomicUsize::new(0), number })
    }
}

impl std::fmt::Debug for ModelReplicas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Places").field("ways", &self.links).finish_non_exhaustive()
    }
}

impl Finder for ModelReplicas {
    fn next<'a>(&'a self, _: &'a [KnownReplica], _: Deadline) -> BoxFuture<'a, Result<Option<OpenedSource>>> {
        Box::pin(async move {
            let index = self.found.fetch_add(1, Ordering::Relaxed);
            match self.links.get(index) {
                Some(link) => {
                    let server = format!("model-{}-{index}:0", self.number);
                    Ok(Some((self.open)(Arc::clone(link), server).await))
                }
                None => Ok(None),
            }
        })
    }
}
