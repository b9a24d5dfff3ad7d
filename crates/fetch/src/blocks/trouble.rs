//! Problems with the place where blocks are kept: logged once, then worked around.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether blocks can be kept.
#[derive(Debug)]
pub(super) struct Trouble {
    /// What is read, without secrets.
    url: String,
    known: AtomicBool,
}

impl Trouble {
    /// No problem yet with this file.
    pub(super) fn new(url: impl Into<String>) -> Self {
        Trouble { url: url.into(), known: AtomicBool::new(false) }
    }

    /// True once a problem has occurred.
    pub(super) fn is_known(&self) -> bool {
        self.known.load(Ordering::Relaxed)
    }

    /// A problem occurred: from now on no block is kept.
    pub(super) fn report(&self, what: &str, error: &io::Error) {
        if !self.known.swap(true, Ordering::Relaxed) {
            let url = &self.url;
            log::warn!(target: "sapwood.source", "{url}: {what}: {error}; reading continues without keeping blocks");
        }
    }
}
