//! The list of free segments: unused parts of the file.

use crate::key::LARGE;
use crate::{Cursor, Key};
use sapwood_core::{ByteRange, Result};

/// Parses the record of the list: the free segments before `end`, which is `fEND`.
///
/// The last entry is the space behind the file and ends the list; neither the header's count nor the length
/// of the record does (FreeSegments §3).
pub(crate) fn parse(record: &[u8], offset: u64, end: u64) -> Result<Vec<ByteRange>> {
    let key = Key::parse_at(record, offset)?;
    let mut cursor = Cursor::new(record, 0).at_offset(offset);
    cursor.skip(key.key_len as usize)?;
    let mut segments = Vec::new();
    while cursor.remaining() >= 10 {
        let start = cursor.position();
        let version = cursor.u16()?;
        let wide = version > LARGE; // FreeSegments §2.1
        let (first, last) = (cursor.file_offset(wide)?, cursor.file_offset(wide)?);
        if last > end {
            break;
        }
        if first > last {
            return Err(cursor.corrupt_at(start, format!("a free segment from {first} to {last}")));
        }
        // The rest of the record can be zeros: FreeSegments §3.
        if last > 0 {
            segments.push(ByteRange::new(first, last - first + 1)?);
        }
    }
    Ok(segments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::tests::key_bytes;

    #[test]
    fn both_widths_until_the_end_of_the_file() {
        let mut bytes = key_bytes(993, 100, "TFile", "f", 66);
        for (first, last) in [(718_u32, 904_u32), (950, 950)] {
            bytes.extend(1_u16.to_be_bytes());
            bytes.extend(first.to_be_bytes());
            bytes.extend(last.to_be_bytes());
        }
        for (first, last) in [(2000_u64, 2999_u64), (4_947_894_760, 5_000_000_000), (1, 2)] {
            bytes.extend(1001_u16.to_be_bytes());
            bytes.extend(first.to_be_bytes());
            bytes.extend(last.to_be_bytes());
        }
        let segments = parse(&bytes, 993, 4_947_894_760).unwrap();
        let pairs: Vec<_> = segments.iter().map(|s| (s.start, s.len)).collect();
        assert_eq!(pairs, [(718, 187), (950, 1), (2000, 1000)]);
    }

    #[test]
    fn a_segment_that_ends_before_it_starts() {
        let mut bytes = key_bytes(993, 100, "TFile", "f", 10);
        bytes.extend([0, 1, 0, 0, 0, 9, 0, 0, 0, 8]);
        assert!(parse(&bytes, 993, 5000).is_err());
    }
}
