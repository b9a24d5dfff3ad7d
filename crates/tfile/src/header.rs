//! The file header: the first bytes of a file, which locate everything else.

use crate::Cursor;
use sapwood_core::{Error, ErrorKind, Result};

/// Bytes of the longest header (root-io-spec FileHeader §2).
pub(crate) const HEADER_LEN: u64 = 75;
/// Added to the version in files with 8-byte offsets.
pub(crate) const LARGE: i32 = 1_000_000;

/// The header of a ROOT file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHeader {
    /// Version of ROOT that wrote the file: 10000 × major + 100 × minor + patch.
    pub version: u32,
    /// True if the header has 8-byte offsets.
    pub large: bool,
    /// `fBEGIN`: offset of the first record, which is the root directory.
    pub begin: u64,
    /// `fEND`: offset behind the last record. The file can be longer, or shorter if it was cut off.
    pub end: u64,
    /// `fSeekFree`: offset of the list of free segments; 0 if the file was never closed.
    pub seek_free: u64,
    /// `fNbytesFree`: bytes of that record, key included.
    pub nbytes_free: u32,
    /// `fNbytesName`: bytes from `begin` to the fields of the root directory.
    pub nbytes_name: u32,
    /// `fUnits`: bytes per offset. Informational.
    pub units: u8,
    /// `fCompress`: algorithm × 100 + level. A default; each record can differ.
    pub compression: i32,
    /// `fSeekInfo`: offset of the streamer information; at most `begin` if there is none.
    pub seek_info: u64,
    /// `fNbytesInfo`: bytes of that record, key included.
    pub nbytes_info: u32,
    /// The file's UUID; zeros in very old and in reproducible files.
    pub uuid: [u8; 16],
}

impl FileHeader {
    /// Parses the first bytes of a file: at least 75, or all of a smaller file.
    ///
    /// # Errors
    /// `NotRoot` if the file is something else (the message names the likely format), `Truncated` if the
    /// header is cut off, `Corrupt` if it is inconsistent.
    pub fn parse(first_bytes: &[u8]) -> Result<FileHeader> {
        if first_bytes.get(..4) != Some(b"root") {
            return Err(not_root(first_bytes));
        }
        let mut cursor = Cursor::new(first_bytes, 0);
        cursor.skip(4)?;
        // Negative if a writer removed the mark of a large file twice.
        let version = cursor.i32()?;
        let large = version >= LARGE;
        let begin = u64::from(cursor.u32()?);
        let end = cursor.file_offset(large)?;
        let seek_free = cursor.file_offset(large)?;
        let nbytes_free = cursor.u32()?;
        cursor.skip(4)?; // nfree is advisory: FileHeader §5.4
        let nbytes_name = cursor.u32()?;
        let units = cursor.u8()?;
        let compression = cursor.i32()?;
        let seek_info = cursor.file_offset(large)?;
        let nbytes_info = cursor.u32()?;
        // The smallest old files can end before the UUID, which is not needed.
        let uuid = cursor.u16().and_then(|_| cursor.array()).unwrap_or_default();
        let header = FileHeader {
            version: version.rem_euclid(LARGE).cast_unsigned(),
            large,
            begin,
            end,
            seek_free,
            nbytes_free,
            nbytes_name,
            units,
            compression,
            seek_info,
            nbytes_info,
            uuid,
        };
        header.check()
    }

    /// True if the file has streamer information (FileHeader §5.5).
    pub fn has_streamers(&self) -> bool {
        self.seek_info > self.begin && self.nbytes_info > 0
    }

    /// The same checks as in ROOT (FileHeader §10).
    fn check(self) -> Result<FileHeader> {
        let FileHeader { begin, end, nbytes_name, .. } = self;
        if begin > end {
            Err(Error::corrupt(format!("the header states a file from {begin} to {end}")).at(8))
        } else if !(10..=10_000).contains(&nbytes_name) {
            let at = if self.large { 36 } else { 28 };
            Err(Error::corrupt(format!("the name of the file cannot have {nbytes_name} bytes")).at(at))
        } else {
            Ok(self)
        }
    }
}

/// The error for a file in another format, named if its first bytes identify it.
fn not_root(first_bytes: &[u8]) -> Error {
    let shown = &first_bytes[..first_bytes.len().min(16)];
    let starts_with = |prefix: &[u8]| {
        first_bytes
            .trim_ascii_start()
            .get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let message = if first_bytes.is_empty() {
        "the file is empty".to_owned()
    } else if starts_with(b"<!doctype html") || starts_with(b"<html") {
        return Error::new(ErrorKind::NotRoot, "this is an HTML page, not a ROOT file")
            .at(0)
            .hint("the server may have answered with a login or error page");
    } else if starts_with(b"<?xml") {
        "this is an XML document, not a ROOT file".to_owned()
    } else if b"root".starts_with(first_bytes) {
        format!("the file has only {} bytes", first_bytes.len())
    } else if first_bytes.iter().all(|&b| b == 0) {
        "this is not a ROOT file: it starts with zeros, as a file that was allocated and not written"
            .to_owned()
    } else {
        format!("this is not a ROOT file: it starts with \"{}\" and not with \"root\"", shown.escape_ascii())
    };
    Error::new(ErrorKind::NotRoot, message).at(0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The header of a file whose first record is at byte 100.
    pub(crate) fn small() -> Vec<u8> {
        let mut bytes = b"root".to_vec();
        for word in [64_004_u32, 100, 1094, 993, 101, 1, 150] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.push(4);
        for word in [505_u32, 398, 434] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.extend([0, 1]);
        bytes.extend(1..=16);
        bytes
    }

    #[test]
    fn a_small_header() {
        let header = FileHeader::parse(&small()).unwrap();
        assert_eq!((header.version, header.large, header.begin, header.end), (64_004, false, 100, 1094));
        assert_eq!((header.seek_free, header.nbytes_free, header.nbytes_name), (993, 101, 150));
        assert_eq!((header.compression, header.seek_info, header.nbytes_info), (505, 398, 434));
        assert_eq!(header.uuid[15], 16);
    }

    #[test]
    fn a_large_header_has_wide_offsets() {
        // As in a 5.25 GB file of ROOT 5.19 (root-io-spec LargeFiles §5).
        let mut bytes = b"root".to_vec();
        bytes.extend(1_051_903_u32.to_be_bytes());
        bytes.extend(100_u32.to_be_bytes());
        bytes.extend(5_253_395_573_u64.to_be_bytes());
        bytes.extend(105_159_358_u64.to_be_bytes());
        for word in [826_u32, 51, 72] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.push(8);
        bytes.extend(0_u32.to_be_bytes());
        bytes.extend(105_191_774_u64.to_be_bytes());
        bytes.extend(4488_u32.to_be_bytes());
        bytes.extend([0; 18]);
        assert_eq!(bytes.len() as u64, HEADER_LEN);
        let header = FileHeader::parse(&bytes).unwrap();
        assert_eq!((header.version, header.large, header.end), (51_903, true, 5_253_395_573));
        assert_eq!((header.nbytes_name, header.seek_info, header.nbytes_info), (72, 105_191_774, 4488));
    }

    #[test]
    fn a_negative_version_is_a_small_header() {
        let mut bytes = small();
        bytes[4..8].copy_from_slice(&(-938_200_i32).to_be_bytes());
        let header = FileHeader::parse(&bytes).unwrap();
        assert_eq!((header.version, header.large, header.end), (61_800, false, 1094));
    }

    #[test]
    fn what_it_is_instead() {
        for (bytes, says) in [
            (&b""[..], "empty"),
            (b"ro", "only 2 bytes"),
            (b"\n<!DOCTYPE HTML><html>", "HTML"),
            (b"PAR1....", "\"PAR1....\""),
            (b"\x89HDF\r\n\x1a\n", "\\x89HDF"),
            (&[0; 100], "zeros"),
        ] {
            let error = FileHeader::parse(bytes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotRoot);
            assert!(error.to_string().contains(says), "{error}");
        }
    }

    #[test]
    fn a_header_that_is_cut_off_or_contradicts_itself() {
        assert_eq!(FileHeader::parse(&small()[..30]).unwrap_err().kind(), ErrorKind::Truncated);
        let mut bytes = small();
        bytes[8] = 1;
        assert_eq!(FileHeader::parse(&bytes).unwrap_err().kind(), ErrorKind::Corrupt);
        let mut bytes = small();
        bytes[28] = 1;
        assert_eq!(FileHeader::parse(&bytes).unwrap_err().offset(), Some(28));
    }
}
