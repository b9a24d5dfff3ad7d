//! An open file: its header, its root directory, and access to everything else.

use crate::header::HEADER_LEN;
use crate::reader::{Extent, Reader};
use crate::{Directory, FileHeader, Key, Record, StreamerInfos, free, recent_streamers};
use bytes::Bytes;
use sapwood_core::{ByteRange, Error, ErrorKind, ParseStep, Result, Segments};

/// Bytes at the start of a file that a caller should have before [`TFile::open`]: they hold the header and
/// the root directory.
pub const HEAD_LEN: u64 = 4 * 1024;
/// Bytes at the end of a file that a caller should have before [`TFile::open`]: they hold, in most files,
/// the keys and the streamer information.
pub const TAIL_LEN: u64 = 256 * 1024;

/// A ROOT file: its header and its root directory.
///
/// No method does I/O: each takes the known segments of the file, and returns either its value or the ranges
/// that it needs. The caller fetches those, adds them, and calls again.
///
/// ```
/// use bytes::Bytes;
/// use sapwood_core::{ErrorKind, Result, Segments, ParseStep};
/// use sapwood_tfile::TFile;
///
/// fn open(data: &Bytes) -> Result<TFile> {
///     let mut known = Segments::default();
///     loop {
///         match TFile::open(&known, data.len() as u64)? {
///             ParseStep::Done(file) => return Ok(file),
///             ParseStep::Need(ranges) => {
///                 for range in ranges {
///                     let part = data.slice(range.start as usize..range.end() as usize);
///                     known.insert(range.start, part);
///                 }
///             }
///         }
///     }
/// }
///
/// let error = open(&Bytes::from_static(b"PAR1, another format")).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::NotRoot);
/// ```
#[derive(Debug, Clone)]
pub struct TFile {
    /// The header.
    pub header: FileHeader,
    /// The root directory and its keys.
    pub root: Directory,
    /// Size of the file in bytes.
    pub size: u64,
}

impl TFile {
    /// Reads the header, the root directory and its keys of a file of `size` bytes.
    ///
    /// Call it with the first [`HEAD_LEN`] and the last [`TAIL_LEN`] bytes if you can have them together:
    /// most files then open without another round trip. If the list of keys must be fetched, the streamer
    /// information is requested with it.
    ///
    /// # Errors
    /// `NotRoot` if it is something else; `Truncated` if the file ends before what is needed here, or was
    /// never closed by its writer; `Corrupt` if it is inconsistent.
    pub fn open(known: &Segments, size: u64) -> Result<ParseStep<TFile>> {
        let Some(first) = known.get(ByteRange { start: 0, len: size.min(HEADER_LEN) }) else {
            return Ok(ParseStep::Need(vec![ByteRange { start: 0, len: size.min(HEAD_LEN) }]));
        };
        let header = FileHeader::parse(&first)?;
        let mut reader = Reader::new(known, Extent { size, announced: header.end });
        let root = Directory::read(&mut reader, header.begin, header.nbytes_name)?;
        if reader.is_waiting() && header.has_streamers() {
            reader.ask_ahead(header.seek_info, u64::from(header.nbytes_info));
        }
        if let Some(root) = &root
            && root.key_list.is_none()
            && header.seek_free == 0
        {
            return Err(Error::new(
                ErrorKind::Truncated,
                "the file has no list of keys: it was never closed",
            )
            .hint("its writer may still be at work or have crashed; ROOT can recover such a file"));
        }
        Ok(reader.finish(root.map(|root| TFile { header, root, size })))
    }

    /// Reads the descriptions of all classes in the file. Empty if the file has none.
    ///
    /// # Errors
    /// `Truncated`, `Corrupt` or `Checksum`, with the offset.
    pub fn streamers(&self, known: &Segments) -> Result<ParseStep<StreamerInfos>> {
        let parse =
            |bytes: &Bytes| recent_streamers::parse(bytes, self.header.seek_info, self.header.version);
        self.with_streamers_record(known, parse).map(|step| step.map(Option::unwrap_or_default))
    }

    /// Reads the record of the class descriptions, which [`write::Descriptions`](crate::write::Descriptions)
    /// can copy. `None` if the file has none.
    ///
    /// # Errors
    /// `Truncated`, `Corrupt` or `Checksum`, with the offset.
    pub fn streamers_record(&self, known: &Segments) -> Result<ParseStep<Option<Record>>> {
        let offset = self.header.seek_info;
        self.with_streamers_record(known, |bytes| Record::decode(&Key::parse_at(bytes, offset)?, bytes))
    }

    /// Parses the bytes of the record of the class descriptions. `None` if the file has none.
    fn with_streamers_record<T>(
        &self,
        known: &Segments,
        parse: impl FnOnce(&Bytes) -> Result<T>,
    ) -> Result<ParseStep<Option<T>>> {
        let FileHeader { seek_info, nbytes_info, .. } = self.header;
        if !self.header.has_streamers() {
            return Ok(ParseStep::Done(None));
        }
        let mut reader = self.reader(known);
        let bytes = reader.get(seek_info, u64::from(nbytes_info), "the streamer information")?;
        let parsed = bytes.map(|bytes| parse(&bytes)).transpose()?;
        Ok(reader.finish(parsed.map(Some)))
    }

    /// Reads the object that a key names, decompressed.
    ///
    /// # Errors
    /// `Truncated`, `Corrupt` or `Checksum`, with the offset.
    pub fn record(&self, known: &Segments, key: &Key) -> Result<ParseStep<Record>> {
        let mut reader = self.reader(known);
        let record = Record::read(&mut reader, key)?;
        Ok(reader.finish(record))
    }

    /// The range of the record of a key, key included.
    ///
    /// # Errors
    /// `Truncated` or `Corrupt` if that is beyond the end of the file.
    pub fn record_range(&self, key: &Key) -> Result<ByteRange> {
        self.extent().range(key.offset, u64::from(key.nbytes), &format!("'{}'", key.name))
    }

    /// Returns the unused parts of the file, whose bytes have no meaning; empty if the file has no list of
    /// them.
    ///
    /// # Errors
    /// `Truncated` or `Corrupt`, with the offset.
    pub fn free_segments(&self, known: &Segments) -> Result<ParseStep<Vec<ByteRange>>> {
        let FileHeader { begin, end, seek_free, nbytes_free, .. } = self.header;
        if seek_free <= begin {
            return Ok(ParseStep::Done(Vec::new()));
        }
        let mut reader = self.reader(known);
        let bytes = reader.get(seek_free, u64::from(nbytes_free), "the list of free segments")?;
        let segments = bytes.map(|bytes| free::parse(&bytes, seek_free, end));
        Ok(reader.finish(segments.transpose()?))
    }

    pub(crate) fn reader<'a>(&self, known: &'a Segments) -> Reader<'a> {
        Reader::new(known, self.extent())
    }

    fn extent(&self) -> Extent {
        Extent { size: self.size, announced: self.header.end }
    }
}
