//! Keys: the header of every record, with copies in the key list of every directory.

use crate::Cursor;
use sapwood_core::Result;

/// Versions above this have 8-byte offsets (root-io-spec Record §2).
pub(crate) const LARGE: u16 = 1000;
/// The address bits of `fSeekPdir` in a large key; the rest is `fPidOffset` (Record §3.6).
pub(crate) const ADDRESS: u64 = 0x0000_FFFF_FFFF_FFFF;
/// Bytes by which a key in an old key list can exceed its `fKeylen`: it names the class `TDirectoryFile`
/// where the record has `TDirectory` (root-io-spec Directory §6.5).
const RENAMED: usize = 4;

/// A `TKey`: where a record is, its length, and its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// `fNbytes`: bytes of the record, key included. Never less than `key_len`.
    pub nbytes: u32,
    /// `fVersion`, above 1000 if the key has 8-byte offsets.
    pub version: u16,
    /// `fObjlen`: bytes of the object after decompression.
    pub object_len: u32,
    /// `fDatime`: local time of writing, as packed by ROOT: from the top, 6 bits for the years since 1995,
    /// 4 for the month, 5 for the day, 5 for the hour, 6 for the minute, 6 for the second.
    pub datime: u32,
    /// `fKeylen`: bytes of the key at the head of the record.
    pub key_len: u32,
    /// `fCycle`, without the sign that marks keys to be kept.
    pub cycle: u16,
    /// `fSeekKey`: offset of the record.
    pub offset: u64,
    /// `fSeekPdir`: offset of the directory's record.
    pub parent: u64,
    /// Class of the object. A directory can be `TDirectory` or `TDirectoryFile`: the same thing.
    pub class_name: String,
    /// Name.
    pub name: String,
    /// Title.
    pub title: String,
}

impl Key {
    /// Parses a key and leaves the cursor after its strings, where the next key of a key list starts,
    /// whatever the value of `key_len` (root-io-spec Directory §6.5).
    ///
    /// # Errors
    /// `Truncated` if the bytes run out, `Corrupt` if the lengths are inconsistent.
    pub fn parse(cursor: &mut Cursor<'_>) -> Result<Key> {
        let start = cursor.position();
        let nbytes = cursor.i32()?;
        let version = cursor.u16()?;
        let object_len = cursor.i32()?;
        let datime = cursor.u32()?;
        let key_len = cursor.i16()?;
        let cycle = cursor.i16()?.unsigned_abs();
        let wide = version > LARGE;
        let (offset, parent) = (cursor.file_offset(wide)?, cursor.file_offset(wide)? & ADDRESS);
        let (Ok(nbytes), Ok(object_len), Ok(key_len)) =
            (u32::try_from(nbytes), u32::try_from(object_len), u32::try_from(key_len))
        else {
            let message = format!("a key with negative lengths: {nbytes}, {object_len}, {key_len}");
            return Err(cursor.corrupt_at(start, message));
        };
        if key_len == 0 || nbytes < key_len {
            let message = format!("a key of {key_len} bytes in a record of {nbytes} bytes");
            return Err(cursor.corrupt_at(start, message));
        }
        let class_name = cursor.tstring()?;
        let name = cursor.tstring()?;
        let title = cursor.tstring()?;
        let len = cursor.position() - start;
        if len > key_len as usize + RENAMED {
            return Err(
                cursor.corrupt_at(start, format!("a key of {len} bytes states a length of {key_len}"))
            );
        }
        Ok(Key {
            nbytes,
            version,
            object_len,
            datime,
            key_len,
            cycle,
            offset,
            parent,
            class_name,
            name,
            title,
        })
    }

    /// Parses the key at the head of the record at `offset`.
    ///
    /// # Errors
    /// As [`parse`](Key::parse), and `Corrupt` if the key states another offset.
    pub fn parse_at(record: &[u8], offset: u64) -> Result<Key> {
        let mut cursor = Cursor::new(record, 0).at_offset(offset);
        let key = Key::parse(&mut cursor)?;
        // Some writers leave the field at 0 in the file's internal records.
        if key.offset != offset && key.offset != 0 {
            let message = format!("the record at {offset} states the offset {}", key.offset);
            return Err(cursor.corrupt_at(0, message));
        }
        Ok(Key { offset, ..key })
    }

    /// Bytes of the payload, as stored.
    pub fn payload_len(&self) -> u32 {
        self.nbytes - self.key_len
    }

    /// True if the payload is compressed: the object is longer than what is stored. A payload that is
    /// longer than the object is plain, with slack behind it (root-io-spec Compression §1.1).
    pub fn is_compressed(&self) -> bool {
        self.object_len > self.payload_len()
    }

    /// True if the record is a directory.
    pub fn is_directory(&self) -> bool {
        matches!(self.class_name.as_str(), "TDirectory" | "TDirectoryFile" | "TFile")
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::write::{Datime, NewKey, RecordExtent};
    use sapwood_core::ErrorKind;

    /// The bytes of a small key with consistent lengths for a payload of `payload` bytes.
    pub(crate) fn key_bytes(offset: u32, parent: u32, class_name: &str, name: &str, payload: u32) -> Vec<u8> {
        let len = payload as usize;
        let (offset, parent) = (u64::from(offset), u64::from(parent));
        let place =
            RecordExtent { offset, parent, cycle: 1, datime: Datime(0), payload_len: len, object_len: len };
        NewKey::new(class_name, name, "title", false).image(&place, &[]).unwrap()
    }

    #[test]
    fn a_small_key() {
        let bytes = key_bytes(1000, 100, "TTree", "Events", 500);
        let key = Key::parse_at(&bytes, 1000).unwrap();
        assert_eq!(
            (key.class_name.as_str(), key.name.as_str(), key.title.as_str()),
            ("TTree", "Events", "title")
        );
        assert_eq!((key.key_len as usize, key.payload_len(), key.object_len), (bytes.len(), 500, 500));
        assert!(!key.is_compressed() && !key.is_directory());
    }

    #[test]
    fn a_large_key_hides_a_process_id_in_its_parent() {
        let small = key_bytes(7, 100, "TTree", "t", 0);
        let mut bytes = small[..18].to_vec();
        bytes[4..6].copy_from_slice(&1004_u16.to_be_bytes());
        bytes[15] += 8;
        bytes[3] += 8;
        bytes.extend(4_947_894_637_u64.to_be_bytes());
        bytes.extend((100_u64 | 3 << 48).to_be_bytes());
        bytes.extend(&small[26..]);
        let key = Key::parse_at(&bytes, 4_947_894_637).unwrap();
        assert_eq!((key.parent, key.name.as_str()), (100, "t"));
    }

    #[test]
    fn a_negative_cycle_means_keep() {
        let mut bytes = key_bytes(7, 100, "TTree", "t", 0);
        bytes[16..18].copy_from_slice(&(-3_i16).to_be_bytes());
        assert_eq!(Key::parse_at(&bytes, 7).unwrap().cycle, 3);
    }

    #[test]
    fn a_payload_with_slack_is_plain() {
        let mut bytes = key_bytes(7, 100, "RBlob", "", 50);
        bytes[9] = 40;
        assert!(!Key::parse_at(&bytes, 7).unwrap().is_compressed());
        bytes[9] = 60;
        assert!(Key::parse_at(&bytes, 7).unwrap().is_compressed());
    }

    #[test]
    fn a_key_in_the_wrong_place_or_with_impossible_lengths() {
        let bytes = key_bytes(7, 100, "TTree", "t", 0);
        let error = Key::parse_at(&bytes, 8).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Corrupt, Some(8)));
        assert_eq!(Key::parse_at(&key_bytes(0, 100, "TFile", "f", 0), 8).unwrap().offset, 8);
        for at in [0, 6, 14] {
            let mut broken = bytes.clone();
            broken[at] = 0x80;
            assert_eq!(Key::parse_at(&broken, 7).unwrap_err().kind(), ErrorKind::Corrupt, "{at}");
        }
        let mut short = bytes.clone();
        short[15] = 20;
        assert_eq!(Key::parse_at(&short, 7).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(Key::parse_at(&bytes[..20], 7).unwrap_err().kind(), ErrorKind::Truncated);
    }
}
