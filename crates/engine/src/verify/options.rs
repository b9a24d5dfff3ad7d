//! Options of a verification.

use sapwood_core::{Call, Deadline};
use std::time::Duration;

/// How to verify.
#[derive(Debug, Clone)]
pub struct VerifyOptions {
    /// Paths of the trees to check, with or without cycles. Default: every byte of the file.
    pub trees: Option<Vec<String>>,
    /// Number of computing threads, as in [`ReadOptions`](sapwood_root::ReadOptions).
    pub threads: Option<usize>,
    /// The longest time that one step may take: opening, or fetching the next window. Default: one hour.
    pub longest: Duration,
    /// Findings that are kept; all are counted. Default: 1000.
    pub most_findings: usize,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        VerifyOptions { trees: None, threads: None, longest: Deadline::DEFAULT, most_findings: 1000 }
    }
}

impl VerifyOptions {
    /// A call for a step that begins now.
    pub(super) fn step<'c>(&self, call: &'c mut Call<'_>) -> Call<'c> {
        call.until(Deadline::after(self.longest))
    }
}
