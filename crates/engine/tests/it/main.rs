//! Tests of the public API, on a file that ROOT wrote and on the corpus of real files.
#![expect(clippy::unwrap_used, reason = "tests")]

/// A call without interruptions.
macro_rules! call {
    () => {
        &mut sapwood::Call::new(sapwood::Deadline::default(), &mut || false)
    };
}

mod care;
mod corpus;
mod counted;
mod cuts;
mod damage;
mod datasets;
mod entries;
mod going_on;
mod inputs;
mod lazy;
mod members;
mod ranges;
mod reading;
mod scans;
mod table;
mod verify;
