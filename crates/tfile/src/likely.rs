//! Finds a tree at the end of a file while the key list, stored elsewhere, is still being fetched.

use crate::{FileHeader, Key, Record, TFile};
use bytes::Bytes;
use sapwood_core::{ByteRange, Segments};

const CLASS: &[u8] = b"\x05TTree";
/// Bytes of a key before its strings: with 4-byte offsets, and with 8-byte ones.
const FIXED: [usize; 2] = [26, 34];

impl TFile {
    /// The key and the record of the tree `name` of the top directory in the known end of the file; of any
    /// tree if `name` is `None`. If there are several cycles, the highest one found.
    ///
    /// Only the key list shows whether the tree was deleted, or has a higher cycle elsewhere. `None` if no
    /// complete record is known, or if it is invalid.
    ///
    /// ```
    /// use sapwood_core::Segments;
    /// use sapwood_tfile::TFile;
    ///
    /// assert!(TFile::likely_tree(&Segments::default(), 1 << 20, None).is_none());
    /// ```
    pub fn likely_tree(known: &Segments, size: u64, name: Option<&str>) -> Option<(Key, Record)> {
        let header = FileHeader::parse(&known.get_from(0)).ok()?;
        let end = known.ranges().filter(|range| range.end() == size).max_by_key(|range| range.len)?;
        let bytes = known.get(end)?;
        let key = places(&bytes)
            .filter_map(|at| key_at(&bytes, end.start, at))
            .filter(|key| key.parent == header.begin && name.is_none_or(|name| key.name == name))
            .max_by_key(|key| key.cycle)?;
        let range = ByteRange { start: key.offset, len: u64::from(key.nbytes) };
        let record = Record::decode(&key, &known.get(range)?).ok()?;
        Some((key, record))
    }
}

/// Positions of the class name.
fn places(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes.windows(CLASS.len()).enumerate().filter(|(_, window)| *window == CLASS).map(|(at, _)| at)
}

/// The key of a complete record with its class name at `at` and the correct offset.
fn key_at(bytes: &Bytes, offset: u64, at: usize) -> Option<Key> {
    FIXED.into_iter().find_map(|fixed| {
        let start = at.checked_sub(fixed)?;
        let record = bytes.get(start..)?;
        let place = offset + start as u64;
        let key = Key::parse_at(record, place).ok()?;
        // `parse_at` accepts an offset of 0 for any.
        let own = key.offset == place && record.len() >= key.nbytes as usize;
        (own && key.class_name == "TTree" && !key.name.is_empty()).then_some(key)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::tests::small;
    use crate::key::tests::key_bytes;

    fn file(records: &[(u32, u32, &str, &str)], size: usize) -> Segments {
        let mut bytes = small();
        bytes.resize(size, 0);
        for &(offset, parent, class, name) in records {
            let mut record = key_bytes(offset, parent, class, name, 8);
            record.extend([7; 8]);
            let at = offset as usize;
            bytes[at..at + record.len()].copy_from_slice(&record);
        }
        let mut known = Segments::default();
        known.insert(0, Bytes::from(bytes[..100].to_vec()));
        known.insert(400, Bytes::from(bytes[400..].to_vec()));
        known
    }

    #[test]
    fn a_tree_at_the_end_is_seen() {
        let known =
            file(&[(500, 100, "TTree", "a"), (700, 100, "TTree", "b"), (800, 100, "TH1F", "h")], 1000);
        let named =
            |name| TFile::likely_tree(&known, 1000, name).map(|(key, record)| (key.offset, record.payload));
        assert_eq!(named(Some("a")), Some((500, Bytes::from_static(&[7; 8]))));
        assert_eq!(named(Some("b")).unwrap().0, 700);
        assert!(named(None).is_some());
        assert!(named(Some("h")).is_none() && named(Some("c")).is_none());
    }

    #[test]
    fn what_is_no_whole_record_of_the_top_directory_is_not() {
        let none =
            |records: &[_], size| TFile::likely_tree(&file(records, size), size as u64, None).is_none();
        assert!(none(&[(500, 200, "TTree", "below")], 1000));
        assert!(none(&[(300, 100, "TTree", "before")], 1000));
        let mut known = file(&[(500, 100, "TTree", "a")], 1000);
        assert!(TFile::likely_tree(&known, 1001, None).is_none());
        // A deleted record: its length is negative.
        let mut bytes = known.get(ByteRange { start: 400, len: 600 }).unwrap().to_vec();
        bytes[100] = 0xff;
        known = file(&[], 1000);
        known.insert(399, Bytes::from([&[0], &bytes[..]].concat()));
        assert!(TFile::likely_tree(&known, 1000, None).is_none());
    }
}
