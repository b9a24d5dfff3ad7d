//! Real RNTuples: read in every way, compared with other readers, and damaged; and new ones.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod corpus;
mod oracle;
mod written;
