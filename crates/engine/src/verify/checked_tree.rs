//! A tree that is verified, with its report so far.

use super::report::TreeReport;
use sapwood_ttree::{BasketRef, TreeTable};

/// A tree and its report.
#[derive(Debug)]
pub(super) struct CheckedTree {
    pub(super) table: TreeTable,
    /// Offset of its record.
    pub(super) record: u64,
    pub(super) report: TreeReport,
}

impl CheckedTree {
    /// Path and cycle.
    pub(super) fn name(&self) -> String {
        format!("{};{}", self.report.path, self.report.cycle)
    }

    pub(super) fn branch_path(&self, branch: usize) -> &str {
        self.table.tree().stored_branch(branch).map_or("", |branch| &branch.path)
    }

    pub(super) fn basket(&self, branch: usize, basket: usize) -> Option<&BasketRef> {
        self.table.tree().stored_branch(branch)?.baskets.get(basket)
    }
}
