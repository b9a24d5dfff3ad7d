//! Directories: paths, cycles, listings, and shapes that no writer makes.

use crate::Fetched;
use crate::handmade::{BEGIN, Item, file};
use sapwood_core::{ErrorKind, Result};
use sapwood_tfile::{Key, KeyEntry, TFile};

fn object(name: &'static str, cycle: u16) -> Item {
    Item::Object("TTree", name, cycle, vec![u8::try_from(cycle).unwrap()])
}

fn opened(items: &[Item]) -> (Fetched, TFile) {
    let mut fetched = Fetched::new(file(items, None));
    let size = fetched.size();
    let opened = fetched.drive(|known| TFile::open(known, size)).unwrap();
    fetched.round_trips.clear();
    (fetched, opened)
}

fn nested() -> (Fetched, TFile) {
    opened(&[
        object("Events", 2),
        object("Events", 1),
        Item::Directory("one", vec![object("a/b", 3), Item::Directory("deep", vec![object("Runs", 1)])]),
        Item::Directory("two", vec![object("Runs", 7), Item::Directory("empty", vec![])]),
    ])
}

fn find(fetched: &mut Fetched, file: &TFile, path: &str) -> Result<Key> {
    fetched.drive(|known| file.find(known, path))
}

fn list(fetched: &mut Fetched, file: &TFile) -> Result<Vec<KeyEntry>> {
    fetched.drive(|known| file.list(known))
}

#[test]
fn paths_and_cycles() {
    let (mut fetched, file) = nested();
    for (path, name, cycle) in [
        ("Events", "Events", 2),
        ("Events;1", "Events", 1),
        ("Events;*", "Events", 2),
        ("/one/deep/Runs", "Runs", 1),
        ("one;1/deep;1/Runs;1", "Runs", 1),
        ("two/Runs", "Runs", 7),
        ("one/a/b", "a/b", 3),
        ("one/deep", "deep", 1),
        ("two/", "two", 1),
    ] {
        let key = find(&mut fetched, &file, path).unwrap();
        assert_eq!((key.name.as_str(), key.cycle), (name, cycle), "{path}");
    }
}

#[test]
fn what_is_missing_and_what_is_there() {
    let (mut fetched, file) = nested();
    for (path, says) in [
        ("Event", "holds 'Events', 'one', 'two'"),
        ("Events;3", "no 'Events;3'"),
        ("two/empty/x", "is empty"),
        ("two/Runs/x", "should hold 'Runs/x'"),
        ("three/x", "no 'three/x'"),
        ("", "no ''"),
    ] {
        let error = find(&mut fetched, &file, path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Missing);
        assert!(error.to_string().contains(says), "{path}: {error}");
    }
}

#[test]
fn a_record_is_what_its_key_says() {
    let (mut fetched, file) = nested();
    let key = find(&mut fetched, &file, "two/Runs").unwrap();
    let record = fetched.drive(|known| file.record(known, &key)).unwrap();
    assert_eq!((&record.payload[..], record.offset, record.compressed), (&[7][..], key.offset, false));
}

#[test]
fn all_keys_with_the_directories_of_a_level_together() {
    let (fetched, file) = nested();
    let mut fetched = Fetched::new(fetched.data);
    let entries = list(&mut fetched, &file).unwrap();
    let paths: Vec<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
    let expected =
        ["Events", "Events", "one", "one/a/b", "one/deep", "one/deep/Runs", "two", "two/Runs", "two/empty"];
    assert_eq!(paths, expected);
    // Per level the two records, then their two key lists.
    assert_eq!(fetched.round_trips.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 2, 2]);
}

#[test]
fn a_directory_that_holds_itself() {
    let link = Item::Link("loop", BEGIN);
    let (mut fetched, file) = opened(&[Item::Directory("one", vec![link])]);
    let error = list(&mut fetched, &file).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Corrupt, Some(u64::from(BEGIN))));
    assert!(find(&mut fetched, &file, &"loop/one/".repeat(10_000)).is_err());
}

#[test]
fn a_path_through_a_loop_ends() {
    // The fields of a directory lie behind its key, so a loop needs a key as long as the first one.
    let (_, file) = opened(&[Item::Directory("one", vec![])]);
    let offset = u32::try_from(file.root.keys[0].offset).unwrap();
    let (mut fetched, file) = opened(&[Item::Directory("one", vec![Item::Link("two", offset)])]);
    assert!(find(&mut fetched, &file, "one/two/two").is_ok());
    let error = find(&mut fetched, &file, &format!("one/{}x", "two/".repeat(10_000))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(list(&mut fetched, &file).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn directories_deeper_than_is_real() {
    let deep = |depth| (0..depth).fold(vec![], |items, _| vec![Item::Directory("d", items)]);
    let (mut fetched, file) = opened(&deep(100));
    assert_eq!(list(&mut fetched, &file).unwrap().len(), 100);
    let (mut fetched, file) = opened(&deep(102));
    assert_eq!(list(&mut fetched, &file).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn a_directory_that_says_it_lies_elsewhere() {
    let (fetched, file) = nested();
    let key = file.root.key("one", None).unwrap();
    let mut bytes = fetched.data.to_vec();
    bytes[usize::try_from(key.offset + u64::from(key.key_len)).unwrap() + 20] ^= 1;
    let mut fetched = Fetched::new(bytes);
    let error = find(&mut fetched, &file, "one/deep").unwrap_err();
    assert_eq!(
        (error.kind(), error.offset()),
        (ErrorKind::Corrupt, Some(key.offset + u64::from(key.key_len)))
    );
}
