//! Descriptions compiled and run on bytes written by hand from the specification.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod classes;
mod collections;
mod describe;
mod hostile;
mod pointers;
mod selection;
mod structures;
mod undescribed;
mod versions;
