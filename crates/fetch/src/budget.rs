//! How many prefetched bytes may be in memory until they are used.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number of bytes that the [`ReadAhead`](crate::ReadAhead)s of several fetchers share.
#[derive(Debug)]
pub struct Budget {
    most: u64,
    held: AtomicU64,
}

impl Budget {
    /// A budget of `most` bytes.
    pub fn new(most: u64) -> Arc<Budget> {
        Arc::new(Budget { most, held: AtomicU64::new(0) })
    }

    /// Its size in bytes.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Takes `bytes` of it, if they are available.
    pub(crate) fn take(self: &Arc<Self>, bytes: u64) -> Option<Share> {
        let take = |held: u64| held.checked_add(bytes).filter(|&held| held <= self.most);
        self.held.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).ok()?;
        Some(Share { budget: Arc::clone(self), bytes })
    }

    /// Takes `bytes` of it, whether or not they are available.
    pub(crate) fn take_anyway(self: &Arc<Self>, bytes: u64) -> Share {
        self.held.fetch_add(bytes, Ordering::AcqRel);
        Share { budget: Arc::clone(self), bytes }
    }
}

/// A share of a budget, which is returned when this is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_shares_return_to_the_budget() {
        let budget = Budget::new(10);
        let first = budget.take(6).unwrap();
        assert!(budget.take(5).is_none());
        let second = budget.take_anyway(5);
        drop(first);
        assert!(budget.take(5).is_some());
        assert!(budget.take(6).is_none());
        drop(second);
        assert!(budget.take(10).is_some());
        assert!(budget.take(u64::MAX).is_none());
    }
}
