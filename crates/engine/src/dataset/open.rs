//! Opening a dataset as a file.

use super::View;
use crate::{File, Interrupt};
use sapwood_core::Result;
use sapwood_source::{OpenOptions, Store};
use sapwood_stripe::Snapshot;
use std::sync::Arc;
use std::time::Instant;

impl File {
    /// A version of a dataset, as a file that holds its tree: the one that `snapshot` describes.
    ///
    /// # Errors
    /// `Missing` if it holds nothing; `Corrupt` or `Unsupported` if a schema is not sound.
    pub fn of_snapshot(
        snapshot: Arc<Snapshot>,
        version: u64,
        store: Arc<dyn Store>,
        options: OpenOptions,
        interrupt: Interrupt<'_>,
    ) -> Result<File> {
        let begin = Instant::now();
        let url = store.url().to_owned();
        let view = View::new(snapshot, version, store, &options)?;
        File::of_dataset(view, begin, (url, options), interrupt)
    }
}
