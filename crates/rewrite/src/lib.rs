//! New ROOT files: written from arrays (`write`), or from other ROOT files (`repack`).

mod new_file;
mod new_table;
pub mod repack;
pub mod write;
