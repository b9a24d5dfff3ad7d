//! Tests of the readers on a made format.
#![expect(clippy::unwrap_used, reason = "tests")]

mod paged;
