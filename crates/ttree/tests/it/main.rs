//! Tests of the public API, on records that ROOT wrote and on the corpus of real files.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod corpus;
mod layouts;
mod meta;
mod old_versions;
mod outline;
