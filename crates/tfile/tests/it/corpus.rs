//! The containers of real files are readable completely.

use crate::Fetched;
use sapwood_core::{ErrorKind, Result};
use sapwood_tfile::{FileHeader, HEAD_LEN, StreamerInfos, TAIL_LEN, TFile};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The files of the corpus, by name; `None`, and a word about it, if it is not on this machine.
pub(crate) fn files() -> Option<Vec<(String, Vec<u8>)>> {
    let default = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus"));
    let folder = std::env::var_os("SAPWOOD_CORPUS").map_or_else(default, PathBuf::from).join("files");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("SKIPPED: no corpus at {}; set SAPWOOD_CORPUS", folder.display());
        return None;
    };
    let paths: BTreeSet<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    assert!(!paths.is_empty());
    let read =
        |path: PathBuf| (path.file_name().unwrap().display().to_string(), std::fs::read(&path).unwrap());
    Some(paths.into_iter().map(read).collect())
}

/// What was found in one file.
struct Found {
    keys: usize,
    streamers: StreamerInfos,
    round_trips: usize,
}

/// Reads everything that a container has.
fn read_all(data: &[u8]) -> Result<Found> {
    let mut fetched = Fetched::new(data.to_vec()).with_head_and_tail(HEAD_LEN, TAIL_LEN);
    let size = fetched.size();
    let file = fetched.drive(|known| TFile::open(known, size))?;
    let round_trips = fetched.round_trips.len();
    let streamers = fetched.drive(|known| file.streamers(known))?;
    let entries = fetched.drive(|known| file.list(known))?;
    for entry in &entries {
        let path = format!("{};{}", entry.path, entry.key.cycle);
        assert_eq!(fetched.drive(|known| file.find(known, &path))?, entry.key, "{path}");
        let record = fetched.drive(|known| file.record(known, &entry.key))?;
        assert_eq!(record.payload.len(), entry.key.object_len as usize, "{path}");
    }
    for gap in fetched.drive(|known| file.free_segments(known))? {
        assert!(gap.end() <= file.header.end);
        assert!(entries.iter().all(|e| e.key.offset < gap.start || e.key.offset >= gap.end()));
    }
    Ok(Found { keys: entries.len(), streamers, round_trips })
}

#[test]
fn every_file_opens_and_everything_in_it_is_read() {
    let Some(files) = files() else { return };
    let (mut keys, mut infos, mut at_once) = (0, 0, 0);
    for (name, data) in &files {
        match read_all(data) {
            Ok(found) => {
                keys += found.keys;
                infos += found.streamers.iter().count();
                at_once += usize::from(found.round_trips == 0);
                assert!(found.round_trips <= 1, "{name}: {} round trips", found.round_trips);
            }
            Err(error) => {
                // A file that was never closed cannot be read, and the error says so.
                assert_eq!(error.kind(), ErrorKind::Truncated, "{name}: {error}");
                assert_eq!(FileHeader::parse(data).unwrap().seek_free, 0, "{name}: {error}");
            }
        }
    }
    eprintln!("{} files, {keys} keys, {infos} classes; {at_once} opened at once", files.len());
    assert!(keys > files.len() / 2 && infos > files.len());
    assert!(at_once * 10 > files.len() * 9, "{at_once} of {} files opened at once", files.len());
}

/// Classes whose layout is known are described as it is known.
#[test]
fn descriptions_are_right() {
    let Some(files) = files() else { return };
    let mut seen = 0;
    for (name, data) in &files {
        let Ok(Found { streamers, .. }) = read_all(data) else { continue };
        if let Some(named) = streamers.newest("TNamed").filter(|info| info.version == 1) {
            let names: Vec<_> = named.elements.iter().map(|e| (e.name.as_str(), e.type_code)).collect();
            assert_eq!(names, [("TObject", 66), ("fName", 65), ("fTitle", 65)], "{name}");
            assert!(
                streamers.derives_from("TNamed", "TObject") && !streamers.derives_from("TNamed", "TTree")
            );
            seen += 1;
        }
        for info in streamers.iter() {
            for element in &info.elements {
                let items: u64 = element.array_dims.iter().map(|&dim| u64::from(dim)).product();
                let expected = if element.array_length == 0 { 1 } else { u64::from(element.array_length) };
                assert_eq!(items, expected, "{name}: {}::{}", info.name, element.name);
                let known = matches!(element.type_code, -1..=19 | 21..=59 | 61..=71 | 81..=91 | 300 | 320 | 500..=521);
                assert!(known, "{name}: {}::{} has type {}", info.name, element.name, element.type_code);
            }
        }
    }
    assert!(seen > 100, "TNamed in {seen} files");
}
