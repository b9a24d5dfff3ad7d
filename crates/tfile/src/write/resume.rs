//! Resumes an existing file: new records go after its end, and its contents stay unchanged.

use super::directory::{DirectoryRecord, ListedKey};
use super::file::Baseline;
use super::{Datime, Descriptions, FileStamp, FileWriter};
use crate::directory::{Directory, keys_with_ranges};
use crate::find::MAX_DEPTH;
use crate::header::HEADER_LEN;
use crate::reader::Reader;
use crate::{Key, TFile};
use sapwood_codec::Compression;
use sapwood_core::{ByteRange, Error, ErrorKind, ParseStep, Result, Segments};
use std::collections::{HashMap, HashSet};

/// The oldest ROOT whose directories leave room for larger offsets (root-io-spec Directory §7.1).
const OLDEST: u32 = 40_000;

impl FileWriter {
    /// Resumes a file of `size` bytes: records go after its end; before that, only the header and the records
    /// of changed directories are written. These come from [`finish`](FileWriter::finish), in an order in
    /// which the file can be read after each of them. `compression` applies to objects; `None` takes that of
    /// the file's header.
    ///
    /// # Errors
    /// As [`TFile::open`]; `Truncated` if the file is shorter than its header states, `Unsupported` if it was
    /// written by a ROOT version before 4.
    pub fn resume(
        known: &Segments,
        size: u64,
        compression: Option<Compression>,
        time: Datime,
    ) -> Result<ParseStep<FileWriter>> {
        let file = match TFile::open(known, size)? {
            ParseStep::Done(file) => file,
            ParseStep::Need(ranges) => return Ok(ParseStep::Need(ranges)),
        };
        check(&file)?;
        let (streamers, free) = (file.streamers_record(known)?, file.free_segments(known)?);
        let directories = DirectoryWalk::through(&file, known)?;
        let (record, free, directories) = match (streamers, free, directories) {
            (ParseStep::Done(record), ParseStep::Done(free), ParseStep::Done(directories)) => {
                (record, free, directories)
            }
            (streamers, free, directories) => {
                let missing = [needed(streamers), needed(free), needed(directories)];
                return Ok(ParseStep::Need(missing.concat()));
            }
        };
        let mut descriptions = Descriptions::default();
        if let Some(record) = &record {
            descriptions.add_record(record, file.header.version)?;
        }
        let announced = Compression::from_number(file.header.compression).unwrap_or_default();
        Ok(ParseStep::Done(FileWriter {
            baseline: Some(Baseline { end: file.header.end, descriptions: descriptions.len() }),
            stamp: FileStamp { time, uuid: file.header.uuid },
            header: file.header,
            compression: compression.unwrap_or(announced),
            directories,
            free,
            descriptions,
            waiting: Vec::new(),
        }))
    }

    /// The paths of all listed keys, without cycles, with the keys: those of a directory before those in its
    /// subdirectories.
    ///
    /// # Errors
    /// `Corrupt` if a key of a resumed file is invalid.
    pub fn paths(&self) -> Result<Vec<(String, Key)>> {
        let mut found = Vec::new();
        let mut at = HashMap::from([(self.header.begin, String::new())]);
        for directory in &self.directories {
            let before = at.get(&directory.offset).cloned().unwrap_or_default();
            for listed in &directory.keys {
                let key = listed.key()?;
                let path = format!("{before}{}", key.name);
                if key.is_directory() {
                    at.insert(key.offset, format!("{path}/"));
                }
                found.push((path, key));
            }
        }
        Ok(found)
    }

    /// True if nothing was changed.
    pub(super) fn is_unchanged(&self) -> bool {
        self.baseline.as_ref().is_some_and(|before| {
            before.end == self.header.end
                && before.descriptions == self.descriptions.len()
                && self.directories.iter().all(|directory| !directory.changed)
        })
    }
}

fn check(file: &TFile) -> Result<()> {
    let header = &file.header;
    if header.version < OLDEST || header.begin < HEADER_LEN {
        return Err(Error::unsupported("cannot add to files written by a ROOT version before 4")
            .hint("copy its contents to a new file"));
    }
    if header.end > file.size {
        let message = format!("the file ends at {}; its header states {}", file.size, header.end);
        return Err(Error::new(ErrorKind::Truncated, message)
            .hint("it was cut off, or its writer did not finish: cannot add to it"));
    }
    Ok(())
}

fn needed<T>(step: ParseStep<T>) -> Vec<ByteRange> {
    match step {
        ParseStep::Need(ranges) => ranges,
        ParseStep::Done(_) => Vec::new(),
    }
}

/// A walk through all directories, the top one first.
struct DirectoryWalk<'a> {
    reader: Reader<'a>,
    visited: HashSet<u64>,
    /// Total length of the lists so far. In a valid file they do not overlap, which bounds the walk.
    list_bytes: u64,
    found: Vec<DirectoryRecord>,
}

impl DirectoryWalk<'_> {
    fn through(file: &TFile, known: &Segments) -> Result<ParseStep<Vec<DirectoryRecord>>> {
        let mut walk = DirectoryWalk {
            reader: file.reader(known),
            visited: HashSet::new(),
            list_bytes: 0,
            found: Vec::new(),
        };
        let header = &file.header;
        let fields_at = header.nbytes_name;
        if let Some(bytes) = walk.reader.get(header.begin, u64::from(fields_at), "the name of the file")? {
            let key = Key::parse_at(&bytes, header.begin)?;
            let room = key.nbytes.saturating_sub(fields_at) as usize;
            walk.add(DirectoryRecord { offset: header.begin, fields_at, room, ..named(key) }, 0)?;
        }
        let DirectoryWalk { reader, found, .. } = walk;
        let complete = !reader.is_waiting();
        Ok(reader.finish(complete.then_some(found)))
    }

    /// Adds a directory, of which the fields known from its key are given, and its subdirectories. If bytes are
    /// missing, it continues, so that they are requested together.
    fn add(&mut self, known: DirectoryRecord, depth: usize) -> Result<()> {
        let (name, offset) = (&known.name, known.offset);
        if !self.visited.insert(offset) || depth > MAX_DEPTH {
            let message = format!("the directory '{name}' is in the file twice, or contains itself");
            return Err(Error::corrupt(message).at(offset));
        }
        let Some(read) = Directory::read(&mut self.reader, offset, known.fields_at)? else { return Ok(()) };
        let list = read.key_list.unwrap_or(ByteRange { start: 0, len: 0 });
        self.list_bytes = self.list_bytes.saturating_add(list.len);
        if self.list_bytes > self.reader.size() {
            return Err(Error::corrupt("the lists of keys overlap").at(list.start));
        }
        let mut keys = Vec::new();
        if list.len > 0 {
            let Some(record) = self.reader.get(list.start, list.len, "the list of keys")? else {
                return Ok(());
            };
            for (key, range) in keys_with_ranges(&record, list.start)? {
                // The sign marks a key that ROOT keeps.
                let cycle = i16::try_from(key.cycle).unwrap_or(i16::MAX);
                keys.push(ListedKey { name: key.name, cycle, image: record.slice(range) });
            }
        }
        self.found.push(DirectoryRecord {
            created: Datime(read.created),
            uuid: read.uuid.unwrap_or_default(),
            keys,
            seek_keys: list.start,
            nbytes_keys: u32::try_from(list.len).unwrap_or(u32::MAX),
            ..known
        });
        for key in read.keys.into_iter().filter(Key::is_directory) {
            let (at, fields_at, room) = (key.offset, key.key_len, key.payload_len() as usize);
            let below = DirectoryRecord { offset: at, parent: offset, fields_at, room, ..named(key) };
            self.add(below, depth + 1)?;
        }
        Ok(())
    }
}

fn named(key: Key) -> DirectoryRecord {
    DirectoryRecord { name: key.name, title: key.title, ..DirectoryRecord::default() }
}
