//! Tests of the codec through its public interface.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod damage;
mod golden;
mod payloads;
