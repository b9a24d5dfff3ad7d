//! The source that blocks are fetched from: opened when it is needed, let go when it is not.

use crate::Fetcher;
use sapwood_core::{BoxFuture, Deadline, Error, ErrorKind, Result};
use sapwood_source::{Identity, OpenedSource};
use std::fmt;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Opens the source of a file, as often as it is needed.
pub trait Reopen: fmt::Debug + Send + Sync + 'static {
    /// Opens it; with the tail of the file in [`OpenedSource::known`] if that is wanted.
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
    /// What `reopen` opens is expected to be `identity`; `fetcher` reads it if it is open already.
    pub(super) fn new(identity: Identity, reopen: Arc<dyn Reopen>, fetcher: Option<Fetcher>) -> Self {
        Origin { identity, reopen, open: Mutex::new(fetcher) }
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// What reads it.
    ///
    /// # Errors
    /// Those of opening; `Changed` if it is another version by now.
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

    /// Lets the source go.
    pub(super) async fn let_go(&self) {
        *self.open.lock().await = None;
    }
}

/// A fetcher of blocks. Its counters are its own: what is wanted is counted by those who want it.
pub(super) fn fetcher_of(opened: OpenedSource) -> Fetcher {
    Fetcher::new(opened.source, Arc::default()).with_known(opened.known)
}
