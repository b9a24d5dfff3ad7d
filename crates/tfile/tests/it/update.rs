//! Adding to existing files.

use crate::Fetched;
use crate::write::{finished, new_file, open, string, text_of};
use bytes::Bytes;
use sapwood_core::{ByteRange, ErrorKind, FilePiece, Result};
use sapwood_tfile::write::{Datime, FileWriter};

const LATER: Datime = Datime(2_080_000_000);

fn resume(fetched: &mut Fetched) -> Result<FileWriter> {
    let size = fetched.size();
    fetched.drive(|known| FileWriter::resume(known, size, None, LATER))
}

/// The file after each of the pieces that were written, of which those before the old end come last.
fn states(old: &Bytes, pieces: Vec<FilePiece>) -> Vec<Fetched> {
    let end = old.len() as u64;
    let (held, behind): (Vec<_>, Vec<_>) = pieces.into_iter().partition(|piece| piece.offset < end);
    let mut file = old.to_vec();
    for piece in behind {
        let start = usize::try_from(piece.offset).unwrap();
        let len = file.len().max(start + piece.bytes.len());
        file.resize(len, 0);
        file[start..start + piece.bytes.len()].copy_from_slice(&piece.bytes);
    }
    let mut states = vec![Fetched::new(file.clone())];
    for piece in held {
        let start = usize::try_from(piece.offset).unwrap();
        file[start..start + piece.bytes.len()].copy_from_slice(&piece.bytes);
        states.push(Fetched::new(file.clone()));
    }
    states
}

fn ended(mut writer: FileWriter) -> Vec<FilePiece> {
    let mut pieces = writer.take();
    pieces.extend(writer.finish().unwrap());
    pieces
}

/// A file with `greeting` and `inner/deep/thought`.
fn old() -> Fetched {
    let mut writer = new_file();
    let top = writer.top();
    string(&mut writer, top, "greeting", "hello");
    let inner = writer.directory(top, "inner", "a directory").unwrap();
    let deep = writer.directory(inner, "deep", "deep").unwrap();
    string(&mut writer, deep, "thought", "42");
    finished(writer)
}

#[test]
fn what_was_there_and_what_was_added() {
    let mut old = old();
    let mut writer = resume(&mut old).unwrap();
    let top = writer.top();
    let inner = writer.find_directory(top, "inner").unwrap();
    let deep = writer.find_directory(inner, "deep").unwrap();
    string(&mut writer, top, "greeting", "hello again");
    string(&mut writer, deep, "answer", "to what?");
    let added = writer.directory(inner, "added", "").unwrap();
    string(&mut writer, added, "note", "new");
    assert_eq!(writer.key(deep, "thought").unwrap().unwrap().cycle, 1);
    let pieces = ended(writer);
    assert!(pieces.iter().all(|piece| piece.offset >= old.size() || piece.bytes.len() <= 75));
    let mut states = states(&old.data, pieces);
    let mut fetched = states.pop().unwrap();
    let file = open(&mut fetched);
    assert_eq!((file.header.end, file.header.uuid), (fetched.size(), open(&mut old).header.uuid));
    for (path, text) in [
        ("greeting", "hello again"),
        ("greeting;1", "hello"),
        ("inner/deep/thought", "42"),
        ("inner/deep/answer", "to what?"),
        ("inner/added/note", "new"),
    ] {
        assert_eq!(text_of(&mut fetched, &file, path), text);
    }
    // The lists that others took the place of, and nothing else.
    let free = fetched.drive(|known| file.free_segments(known)).unwrap();
    assert!(!free.is_empty() && free.iter().all(|range| range.end() <= old.size()));
}

#[test]
fn a_writer_that_stops_at_any_moment_leaves_the_old_content() {
    let mut old = old();
    let mut writer = resume(&mut old).unwrap();
    let top = writer.top();
    let inner = writer.find_directory(top, "inner").unwrap();
    string(&mut writer, inner, "new", "new");
    string(&mut writer, top, "greeting", "hello again");
    let states = states(&old.data, ended(writer));
    assert_eq!(states.len(), 4); // the header and two directories
    for mut state in states {
        let file = open(&mut state);
        assert_eq!(text_of(&mut state, &file, "greeting;1"), "hello");
        assert_eq!(text_of(&mut state, &file, "inner/deep/thought"), "42");
        state.drive(|known| file.list(known)).unwrap();
    }
}

#[test]
fn a_file_that_was_not_changed_is_not_written() {
    let mut old = old();
    assert!(ended(resume(&mut old).unwrap()).is_empty());
}

#[test]
fn what_is_removed_becomes_free() {
    let mut old = old();
    let mut writer = resume(&mut old).unwrap();
    let top = writer.top();
    let key = writer.key(top, "greeting").unwrap().unwrap();
    assert_eq!(writer.remove(top, "greeting", 2).unwrap_err().kind(), ErrorKind::Missing);
    assert_eq!(writer.remove(top, "inner", 1).unwrap_err().kind(), ErrorKind::Usage);
    writer.remove(top, "greeting", 1).unwrap();
    let mut fetched = states(&old.data, ended(writer)).pop().unwrap();
    let file = open(&mut fetched);
    assert!(file.root.keys.iter().all(|key| key.name != "greeting"));
    let free = fetched.drive(|known| file.free_segments(known)).unwrap();
    let range = ByteRange { start: key.offset, len: u64::from(key.nbytes) };
    assert!(free.iter().any(|free| free.start <= range.start && range.end() <= free.end()));
}

#[test]
fn it_can_be_taken_up_many_times() {
    let mut fetched = old();
    for round in 0..5 {
        let mut writer = resume(&mut fetched).unwrap();
        let top = writer.top();
        string(&mut writer, top, "greeting", &format!("round {round}"));
        fetched = states(&fetched.data, ended(writer)).pop().unwrap();
    }
    let file = open(&mut fetched);
    assert_eq!(text_of(&mut fetched, &file, "greeting"), "round 4");
    assert_eq!(text_of(&mut fetched, &file, "greeting;6"), "round 4");
    assert_eq!(text_of(&mut fetched, &file, "greeting;1"), "hello");
}

#[test]
fn a_file_that_was_cut_off_is_refused() {
    let old = old();
    let cut = old.data.len() - 10;
    let error = resume(&mut Fetched::new(old.data.slice(..cut))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated, "{error}");
}
