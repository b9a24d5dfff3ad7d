//! Objects of datasets: written objects are read, and damaged ones are reported.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "tests")]

#[path = "../../../tfile/tests/it/allocation.rs"]
mod allocation;
mod damage;
mod golden;
mod roundtrip;
mod samples;
mod scale;
