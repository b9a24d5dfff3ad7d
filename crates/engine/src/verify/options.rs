//! How a file is verified, and how far that is.

use sapwood_core::{Call, Deadline};
use std::time::Duration;

/// How to verify.
#[derive(Debug, Clone)]
pub struct VerifyOptions {
    /// Paths of the trees to check, with or without cycles. Default: all of the file, every byte of it.
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
    /// When a step that begins now is given up.
    pub(super) fn step<'c>(&self, call: &'c mut Call<'_>) -> Call<'c> {
        call.until(Deadline::after(self.longest))
    }
}

/// How far a verification is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Bytes that were checked.
    pub done: u64,
    /// Bytes that are to be checked.
    pub total: u64,
    /// Findings of damage so far.
    pub damage: u64,
}
