//! Tests of the public API, on records that ROOT wrote and on the corpus of real files.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod corpus;
mod corpus_metadata;
mod layouts;
mod old_versions;
mod outline;
