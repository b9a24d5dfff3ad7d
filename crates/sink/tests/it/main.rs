//! Tests of uploads against scripted servers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail loudly")]

mod upload;
