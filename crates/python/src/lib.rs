//! The Python module `sapwood._core`: arguments, the GIL, errors and buffers. No decisions.

mod arguments;
mod branch;
mod cache;
mod chain;
mod column;
mod cut;
mod database_log;
mod describe;
mod detached;
mod doctor;
mod error;
mod fields;
mod file;
mod lazy;
mod listing;
mod logging;
mod object;
mod options;
mod raw;
mod repack;
mod sink;
mod stripe;
mod trace;
mod tree;
mod verify;
mod write;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[pymodule(gil_used = false)]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::branch::Branch;
    #[pymodule_export]
    use crate::cache::{cache_clear, cache_contents, cache_verify};
    #[pymodule_export]
    use crate::chain::{PyChainOptions, chain};
    #[pymodule_export]
    use crate::column::Column;
    #[pymodule_export]
    use crate::cut::{CutRead, FirstStage, SecondStage};
    #[pymodule_export]
    use crate::database_log::check_log;
    #[pymodule_export]
    use crate::describe::{dataset_log, describe_dataset};
    #[pymodule_export]
    use crate::doctor::diagnose;
    #[pymodule_export]
    use crate::error::CoreError;
    #[pymodule_export]
    use crate::file::{File, Key, Object};
    #[pymodule_export]
    use crate::lazy::Lazy;
    #[pymodule_export]
    use crate::listing::{is_on_network, list_directory, redact};
    #[pymodule_export]
    use crate::options::{PyBlockOptions, PyOpenOptions, PyRetryPolicy, PyStorageOptions};
    #[pymodule_export]
    use crate::raw::RawFile;
    #[pymodule_export]
    use crate::repack::repack;
    #[pymodule_export]
    use crate::stripe::{DatasetHandle, PyWriteOptions};
    #[pymodule_export]
    use crate::trace::{replay_job, trace_flush, trace_is_on, trace_start, trace_stop, trace_summary};
    #[pymodule_export]
    use crate::tree::{Entries, Scan, Tree, beside};
    #[pymodule_export]
    use crate::verify::verify;
    #[pymodule_export]
    use crate::write::{Writer, split_branches};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::logging::install();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("smallest_block", sapwood::BlockOptions::SMALLEST)?;
        module.add("error_codes", crate::error::codes())?;
        module.add("compression_algorithms", crate::write::algorithms())
    }
}
