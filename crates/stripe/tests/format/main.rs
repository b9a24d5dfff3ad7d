//! Objects of datasets: what was written is read again, and what was damaged is told.

mod damage;
mod golden;
mod roundtrip;
mod samples;
mod scale;
