//! Which blocks are being fetched by this process, so that nobody fetches one a second time.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The blocks that somebody fetches.
#[derive(Debug, Clone, Default)]
pub(super) struct Claims(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    taken: Mutex<Taken>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Taken {
    /// The process whose fetches they are: those of a parent end in the parent.
    owner: u32,
    blocks: HashSet<u64>,
}

impl Claims {
    /// Takes a block, unless somebody else has it.
    pub(super) fn take(&self, block: u64) -> Option<Claim> {
        let new = self.0.lock().blocks.insert(block);
        new.then(|| Claim { shared: Arc::clone(&self.0), block })
    }

    /// Notified whenever a block was given back.
    pub(super) fn freed(&self) -> &Notify {
        &self.0.freed
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Taken> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.owner != std::process::id() {
            *taken = Taken { owner: std::process::id(), blocks: HashSet::new() };
        }
        taken
    }
}

/// A block that is ours to fetch; given back when dropped, fetched or not.
#[derive(Debug)]
pub(super) struct Claim {
    shared: Arc<Shared>,
    block: u64,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.shared.lock().blocks.remove(&self.block);
        self.shared.freed.notify_waiters();
    }
}
