//! New ROOT files: written from arrays (`write`), or from other ROOT files (`repack`).

mod new_file;
pub mod repack;
pub mod write;
