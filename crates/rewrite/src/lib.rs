//! ROOT files out of arrays (`write`), and out of other ROOT files (`repack`).

pub mod repack;
pub mod write;
