//! Tests of the codec through its public interface.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod damage;
mod encoded;
mod golden;
mod payloads;
