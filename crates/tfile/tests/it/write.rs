//! Written files read as they were written.

use crate::Fetched;
use bytes::Bytes;
use sapwood_codec::Compression;
use sapwood_core::FilePiece;
use sapwood_tfile::write::{Datime, FileStamp, FileWriter, NewKey};
use sapwood_tfile::{ElementKind, StreamerElement, StreamerInfo, TFile};

const ORIGIN: FileStamp =
    FileStamp { time: Datime(2_079_000_000), uuid: *b"\x01\x02\x03\x04\x05\x06\x47\x08\x89abcdefg" };

pub(crate) fn new_file() -> FileWriter {
    FileWriter::new("test.root", "a title", Compression::default(), ORIGIN).unwrap()
}

/// Puts the pieces where they belong, and checks that they keep the rules of [`FilePiece`].
fn assemble(pieces: Vec<FilePiece>) -> Bytes {
    let mut file: Vec<u8> = Vec::new();
    let mut provisional = Vec::new();
    for piece in pieces {
        let start = usize::try_from(piece.offset).unwrap();
        let range = piece.offset..piece.end();
        if start == file.len() {
            file.extend_from_slice(&piece.bytes);
            if piece.provisional {
                provisional.push(range);
            }
        } else {
            let said = provisional
                .iter()
                .any(|p: &std::ops::Range<u64>| p.start <= range.start && range.end <= p.end);
            assert!(said, "{range:?} is written again, and nobody said so");
            file[start..start + piece.bytes.len()].copy_from_slice(&piece.bytes);
        }
    }
    file.into()
}

pub(crate) fn finished(mut file: FileWriter) -> Fetched {
    let mut pieces = file.take();
    pieces.extend(file.finish().unwrap());
    Fetched::new(assemble(pieces))
}

pub(crate) fn open(fetched: &mut Fetched) -> TFile {
    let size = fetched.size();
    fetched.drive(|known| TFile::open(known, size)).unwrap()
}

pub(crate) fn string(
    file: &mut FileWriter,
    directory: sapwood_tfile::write::DirectoryId,
    name: &str,
    text: &str,
) {
    file.object(directory, "TObjString", name, "Collectable string class", |buffer| {
        buffer.object(1, |buffer| {
            buffer.tobject(0);
            buffer.tstring(text);
        });
    })
    .unwrap();
}

pub(crate) fn text_of(fetched: &mut Fetched, file: &TFile, path: &str) -> String {
    let key = fetched.drive(|known| file.find(known, path)).unwrap();
    let record = fetched.drive(|known| file.record(known, &key)).unwrap();
    let (_, mut body) = record.cursor().read_object().unwrap();
    body.tobject().unwrap();
    body.tstring().unwrap()
}

#[test]
fn an_empty_file() {
    let mut fetched = finished(new_file());
    let file = open(&mut fetched);
    assert_eq!(file.header.end, fetched.size());
    assert_eq!((file.header.version, file.header.compression, file.header.uuid), (64_004, 505, ORIGIN.uuid));
    assert!(file.root.keys.is_empty());
    assert!(fetched.drive(|known| file.streamers(known)).unwrap().is_empty());
    assert!(fetched.drive(|known| file.free_segments(known)).unwrap().is_empty());
}

#[test]
fn objects_cycles_and_directories() {
    let mut writer = new_file();
    let top = writer.top();
    string(&mut writer, top, "greeting", "hello");
    let inner = writer.directory(top, "inner", "a directory").unwrap();
    let deep = writer.directory(inner, "deep", "deep").unwrap();
    string(&mut writer, top, "greeting", "hello again");
    string(&mut writer, deep, "long", &"x".repeat(5000));
    assert_eq!(writer.find_directory(top, "inner"), Some(inner));
    assert_eq!(writer.find_directory(top, "deep"), None);
    assert!(writer.directory(top, "inner", "").is_err());
    assert!(writer.directory(top, "a/b", "").is_err());
    let mut fetched = finished(writer);
    let file = open(&mut fetched);
    let keys: Vec<_> = file.root.keys.iter().map(|key| (key.name.as_str(), key.cycle)).collect();
    // The newest cycle first: ROOT takes the first of a name.
    assert_eq!(keys, [("greeting", 2), ("greeting", 1), ("inner", 1)]);
    assert_eq!(text_of(&mut fetched, &file, "greeting"), "hello again");
    assert_eq!(text_of(&mut fetched, &file, "greeting;1"), "hello");
    assert_eq!(text_of(&mut fetched, &file, "inner/deep/long"), "x".repeat(5000));
    let key = fetched.drive(|known| file.find(known, "inner/deep/long")).unwrap();
    let deep = fetched.drive(|known| file.find(known, "inner/deep")).unwrap();
    assert!(key.is_compressed() && key.parent == deep.offset);
    let uuid =
        fetched.data[usize::try_from(deep.offset + u64::from(deep.key_len)).unwrap()..][32..48].to_vec();
    assert_ne!(uuid, ORIGIN.uuid);
}

#[test]
fn the_chain_of_records_has_no_gap() {
    let mut writer = new_file();
    let top = writer.top();
    for i in 0..10 {
        string(&mut writer, top, "name", &"text ".repeat(i * 100));
    }
    writer.directory(top, "inner", "").unwrap();
    let mut fetched = finished(writer);
    let file = open(&mut fetched);
    let mut at = file.header.begin;
    let mut records = 0;
    while at < file.header.end {
        let bytes = &fetched.data[usize::try_from(at).unwrap()..];
        at += u64::from(sapwood_tfile::Key::parse_at(bytes, at).unwrap().nbytes);
        records += 1;
    }
    // The top directory, ten texts, a directory, the descriptions, two lists of keys, the free segments.
    assert_eq!((at, records), (file.header.end, 16));
}

#[test]
fn a_record_that_is_not_listed_keeps_its_fields() {
    let mut writer = new_file();
    let top = writer.top();
    let key = NewKey { cycle: Some(7), ..NewKey::new("TBasket", "x", "tree", false) };
    let fields = [1; 19];
    let placed = writer.unlisted(top, &key, &fields, Bytes::from_static(b"payload"), 7).unwrap();
    assert_eq!((placed.key_len, placed.bytes), (key.len() + 19, key.len() + 19 + 7));
    let mut fetched = finished(writer);
    let file = open(&mut fetched);
    assert!(file.root.keys.is_empty());
    let record = &fetched.data[usize::try_from(placed.offset).unwrap()..];
    let read = sapwood_tfile::Key::parse_at(record, placed.offset).unwrap();
    assert_eq!((read.key_len, read.payload_len(), read.cycle), (placed.key_len, 7, 7));
    assert_eq!(&record[key.len() as usize..placed.bytes as usize], [&fields[..], b"payload"].concat());
}

#[test]
fn the_same_content_gives_the_same_bytes() {
    let write = || {
        let mut writer = new_file();
        let top = writer.top();
        string(&mut writer, top, "greeting", "hello");
        writer.directory(top, "inner", "").unwrap();
        finished(writer).data
    };
    assert_eq!(write(), write());
}

#[test]
fn a_file_of_more_than_two_gigabytes() {
    let mut writer = new_file();
    let top = writer.top();
    // The pieces are not put together: 64 times the same memory.
    let large = Bytes::from(vec![0; 64 << 20]);
    let mut kept = writer.take();
    for i in 0_i16..40 {
        let wide = writer.wide();
        assert_eq!(wide, i > 14);
        let key = NewKey { cycle: Some(i), ..NewKey::new("TBasket", "x", "tree", wide) };
        let placed = writer.unlisted(top, &key, &[0; 19], large.clone(), large.len()).unwrap();
        assert!(placed.offset >= u64::from(i.unsigned_abs()) * (64 << 20));
        kept.extend(writer.take().into_iter().filter(|piece| piece.bytes.len() < 1000));
    }
    string(&mut writer, top, "greeting", "hello");
    let inner = writer.directory(top, "inner", "").unwrap();
    string(&mut writer, inner, "greeting", "hello there");
    kept.extend(writer.take());
    kept.extend(writer.finish().unwrap());
    let mut known = sapwood_core::Segments::default();
    let mut head: Vec<u8> = kept[0].bytes.to_vec();
    let end = kept.iter().map(FilePiece::end).max().unwrap();
    for piece in &kept {
        match usize::try_from(piece.offset) {
            Ok(start) if start + piece.bytes.len() <= head.len() => {
                head[start..start + piece.bytes.len()].copy_from_slice(&piece.bytes);
            }
            _ => {}
        }
    }
    // What is after the large records, put together.
    let tail_at =
        kept.iter().filter(|piece| piece.offset > 40 * (64 << 20)).map(|piece| piece.offset).min().unwrap();
    let mut tail = vec![0; usize::try_from(end - tail_at).unwrap()];
    for piece in kept.iter().filter(|piece| piece.offset >= tail_at) {
        let start = usize::try_from(piece.offset - tail_at).unwrap();
        tail[start..start + piece.bytes.len()].copy_from_slice(&piece.bytes);
    }
    known.insert(0, head.into());
    known.insert(tail_at, tail.into());
    let sapwood_core::ParseStep::Done(file) = TFile::open(&known, end).unwrap() else {
        panic!("bytes are missing")
    };
    assert!(file.header.large && file.header.end == end && file.header.units == 8);
    let names: Vec<_> = file.root.keys.iter().map(|key| (key.name.as_str(), key.version)).collect();
    assert_eq!(names, [("greeting", 1004), ("inner", 1004)]);
    let sapwood_core::ParseStep::Done(key) = file.find(&known, "inner/greeting").unwrap() else {
        panic!("bytes are missing")
    };
    assert_eq!(key.parent, file.root.keys[1].offset);
    let sapwood_core::ParseStep::Done(free) = file.free_segments(&known).unwrap() else {
        panic!("bytes are missing")
    };
    assert!(free.is_empty());
}

fn description() -> StreamerInfo {
    let element = |name: &str, kind, type_code, type_name: &str| StreamerElement {
        title: "what it is".to_owned(),
        size: 4,
        ..StreamerElement::new(name, kind, type_code, type_name)
    };
    StreamerInfo {
        name: "Hit".to_owned(),
        version: 3,
        checksum: 0xDEAD_BEEF,
        format: 9,
        without_tobject: false,
        elements: vec![
            element("TObject", ElementKind::Base { version: 1, checksum: 0x901b_c02d }, 66, "BASE"),
            element("x", ElementKind::BasicType, 3, "int"),
            element("y", ElementKind::Stl { stl_type: 1, content_type: 5 }, 300, "vector<float>"),
            element("s", ElementKind::StlString, 300, "string"),
        ],
    }
}

#[test]
fn descriptions_are_written_and_taken_over() {
    let mut writer = new_file();
    writer.descriptions().add(&description()).unwrap();
    writer.descriptions().add(&description()).unwrap();
    let mut fetched = finished(writer);
    let file = open(&mut fetched);
    let read = fetched.drive(|known| file.streamers(known)).unwrap();
    assert_eq!(read.iter().collect::<Vec<_>>(), [&description()]);

    let mut second = new_file();
    let record = fetched.drive(|known| file.streamers_record(known)).unwrap().unwrap();
    second.descriptions().add_record(&record, file.header.version).unwrap();
    assert!(second.descriptions().has("Hit", 3, 0xDEAD_BEEF));
    let copy = finished(second);
    assert_eq!(copy.data, fetched.data);
}
