//! Which blocks this process is fetching, so that no block is fetched twice.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The blocks that are being fetched.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockClaims(Arc<ClaimTable>);

#[derive(Debug, Default)]
struct ClaimTable {
    taken: Mutex<FetchingBlocks>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct FetchingBlocks {
    /// The process that fetches them: fetches of a parent end in the parent.
    owner: u32,
    blocks: HashSet<u64>,
}

impl BlockClaims {
    /// Takes a block, unless it is taken.
    pub(super) fn take(&self, block: u64) -> Option<BlockClaim> {
        let new = self.0.lock().blocks.insert(block);
        new.then(|| BlockClaim { shared: Arc::clone(&self.0), block })
    }

    /// Notified whenever a block is released.
    pub(super) fn freed(&self) -> &Notify {
        &self.0.freed
    }
}

impl ClaimTable {
    fn lock(&self) -> MutexGuard<'_, FetchingBlocks> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.owner != std::process::id() {
            *taken = FetchingBlocks { owner: std::process::id(), blocks: HashSet::new() };
        }
        taken
    }
}

/// A block that the owner of this may fetch; released when dropped, fetched or not.
#[derive(Debug)]
pub(super) struct BlockClaim {
    shared: Arc<ClaimTable>,
    block: u64,
}

impl Drop for BlockClaim {
    fn drop(&mut self) {
        self.shared.lock().blocks.remove(&self.block);
        self.shared.freed.notify_waiters();
    }
}
