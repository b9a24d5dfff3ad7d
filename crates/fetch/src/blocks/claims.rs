//! Which blocks are being fetched by this process, so that nobody fetches one a second time.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The blocks that somebody fetches.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockClaims(Arc<ClaimTable>);

#[derive(Debug, Default)]
struct ClaimTable {
    taken: Mutex<FetchingBlocks>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct FetchingBlocks {
    /// The process whose fetches they are: those of a parent end in the parent.
    owner: u32,
    blocks: HashSet<u64>,
}

impl BlockClaims {
    /// Takes a block, unless somebody else has it.
    pub(super) fn take(&self, block: u64) -> Option<BlockClaim> {
        let new = self.0.lock().blocks.insert(block);
        new.then(|| BlockClaim { shared: Arc::clone(&self.0), block })
    }

    /// Notified whenever a block was given back.
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

/// A block that is ours to fetch; given back when dropped, fetched or not.
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
