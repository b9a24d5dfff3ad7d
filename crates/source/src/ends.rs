//! The head and the tail of a file, which opening reads.

use crate::{OpenedSource, Source};
use sapwood_core::{ByteRange, Deadline, Result, Segments};
use std::sync::Arc;
use std::time::Duration;

/// Number of bytes that opening reads from the start of a file, with a tail of the default size: ROOT puts the header of
/// an RNTuple behind that of the file, and it would cost another round trip. NanoAOD's has 24 to 34 kB.
pub const HEAD: u64 = 36 << 10;

/// The same with a shorter tail: more than any file header.
pub const SHORT_HEAD: u64 = 4 << 10;

/// The same for distant servers.
pub(crate) const FAR_HEAD: u64 = 64 << 10;

/// Default of `SourceOptions::tail_size`. It makes room for the head: at low latency, and on a slow link, the bytes of
/// both are what opening costs.
pub const TAIL: u64 = 228 << 10;

/// The tail for distant servers: it includes the record of a large tree, which would cost another round trip.
pub const FAR_TAIL: u64 = 1 << 20;

/// The tail that is read of a local file: it holds the keys and the class descriptions of most files. A later read costs no
/// round trip; copying more than is used would cost time and memory.
pub(crate) const LOCAL_TAIL: u64 = 16 << 10;

/// The tail that is read of a further replica of an open file: enough to see that it is the same file.
pub const FURTHER_TAIL: u64 = 16 << 10;

/// Round trip from which on a server counts as distant: longer than a slow link (100 Mbit/s) takes for the larger
/// tail.
const FAR: Duration = Duration::from_millis(50);

/// The size of the tail to read from a server at this distance, where `tail` was asked for. A tail that is shorter than
/// the default has another purpose than to hold the record of a tree.
pub(crate) fn tail_at(round_trip: Duration, tail: u64) -> u64 {
    if tail >= TAIL && round_trip >= FAR { tail.max(FAR_TAIL) } else { tail }
}

/// The size in bytes of the head that opening reads with a tail of this size.
pub fn head_with(tail: u64) -> u64 {
    match tail {
        ..TAIL => SHORT_HEAD,
        TAIL..FAR_TAIL => HEAD,
        FAR_TAIL.. => FAR_HEAD,
    }
}

/// A source that was just opened, with its head and its tail.
pub(crate) async fn with_ends(source: impl Source, tail: u64, deadline: Deadline) -> Result<OpenedSource> {
    let ranges = head_and_tail(source.identity().size, tail);
    let answers = source.read_ranges(&ranges, deadline).await?;
    let mut known = Segments::default();
    for (range, bytes) in ranges.iter().zip(answers) {
        known.insert(range.start, bytes);
    }
    Ok(OpenedSource { source: Arc::new(source), known })
}

/// The ranges to read when opening a file of `size` bytes: one if they touch.
pub(crate) fn head_and_tail(size: u64, tail: u64) -> Vec<ByteRange> {
    let head = head_with(tail).min(size);
    let tail = tail.min(size);
    if head + tail >= size {
        vec![ByteRange { start: 0, len: size }]
    } else if tail == 0 {
        vec![ByteRange { start: 0, len: head }]
    } else {
        vec![ByteRange { start: 0, len: head }, ByteRange { start: size - tail, len: tail }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_of_the_tail_is_read_at_high_latency() {
        let [near, far] = [1, 240].map(Duration::from_millis);
        assert_eq!([tail_at(near, TAIL), tail_at(far, TAIL), tail_at(far, 0)], [TAIL, FAR_TAIL, 0]);
        assert_eq!([tail_at(far, 2 * FAR_TAIL), tail_at(far, FURTHER_TAIL)], [2 * FAR_TAIL, FURTHER_TAIL]);
    }

    #[test]
    fn head_and_tail_merge_in_small_files() {
        assert_eq!(head_and_tail(0, TAIL), [ByteRange { start: 0, len: 0 }]);
        assert_eq!(head_and_tail(10, TAIL), [ByteRange { start: 0, len: 10 }]);
        assert_eq!(head_and_tail(1 << 20, 0), [ByteRange { start: 0, len: SHORT_HEAD }]);
        assert_eq!(head_and_tail(1 << 20, 16).len(), 2);
        for (tail, head) in [(TAIL - 1, SHORT_HEAD), (TAIL, HEAD), (FAR_TAIL - 1, HEAD), (FAR_TAIL, FAR_HEAD)]
        {
            assert_eq!(head_and_tail(2 << 20, tail)[0], ByteRange { start: 0, len: head });
        }
    }
}
