//! Writes the list of free segments.

use super::RecordBuffer;
use sapwood_core::{ByteRange, Result};

/// `kStartBigFile`: beyond this, offsets have 8 bytes (root-io-spec LargeFiles §1).
pub(super) const BIG_FILE: u64 = 2_000_000_000;
/// Steps in which the space behind the file grows (FreeSegments §5).
const STEP: u64 = 1_000_000_000;

/// The last byte of the space behind a file that ends at `end`.
fn last_byte(end: u64) -> u64 {
    // It must be beyond the end of the file; otherwise, ROOT would read on (FreeSegments §3).
    BIG_FILE.max((end / STEP + 1) * STEP)
}

/// The payload of the list: the free segments of a file that ends at `end`, and the space behind it.
pub(super) fn payload(segments: &[ByteRange], end: u64) -> Result<Vec<u8>> {
    let mut buffer = RecordBuffer::new(0);
    let inside = segments.iter().map(|segment| (segment.start, segment.end() - 1));
    for (first, last) in inside.chain([(end, last_byte(end))]) {
        match (u32::try_from(first), u32::try_from(last)) {
            (Ok(first), Ok(short)) if last <= BIG_FILE => {
                buffer.u16(1);
                buffer.u32(first);
                buffer.u32(short);
            }
            _ => {
                buffer.u16(1001);
                buffer.u64(first);
                buffer.u64(last);
            }
        }
    }
    buffer.finish()
}

/// Adds a segment to a list in the order of the file; adjacent segments are merged (WritingFiles §2.4).
pub(super) fn release(segments: &mut Vec<ByteRange>, range: ByteRange) {
    segments.push(range);
    segments.sort_unstable();
    segments.dedup_by(|next, before| {
        let touch = before.end() >= next.start;
        if touch {
            before.len = next.end().max(before.end()) - before.start;
        }
        touch
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_space_behind_the_file_grows_in_steps() {
        assert_eq!(last_byte(656), 2_000_000_000);
        assert_eq!(last_byte(2_000_000_000), 3_000_000_000);
        assert_eq!(last_byte(2_500_000_000), 3_000_000_000);
        assert_eq!(payload(&[], 656).unwrap().len(), 10);
        assert_eq!(payload(&[ByteRange { start: 300, len: 50 }], 2_500_000_000).unwrap().len(), 28);
    }

    #[test]
    fn neighbours_become_one() {
        let range = |start, len| ByteRange { start, len };
        let mut segments = vec![range(100, 10), range(200, 10)];
        release(&mut segments, range(110, 20));
        assert_eq!(segments, [range(100, 30), range(200, 10)]);
        release(&mut segments, range(130, 70));
        assert_eq!(segments, [range(100, 110)]);
        release(&mut segments, range(50, 10));
        assert_eq!(segments, [range(50, 10), range(100, 110)]);
    }
}
