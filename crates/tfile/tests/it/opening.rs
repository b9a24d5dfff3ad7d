//! Opening a file: the number of round trips, and the errors for files that cannot be opened.

use crate::Fetched;
use crate::handmade::{BEGIN, Item, file};
use sapwood_core::{ByteRange, ErrorKind};
use sapwood_tfile::{HEAD_LEN, TFile};

/// A `TList` without entries: the streamer information of a file that needs none.
const EMPTY_LIST: [u8; 21] = [0x40, 0, 0, 17, 0, 5, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// A file whose keys lie neither in its first nor in its last bytes.
fn long_file() -> Vec<u8> {
    let filler = || Item::Object("X", "filler", 1, vec![0; 10_000]);
    let mut bytes = file(&[filler(), filler()], Some(&EMPTY_LIST));
    bytes.extend([0; 10_000]);
    bytes
}

#[test]
fn a_file_of_which_nothing_is_known() {
    let mut fetched = Fetched::new(long_file());
    let size = fetched.size();
    let opened = fetched.drive(|known| TFile::open(known, size)).unwrap();
    assert_eq!(opened.root.keys.len(), 2);
    assert_eq!(opened.root.uuid, Some([7; 16]));
    assert_eq!(fetched.round_trips[0], [ByteRange { start: 0, len: HEAD_LEN }]);
    // The streamer information comes with the keys.
    assert_eq!(fetched.round_trips.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2]);
    assert!(fetched.drive(|known| opened.streamers(known)).unwrap().is_empty());
    assert_eq!(fetched.round_trips.len(), 2);
}

#[test]
fn head_and_tail_are_enough() {
    let mut fetched = Fetched::new(long_file()).with_head_and_tail(HEAD_LEN, 10_500);
    let size = fetched.size();
    let opened = fetched.drive(|known| TFile::open(known, size)).unwrap();
    fetched.drive(|known| opened.streamers(known)).unwrap();
    fetched.drive(|known| opened.free_segments(known)).unwrap();
    assert!(fetched.round_trips.is_empty());
    assert!(opened.header.end < size, "bytes behind fEND are no error");
}

#[test]
fn a_file_without_streamer_information() {
    let mut fetched = Fetched::new(file(&[], None));
    let size = fetched.size();
    let opened = fetched.drive(|known| TFile::open(known, size)).unwrap();
    assert!(fetched.drive(|known| opened.streamers(known)).unwrap().is_empty());
}

#[test]
fn a_file_that_was_cut_off() {
    let whole = file(&[Item::Object("X", "x", 1, vec![0; 5000])], None);
    let error_of = |len: usize| {
        let mut fetched = Fetched::new(whole[..len].to_vec());
        fetched.drive(|known| TFile::open(known, len as u64)).unwrap_err()
    };
    for len in [50, 70, 99, 120, 200, 3000] {
        assert_eq!(error_of(len).kind(), ErrorKind::Truncated, "{len}");
    }
    let text = error_of(3000).to_string();
    assert!(text.contains("ends at 3000") && text.contains(&whole.len().to_string()), "{text}");
    assert_eq!(error_of(0).kind(), ErrorKind::NotRoot);
}

/// What a reader does not need may be missing: here the list of free segments.
#[test]
fn a_file_that_was_cut_off_behind_what_is_needed() {
    let mut whole = file(&[Item::Object("X", "x", 1, vec![1; 50])], None);
    whole.truncate(whole.len() - 5);
    let mut fetched = Fetched::new(whole);
    let size = fetched.size();
    let opened = fetched.drive(|known| TFile::open(known, size)).unwrap();
    assert!(opened.header.end > size);
    let record = fetched.drive(|known| opened.record(known, &opened.root.keys[0])).unwrap();
    assert_eq!(&record.payload[..], [1; 50]);
    let error = fetched.drive(|known| opened.free_segments(known)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
}

#[test]
fn a_file_that_was_never_closed() {
    let mut bytes = file(&[], None);
    bytes[16..20].fill(0); // fSeekFree
    let fields = BEGIN as usize + u32::from_be_bytes(bytes[28..32].try_into().unwrap()) as usize;
    bytes[fields + 26..fields + 30].fill(0); // fSeekKeys
    let mut fetched = Fetched::new(bytes);
    let size = fetched.size();
    let error = fetched.drive(|known| TFile::open(known, size)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
    assert!(error.to_string().contains("never closed"), "{error}");
}

#[test]
fn a_record_beyond_the_end() {
    let mut fetched = Fetched::new(file(&[Item::Object("X", "x", 1, vec![0; 5])], None));
    let size = fetched.size();
    let opened = fetched.drive(|known| TFile::open(known, size)).unwrap();
    let mut key = opened.root.keys[0].clone();
    key.offset = 1 << 40;
    assert_eq!(opened.record_range(&key).unwrap_err().kind(), ErrorKind::Corrupt);
    key.offset = u64::MAX;
    assert_eq!(opened.record(&fetched.known, &key).unwrap_err().kind(), ErrorKind::Corrupt);
}
