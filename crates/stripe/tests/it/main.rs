//! Datasets in memory and in directories: committed data is kept, whatever fails.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod budgets;
mod conflicts;
mod crashes;
mod events;
mod maintenance;
mod races;
mod receipts;
mod sending;
mod state_machine;
mod world;
