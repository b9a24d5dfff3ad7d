//! Tests of fetching through its public interface, with sources of any cost model.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ahead;
mod blocks;
mod counting;
mod fetcher;
mod learn;
mod replay;
mod replicas;
mod satisfy;
mod source;
