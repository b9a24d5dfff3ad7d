//! Tests of stores: in memory, in directories, and in object stores.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail loudly")]

mod ahead;
mod cloud;
mod gateway;
mod local;

/// The error of a result whose value does not matter.
fn error_of<T>(result: sapwood_core::Result<T>) -> sapwood_core::Error {
    result.err().unwrap()
}
