//! Fetching as its users see it, against sources of any physics.

mod ahead;
mod fetcher;
mod satisfy;
mod source;
