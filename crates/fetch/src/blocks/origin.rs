//! The source that blocks are fetched from: opened when needed, closed when not.

use crate::Fetcher;
use sapwood_core::{BoxFuture, Deadline, Error, ErrorKind, Result};
use sapwood_source::{Identity, OpenedSource};
use std::fmt;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Opens the source of a file, as often as needed.
pub trait Reopen: fmt::Debug + Send + Sync + 'static {
    /// Opens it; with the tail of the file in [`OpenedSource::known`] if `tail` is true.
    fn open<'a>(&'a self, tail: bool, deadline: Deadline) -> BoxFuture<'a, Result<OpenedSource>>;
}

/// The source of one version of a file.
#[derive(Debug)]
pub(super) struct Origin {
    identity: Identity,
    reopen: Arc<dyn Reopen>,
    open: Mutex<Option<Fetcher>>,
}

impl Origin {
    /// `reopen` is expected to open `identity`; `fetcher` reads it if it is open already.
    pub(super) fn new(identity: Identity, reopen: Arc<dyn Reopen>, fetcher: Option<Fetcher>) -> Self {
        Origin { identity, reopen, open: Mutex::new(fetcher) }
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The fetcher that reads it.
    ///
    /// # Errors
    /// Those of opening; `Changed` if the file has another version now.
    pub(super) async fn fetcher(&self, deadline: Deadline) -> Result<Fetcher> {
        let mut open = self.open.lock().await;
        if let Some(fetcher) = &*open {
            return Ok(fetcher.clone());
        }
        let opened = self.reopen.open(false, deadline).await?;
        let now = opened.source.identity();
        if (now.size, &now.version) != (self.identity.size, &self.identity.version) {
            return Err(Error::new(
                ErrorKind::Changed,
                "the file changed since the first blocks of it were kept",
            )
            .url(&self.identity.url)
            .hint("open it again"));
        }
        Ok(open.insert(fetcher_of(opened)).clone())
    }

    /// Closes the source.
    pub(super) async fn let_go(&self) {
        *self.open.lock().await = None;
    }
}

/// A fetcher of blocks. It has its own counters: the callers count the wanted bytes.
pub(super) fn fetcher_of(opened: OpenedSource) -> Fetcher {
    Fetcher::new(opened.source, Arc::default()).with_known(opened.known)
}
