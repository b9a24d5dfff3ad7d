//! Tests of uploads to servers with scripted answers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail loudly")]

mod upload;
