//! Writes a file: places its records, and writes its lists at the end.

use super::directory::{self, DirectoryRecord, ListedKey};
use super::free::{self, BIG_FILE};
use super::key::{NewKey, RecordExtent};
use super::{Descriptions, FileStamp, RecordBuffer, header};
use crate::{FileHeader, Key};
use bytes::Bytes;
use sapwood_codec::{Compression, with_encoder};
use sapwood_core::{ByteRange, Error, ErrorKind, FilePiece, Result};

/// `fBEGIN`: where the first record lies.
const BEGIN: u64 = 100;
/// The version of ROOT whose format is written.
const VERSION: u32 = 64_004;
/// Objects up to this length are not compressed, baskets aside (root-io-spec Compression §6).
const SMALL: usize = 256;
/// Keys are wide in files longer than this: a record may be placed up to 1 GB after it was prepared.
const WIDE_FROM: u64 = BIG_FILE / 2;
/// ROOT's names in the record of the streamer information.
const STREAMERS: [&str; 3] = ["TList", "StreamerInfo", "Doubly linked list"];

/// Writes the container of a file, without I/O: [`take`](FileWriter::take) returns the pieces to write.
///
/// ```
/// use sapwood_codec::Compression;
/// use sapwood_tfile::write::{FileWriter, FileStamp};
/// let mut file = FileWriter::new("hello.root", "", Compression::default(), FileStamp::now())?;
/// let top = file.top();
/// let placed = file.object(top, "TObjString", "greeting", "", |buffer| {
///     buffer.object(1, |buffer| {
///         buffer.tobject(0);
///         buffer.tstring("hello");
///     });
/// })?;
/// assert_eq!(placed.offset, file.end() - u64::from(placed.bytes));
/// let mut pieces = file.take();
/// pieces.extend(file.finish()?);
/// assert_eq!(pieces.last().map(|piece| piece.offset), Some(0));
/// # Ok::<(), sapwood_core::Error>(())
/// ```
#[derive(Debug)]
pub struct FileWriter {
    pub(super) header: FileHeader,
    pub(super) stamp: FileStamp,
    pub(super) compression: Compression,
    pub(super) directories: Vec<DirectoryRecord>,
    pub(super) free: Vec<ByteRange>,
    pub(super) descriptions: Descriptions,
    pub(super) waiting: Vec<FilePiece>,
    /// The state of a resumed file before; `None` for a new one.
    pub(super) baseline: Option<Baseline>,
}

/// The state of a resumed file before any change.
#[derive(Debug)]
pub(super) struct Baseline {
    /// Its end.
    pub(super) end: u64,
    /// The number of its class descriptions.
    pub(super) descriptions: usize,
}

/// A directory of a [`FileWriter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DirectoryId(usize);

/// The position of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordPosition {
    /// Offset of the record.
    pub offset: u64,
    /// Bytes of its key.
    pub key_len: u32,
    /// Bytes of the record, key included.
    pub bytes: u32,
    /// Its cycle.
    pub cycle: i16,
}

impl FileWriter {
    /// A new file. `name` is what ROOT shows as its name, usually without the directories; `compression`
    /// applies to objects, and is announced in the header.
    ///
    /// # Errors
    /// `Limit` if the name or the title is too long.
    pub fn new(name: &str, title: &str, compression: Compression, stamp: FileStamp) -> Result<FileWriter> {
        let key = NewKey::new("TFile", name, title, false);
        let mut strings = RecordBuffer::new(0);
        strings.tstring(name);
        strings.tstring(title);
        let strings = strings.finish()?;
        let nbytes_name = key.len().saturating_add(u32::try_from(strings.len()).unwrap_or(u32::MAX));
        if nbytes_name > 10_000 {
            // ROOT refuses to open such a file: root-io-spec FileHeader §10.
            return Err(Error::new(ErrorKind::Limit, "the name and the title of the file are too long")
                .hint("together they can have 4,900 characters"));
        }
        // The key of the top directory has no parent: WritingFiles §4.1.
        let payload_len = strings.len() + directory::FIELDS_LEN;
        let place = RecordExtent {
            offset: BEGIN,
            parent: 0,
            cycle: 1,
            datime: stamp.time,
            payload_len,
            object_len: payload_len,
        };
        let top = DirectoryRecord::new(&key, place, nbytes_name, stamp.uuid);
        let header = FileHeader {
            version: VERSION,
            large: false,
            begin: BEGIN,
            end: BEGIN,
            seek_free: 0,
            nbytes_free: 0,
            nbytes_name,
            units: 4,
            compression: compression.number(),
            seek_info: 0,
            nbytes_info: 0,
            uuid: stamp.uuid,
        };
        let mut file = FileWriter {
            header,
            stamp,
            compression,
            directories: Vec::new(),
            free: Vec::new(),
            descriptions: Descriptions::default(),
            waiting: Vec::new(),
            baseline: None,
        };
        let mut head = header::bytes(&file.header, 1)?;
        head.resize(usize::try_from(BEGIN).unwrap_or_default(), 0);
        head.extend(key.image(&place, &[])?);
        head.extend(strings);
        head.extend(top.fields(stamp.time)?);
        file.directories.push(top);
        file.header.end = 0;
        file.append(head.into(), true);
        Ok(file)
    }

    /// The top directory.
    pub fn top(&self) -> DirectoryId {
        DirectoryId(0)
    }

    /// Where the next record will be placed.
    pub fn end(&self) -> u64 {
        self.header.end
    }

    /// True if new keys must have 8-byte offsets. It becomes true at 1 GB, so that a record prepared with a
    /// narrow key can be placed within another gigabyte.
    pub fn wide(&self) -> bool {
        self.header.end > WIDE_FROM
    }

    /// The compression of objects.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// The class descriptions to write: the classes of all objects in the file must be added.
    pub fn descriptions(&mut self) -> &mut Descriptions {
        &mut self.descriptions
    }

    /// The directory with a name in another one, if it exists.
    pub fn find_directory(&self, parent: DirectoryId, name: &str) -> Option<DirectoryId> {
        let parent = self.directories.get(parent.0)?;
        let found = self.directories.iter().skip(1).position(|d| d.parent == parent.offset && d.name == name);
        found.map(|index| DirectoryId(index + 1))
    }

    /// The key with a name in a directory, with the highest cycle.
    ///
    /// # Errors
    /// `Corrupt` if the file was resumed, and the key is invalid.
    pub fn key(&self, directory: DirectoryId, name: &str) -> Result<Option<Key>> {
        let keys = self.get(directory)?.keys.iter().filter(|key| key.name == name);
        keys.max_by_key(|key| key.cycle.unsigned_abs()).map(ListedKey::key).transpose()
    }

    /// Creates a directory in another one.
    ///
    /// # Errors
    /// `Usage` if its name is empty, has a slash, or is taken.
    pub fn directory(&mut self, parent: DirectoryId, name: &str, title: &str) -> Result<DirectoryId> {
        if name.is_empty() || name.contains('/') {
            return Err(Error::usage(format!("a directory cannot be called '{name}'")));
        }
        if self.get(parent)?.keys.iter().any(|key| key.name == name) {
            return Err(Error::usage(format!("'{name}' already exists")));
        }
        // The class is TDirectoryFile, but the file has TDirectory: WritingFiles §5.2.
        let key = NewKey::new("TDirectory", name, title, self.wide());
        let len = directory::FIELDS_LEN;
        let place = self.place(parent, 1, &key, len, len)?;
        let (record, directory) = directory::record(&key, place, &self.stamp)?;
        let image = record.get(..key.len() as usize).unwrap_or_default().to_vec();
        self.append(record.into(), true);
        self.list(parent, &key, 1, image.into())?;
        self.directories.push(directory);
        Ok(DirectoryId(self.directories.len() - 1))
    }

    /// Places the record of an object and lists it in a directory. `payload` is stored unchanged; it is
    /// compressed if it is shorter than `object_len`, the length of the object.
    ///
    /// # Errors
    /// `Limit` if the record is too long, or the key is narrow and the file too long for it.
    pub fn record(
        &mut self,
        directory: DirectoryId,
        key: &NewKey,
        payload: Bytes,
        object_len: usize,
    ) -> Result<RecordPosition> {
        let (_, cycle) = self.get(directory)?.next(&key.name, key.cycle);
        let (placed, image) = self.put(directory, key, cycle, &[], vec![payload], object_len)?;
        self.list(directory, key, cycle, image)?;
        Ok(placed)
    }

    /// Places a record that no directory lists, such as a basket, which its tree locates. `fields` are the
    /// fields of its class in the key, after the strings.
    ///
    /// # Errors
    /// As [`record`](FileWriter::record).
    pub fn unlisted(
        &mut self,
        directory: DirectoryId,
        key: &NewKey,
        fields: &[u8],
        payload: Bytes,
        object_len: usize,
    ) -> Result<RecordPosition> {
        let cycle = key.cycle.unwrap_or(1);
        Ok(self.put(directory, key, cycle, fields, vec![payload], object_len)?.0)
    }

    /// Places parts of bytes behind each other in a record of class `RBlob`, which an RNTuple locates. Returns the
    /// offset of the first of them.
    ///
    /// # Errors
    /// `Limit` if the record is too long.
    pub fn blob(&mut self, directory: DirectoryId, parts: Vec<Bytes>) -> Result<u64> {
        // Keys of blobs have 8-byte offsets in files of any size.
        let key = NewKey::new("RBlob", "", "", true);
        let len = parts.iter().map(Bytes::len).sum();
        let (placed, _) = self.put(directory, &key, 1, &[], parts, len)?;
        Ok(placed.offset + u64::from(placed.key_len))
    }

    /// Reserves the range of a record that an earlier writer of the same file placed here and no directory
    /// lists; returns its position.
    pub fn pass(&mut self, bytes: u32) -> u64 {
        let offset = self.header.end;
        self.header.end += u64::from(bytes);
        offset
    }

    /// Reserves the range of a [`blob`](FileWriter::blob) of this many bytes that an earlier writer of the same file
    /// placed here; returns the offset of the first of them.
    ///
    /// # Errors
    /// `Limit` if it is too long.
    pub fn pass_blob(&mut self, bytes: u64) -> Result<u64> {
        let key_len = NewKey::new("RBlob", "", "", true).len();
        let len = u32::try_from(bytes).ok().and_then(|bytes| bytes.checked_add(key_len));
        let len = len.ok_or_else(|| Error::new(ErrorKind::Limit, "a record is too long"))?;
        Ok(self.pass(len) + u64::from(key_len))
    }

    /// Removes a key from a directory's list; its record becomes a free segment.
    ///
    /// # Errors
    /// `Missing` if it does not exist, `Usage` if it is a directory.
    pub fn remove(&mut self, directory: DirectoryId, name: &str, cycle: u16) -> Result<()> {
        let is_it = |listed: &ListedKey| listed.name == name && listed.cycle.unsigned_abs() == cycle;
        let Some(at) = self.get(directory)?.keys.iter().position(is_it) else {
            return Err(Error::new(ErrorKind::Missing, format!("there is no '{name};{cycle}'")));
        };
        let key = self.get(directory)?.keys.get(at).map(ListedKey::key).transpose()?;
        if let (Some(key), Some(directory)) = (key, self.directories.get_mut(directory.0)) {
            if key.is_directory() {
                return Err(Error::usage(format!("'{name}' is a directory and cannot be removed")));
            }
            directory.keys.remove(at);
            directory.changed = true;
            self.release(key.offset, key.nbytes);
        }
        Ok(())
    }

    /// Writes an object, compressed with the file's compression, and lists it: `object` writes its payload.
    ///
    /// # Errors
    /// As [`record`](FileWriter::record).
    pub fn object(
        &mut self,
        directory: DirectoryId,
        class_name: &str,
        name: &str,
        title: &str,
        object: impl FnOnce(&mut RecordBuffer),
    ) -> Result<RecordPosition> {
        let key = NewKey::new(class_name, name, title, self.wide());
        let mut buffer = RecordBuffer::new(key.len());
        object(&mut buffer);
        let (payload, object_len) = self.compressed(buffer.finish()?)?;
        self.record(directory, &key, payload, object_len)
    }

    /// The pieces to write since the last call, in order.
    pub fn take(&mut self) -> Vec<FilePiece> {
        std::mem::take(&mut self.waiting)
    }

    /// Finishes the file: the class descriptions, the key lists, the free segments; then the provisional
    /// bytes again, the header last. In a [resumed](FileWriter::resume) file, the header comes before the
    /// records of directories, which refer to bytes behind the old end. For an unchanged file, there are no
    /// pieces.
    ///
    /// # Errors
    /// `Limit` if a list is too long.
    pub fn finish(mut self) -> Result<Vec<FilePiece>> {
        if self.is_unchanged() {
            return Ok(Vec::new());
        }
        self.finish_streamers()?;
        let directories = self.directories.iter().enumerate();
        let changed: Vec<_> = directories.filter(|(_, d)| d.changed).map(|(index, _)| index).collect();
        for &index in &changed {
            self.finish_keys(DirectoryId(index))?;
        }
        let free_segments = self.finish_free()?;
        let bytes = header::bytes(&self.header, free_segments)?.into();
        let head = FilePiece { offset: 0, bytes, provisional: false };
        let records =
            changed.iter().rev().filter_map(|&index| self.directories.get(index)).map(|directory| {
                let offset = directory.offset + u64::from(directory.fields_at);
                Ok(FilePiece { offset, bytes: directory.fields(self.stamp.time)?.into(), provisional: false })
            });
        let records = records.collect::<Result<Vec<_>>>()?;
        if self.baseline.is_some() {
            self.waiting.push(head);
            self.waiting.extend(records);
        } else {
            self.waiting.extend(records);
            self.waiting.push(head);
        }
        Ok(self.waiting)
    }

    fn finish_streamers(&mut self) -> Result<()> {
        if let Some(before) = &self.baseline {
            if before.descriptions == self.descriptions.len() {
                return Ok(());
            }
            self.release(self.header.seek_info, self.header.nbytes_info);
        }
        let [class_name, name, title] = STREAMERS;
        let key = NewKey::new(class_name, name, title, self.wide());
        let mut buffer = RecordBuffer::new(key.len());
        self.descriptions.write(&mut buffer);
        let (payload, object_len) = self.compressed(buffer.finish()?)?;
        let placed = self.unlisted(self.top(), &key, &[], payload, object_len)?;
        self.header.seek_info = placed.offset;
        self.header.nbytes_info = placed.bytes;
        Ok(())
    }

    fn finish_keys(&mut self, id: DirectoryId) -> Result<()> {
        let directory = self.get(id)?;
        let class_name = if id == self.top() { "TFile" } else { "TDirectory" };
        let key = NewKey::new(class_name, &directory.name, &directory.title, self.wide());
        let payload = Bytes::from(directory.key_list()?);
        let object_len = payload.len();
        let placed = self.unlisted(id, &key, &[], payload, object_len)?;
        let directory = self.get(id)?;
        self.release(directory.seek_keys, directory.nbytes_keys);
        if let Some(directory) = self.directories.get_mut(id.0) {
            directory.seek_keys = placed.offset;
            directory.nbytes_keys = placed.bytes;
        }
        Ok(())
    }

    /// Places the list of free segments, which includes itself and determines the end of the file.
    fn finish_free(&mut self) -> Result<usize> {
        self.release(self.header.seek_free, self.header.nbytes_free);
        let top = self.get(self.top())?;
        let key = NewKey::new("TFile", &top.name, &top.title, self.wide());
        let mut len = 0;
        let payload = loop {
            let end = self.header.end + u64::from(key.len()) + len as u64;
            let payload = free::payload(&self.free, end)?;
            // The list becomes longer only if it moves the end of the file beyond the limit.
            if payload.len() <= len {
                break payload;
            }
            len = payload.len();
        };
        let placed = self.unlisted(self.top(), &key, &[], payload.into(), len)?;
        self.header.seek_free = placed.offset;
        self.header.nbytes_free = placed.bytes;
        Ok(self.free.len() + 1)
    }

    /// Segments that are free once the file is finished: nothing is written there, so that the old contents
    /// can be read until then.
    pub(super) fn release(&mut self, offset: u64, bytes: u32) {
        if offset > 0 && bytes > 0 {
            free::release(&mut self.free, ByteRange { start: offset, len: u64::from(bytes) });
        }
    }

    /// The stored bytes of an object, by the rules of ROOT, and its length.
    fn compressed(&self, object: Vec<u8>) -> Result<(Bytes, usize)> {
        let object_len = object.len();
        let mut payload = Vec::new();
        let smaller = object_len > SMALL
            && with_encoder(|encoder| encoder.compress(&object, self.compression, &mut payload))?;
        Ok((if smaller { payload } else { object }.into(), object_len))
    }

    pub(super) fn get(&self, directory: DirectoryId) -> Result<&DirectoryRecord> {
        self.directories.get(directory.0).ok_or_else(|| Error::usage("a directory of another file"))
    }

    fn place(
        &self,
        directory: DirectoryId,
        cycle: i16,
        key: &NewKey,
        payload_len: usize,
        object_len: usize,
    ) -> Result<RecordExtent> {
        let parent = self.get(directory)?.offset;
        let datime = key.datime.unwrap_or(self.stamp.time);
        Ok(RecordExtent { offset: self.header.end, parent, cycle, datime, payload_len, object_len })
    }

    fn put(
        &mut self,
        directory: DirectoryId,
        key: &NewKey,
        cycle: i16,
        fields: &[u8],
        payload: Vec<Bytes>,
        object_len: usize,
    ) -> Result<(RecordPosition, Bytes)> {
        let payload_len = payload.iter().map(Bytes::len).sum();
        let place = self.place(directory, cycle, key, payload_len, object_len)?;
        let image = Bytes::from(key.image(&place, fields)?);
        let key_len = u32::try_from(image.len()).unwrap_or(u32::MAX);
        let bytes = key_len.saturating_add(u32::try_from(payload_len).unwrap_or(u32::MAX));
        self.append(image.clone(), false);
        payload.into_iter().for_each(|part| self.append(part, false));
        Ok((RecordPosition { offset: place.offset, key_len, bytes, cycle }, image))
    }

    pub(super) fn list(
        &mut self,
        directory: DirectoryId,
        key: &NewKey,
        cycle: i16,
        image: Bytes,
    ) -> Result<()> {
        self.get(directory)?;
        if let Some(directory) = self.directories.get_mut(directory.0) {
            let (at, _) = directory.next(&key.name, Some(cycle));
            directory.keys.insert(at, ListedKey { name: key.name.clone(), cycle, image });
            directory.changed = true;
        }
        Ok(())
    }

    pub(super) fn append(&mut self, bytes: Bytes, provisional: bool) {
        if !bytes.is_empty() {
            let piece = FilePiece { offset: self.header.end, bytes, provisional };
            self.header.end = piece.end();
            self.waiting.push(piece);
        }
    }
}
