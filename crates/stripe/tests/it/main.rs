//! Datasets in stores in memory and in directories: commits survive any failure.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod budgets;
mod care;
mod conflicts;
mod crashes;
mod events;
mod races;
mod receipts;
mod sending;
mod state_machine;
mod world;
