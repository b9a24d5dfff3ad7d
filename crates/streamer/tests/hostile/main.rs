//! Objects that nobody sound would write: descriptions and data that lie, each with what it may cost.
#![expect(clippy::unwrap_used, reason = "tests")]

mod damaged;
mod data;
mod describe;
mod descriptions;
mod invent;
mod inventions;
mod meter;
