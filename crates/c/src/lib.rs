//! The C ABI of sapwood: `include/sapwood.h` says what its functions do.
//!
//! ```text
//! abi: pointers of the caller ─▶ open_files: a number for each ─▶ sapwood_root::RawFile
//!        └ outcome: codes, messages, no panics    ├ options, replicas: what the texts of the caller mean
//!                                                 └ structure: what every reader of ROOT asks for first
//! ```

mod abi;
mod log_lines;
mod monitoring;
mod open_files;
mod options;
mod outcome;
mod replicas;
mod report;
mod structure;
