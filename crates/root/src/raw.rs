//! The bytes of any file, whatever its format: with replicas, retries, the block cache and planned requests.

use crate::{File, OpenOptions, opening};
use bytes::Bytes;
use sapwood_core::{ByteRange, Call, Counters, Error, ErrorKind, Result};
use sapwood_fetch::Fetcher;
use sapwood_source::Trace;
use sapwood_table::pool;
use std::sync::Arc;
use std::time::Instant;

/// An open file of any format. Cheap to clone; thread-safe.
#[derive(Debug, Clone)]
pub struct RawFile {
    fetcher: Fetcher,
    trace: Trace,
}

impl RawFile {
    /// Opens the file at a path or URL, or at the replicas in the options.
    ///
    /// # Errors
    /// Those of [`sapwood_source::open`].
    pub fn open(url: &str, options: &OpenOptions, call: &mut Call<'_>) -> Result<RawFile> {
        let trace = Trace::new(Instant::now());
        let opened = pool::wait(opening::open(url, options, trace.clone()), call)?;
        let fetcher = Fetcher::new(opened.source, Arc::clone(&options.source.counters))
            .with_budget(pool::budget()?)
            .with_known(opened.known);
        Ok(RawFile { fetcher, trace })
    }

    /// The bytes of an open file, which shares its connection, counters and known parts with it.
    pub fn of(file: &File) -> RawFile {
        RawFile { fetcher: file.fetcher().clone(), trace: file.trace() }
    }

    /// The URL, without secrets.
    pub fn url(&self) -> &str {
        &self.fetcher.source().identity().url
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.fetcher.source().identity().size
    }

    /// What reading the file has cost so far.
    pub fn counters(&self) -> &Arc<Counters> {
        self.fetcher.counters()
    }

    /// Every range requested since opening began.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The bytes of all ranges, in the order asked. They are fetched together, in as few requests as the server allows.
    ///
    /// # Errors
    /// `Usage` if a range ends beyond the file, whose size the caller can ask for; those of the source.
    pub fn read(&self, ranges: &[ByteRange], call: &mut Call<'_>) -> Result<Vec<Bytes>> {
        let size = self.size();
        if let Some(range) = ranges.iter().find(|range| range.start.saturating_add(range.len) > size) {
            let message =
                format!("{} bytes from {} end beyond the file of {size} bytes", range.len, range.start);
            return Err(Error::new(ErrorKind::Usage, message).url(self.url()));
        }
        let deadline = call.deadline();
        pool::wait(self.fetcher.fetch(ranges, deadline), call)
    }
}
