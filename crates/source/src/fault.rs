//! A decorator that fails by script, for tests of the layers above.

use crate::{Source, check, forward_source};
use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Error, ErrorKind, Result};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// What goes wrong with one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call fails with an error of this kind.
    Fail(ErrorKind),
    /// The call answers, with all bits of the byte at this offset of the file flipped.
    Flip(u64),
    /// The call never answers; it fails when its deadline passes.
    Hang,
}

/// Does what `inner` does, except for the calls in the script.
///
/// ```
/// # use sapwood_core::{ByteRange, Deadline, ErrorKind};
/// # use sapwood_source::{Fault, FaultySource, MemorySource, Source};
/// let script = [(0, Fault::Fail(ErrorKind::Network)), (2, Fault::Flip(1))];
/// let source = FaultySource::new(MemorySource::new("abc"), script);
/// let ranges = [ByteRange { start: 0, len: 3 }];
/// let read = || futures::executor::block_on(source.read_ranges(&ranges, Deadline::default()));
/// assert_eq!(read().unwrap_err().kind(), ErrorKind::Network);
/// assert_eq!(read()?[0], "abc");
/// assert_eq!(read()?[0][1], !b'b');
/// # Ok::<(), sapwood_core::Error>(())
/// ```
#[derive(Debug)]
pub struct FaultySource<S> {
    inner: S,
    script: HashMap<u64, Fault>,
    calls: AtomicU64,
}

impl<S: Source> FaultySource<S> {
    /// Breaks the calls of `read_ranges` whose number (from 0) is in the script.
    pub fn new(inner: S, script: impl IntoIterator<Item = (u64, Fault)>) -> Self {
        FaultySource { inner, script: script.into_iter().collect(), calls: AtomicU64::new(0) }
    }

    /// Number of calls so far.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

#[deny(clippy::missing_trait_methods)]
impl<S: Source> Source for FaultySource<S> {
    forward_source!(self => self.inner; identity, cost_model, server, round_trip, is_cold, announce, checksums);

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            match self.script.get(&call) {
                None => self.inner.read_ranges(ranges, deadline).await,
                Some(Fault::Fail(kind)) => {
                    Err(Error::new(*kind, "a fault of the test's script").url(&self.identity().url))
                }
                Some(Fault::Flip(offset)) => {
                    let answers = self.inner.read_ranges(ranges, deadline).await?;
                    Ok(ranges
                        .iter()
                        .zip(answers)
                        .map(|(range, bytes)| flip(*range, bytes, *offset))
                        .collect())
                }
                Some(Fault::Hang) => {
                    tokio::time::sleep_until(deadline.instant().into()).await;
                    Err(check::timeout(self.identity()))
                }
            }
        })
    }
}

/// `bytes`, which are at `range`, with the byte at `offset` of the file flipped, if it is one of them.
fn flip(range: ByteRange, bytes: Bytes, offset: u64) -> Bytes {
    let index = offset.checked_sub(range.start).and_then(|index| usize::try_from(index).ok());
    let mut flipped = bytes.to_vec();
    match index.and_then(|index| flipped.get_mut(index)) {
        Some(byte) => {
            *byte = !*byte;
            Bytes::from(flipped)
        }
        None => bytes,
    }
}
