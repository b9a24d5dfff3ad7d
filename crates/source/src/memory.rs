//! A source over bytes that are in memory already.

use crate::{CostModel, Identity, Source, check};
use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Result};
use std::fmt;

/// Bytes in memory. Answers share memory with them: nothing is copied.
///
/// ```
/// use sapwood_core::{ByteRange, Deadline};
/// use sapwood_source::{MemorySource, Source};
/// let source = MemorySource::new("abcdef");
/// let ranges = [ByteRange { start: 4, len: 2 }, ByteRange { start: 0, len: 1 }];
/// let answers = futures::executor::block_on(source.read_ranges(&ranges, Deadline::default()))?;
/// assert_eq!(answers, ["ef", "a"]);
/// # Ok::<(), sapwood_core::Error>(())
/// ```
#[derive(Clone)]
pub struct MemorySource {
    identity: Identity,
    bytes: Bytes,
}

impl MemorySource {
    /// The source of `bytes`, called `memory` in errors.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        Self::named("memory", None, bytes)
    }

    /// The source of `bytes` that were read from `url` (without secrets) at this version.
    pub fn named(url: impl Into<String>, version: Option<String>, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let identity = Identity { url: url.into(), size: bytes.len() as u64, version };
        MemorySource { identity, bytes }
    }
}

impl fmt::Debug for MemorySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySource").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Source for MemorySource {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn cost_model(&self) -> CostModel {
        CostModel::MEMORY
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        Box::pin(async move {
            check::request(&self.identity, ranges, deadline)?;
            let slice = |range: &ByteRange| {
                // `check::request` showed that the range lies within the bytes, so it fits in usize.
                self.bytes.slice(range.start as usize..range.end() as usize)
            };
            Ok(ranges.iter().map(slice).collect())
        })
    }
}
