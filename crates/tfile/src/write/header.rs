//! Writes the file header, last, when all offsets are known.

use super::RecordBuffer;
use super::free::BIG_FILE;
use crate::FileHeader;
use crate::header::LARGE;
use sapwood_core::Result;

/// The bytes of a header; `free_segments` is the number of entries in their list, including the last
/// (root-io-spec FileHeader §2).
pub(super) fn bytes(header: &FileHeader, free_segments: usize) -> Result<Vec<u8>> {
    let large = header.end > BIG_FILE;
    let mut buffer = RecordBuffer::new(0);
    buffer.bytes(b"root");
    buffer.u32(header.version + if large { LARGE.unsigned_abs() } else { 0 });
    buffer.u32(u32::try_from(header.begin).unwrap_or_default());
    buffer.file_offset(header.end, large);
    buffer.file_offset(header.seek_free, large);
    buffer.u32(header.nbytes_free);
    buffer.count(free_segments);
    buffer.u32(header.nbytes_name);
    buffer.u8(if large { 8 } else { 4 });
    buffer.i32(header.compression);
    buffer.file_offset(header.seek_info, large);
    buffer.u32(header.nbytes_info);
    buffer.u16(1);
    buffer.bytes(&header.uuid);
    buffer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for end in [1094, 5_253_395_573] {
            let header = FileHeader {
                version: 64_004,
                large: end > BIG_FILE,
                begin: 100,
                end,
                seek_free: 993,
                nbytes_free: 101,
                nbytes_name: 150,
                units: if end > BIG_FILE { 8 } else { 4 },
                compression: 505,
                seek_info: 398,
                nbytes_info: 434,
                uuid: *b"0123456789abcdef",
            };
            let bytes = bytes(&header, 1).unwrap();
            assert_eq!(bytes.len(), if header.large { 75 } else { 63 });
            assert_eq!(FileHeader::parse(&bytes).unwrap(), header);
        }
    }
}
