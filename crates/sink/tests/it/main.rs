//! Tests of uploads against servers whose answers a test writes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail loudly")]

mod upload;
