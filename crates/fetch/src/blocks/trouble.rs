//! What goes wrong with the place where blocks are kept: said once, and then lived without.

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
    /// None so far for this file.
    pub(super) fn new(url: impl Into<String>) -> Self {
        Trouble { url: url.into(), known: AtomicBool::new(false) }
    }

    /// True once something went wrong.
    pub(super) fn is_known(&self) -> bool {
        self.known.load(Ordering::Relaxed)
    }

    /// Something went wrong: from now on no block is kept.
    pub(super) fn report(&self, what: &str, error: &io::Error) {
        if !self.known.swap(true, Ordering::Relaxed) {
            let url = &self.url;
            log::warn!(target: "sapwood.source", "{url}: {what}: {error}; it is read on without keeping blocks");
        }
    }
}
