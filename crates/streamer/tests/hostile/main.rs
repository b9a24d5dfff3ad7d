//! Malicious descriptions and data, each with a bound on what reading it may cost.
#![expect(clippy::unwrap_used, reason = "tests")]

mod damaged;
mod data;
mod describe;
mod descriptions;
mod invent;
mod inventions;
mod meter;
