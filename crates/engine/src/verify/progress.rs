//! Progress of a verification.

use super::attempts::VerifyTally;
use sapwood_core::Call;

/// The progress of a verification.
#[derive(Debug, Clone, Copy)]
pub struct VerifyProgress {
    /// Bytes checked so far.
    pub done: u64,
    /// Bytes to check.
    pub total: u64,
    /// Findings of damage so far.
    pub damage: u64,
}

/// Reports the progress of a verification, and lets the caller interrupt it.
pub(super) struct ProgressWatch<'a, 'p, 'c> {
    pub(super) total: u64,
    pub(super) done: u64,
    pub(super) progress: &'a mut (dyn FnMut(VerifyProgress) + 'p),
    pub(super) call: &'a mut Call<'c>,
}

impl ProgressWatch<'_, '_, '_> {
    /// Reports the progress.
    pub(super) fn report(&mut self, tally: &VerifyTally) {
        let (done, total) = (self.done.min(self.total), self.total);
        (self.progress)(VerifyProgress { done, total, damage: tally.findings.damage });
    }
}
