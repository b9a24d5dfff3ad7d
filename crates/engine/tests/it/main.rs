//! Tests of the public API, on a file that ROOT wrote and on the corpus of real files.
#![expect(clippy::unwrap_used, reason = "tests")]

/// A call without interruption.
macro_rules! call {
    () => {
        &mut sapwood::Call::new(sapwood::Deadline::default(), &mut || false)
    };
}

mod corpus;
mod counted_collections;
mod cuts;
mod damage;
mod dataset_maintenance;
mod datasets;
mod entries;
mod event_loops;
mod inputs;
mod lazy;
mod members;
mod ranges;
mod reading;
mod resume;
mod scans;
mod table;
mod verify;
