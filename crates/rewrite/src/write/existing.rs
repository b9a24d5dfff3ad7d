//! Reopens an existing local file for a writer that adds to it.

use bytes::Bytes;
use sapwood_codec::Compression;
use sapwood_core::{Call, Error, ErrorKind, ParseStep, Result, Segments, redact};
use sapwood_root::OpenOptions;
use sapwood_sink::{LocalUpdate, Sink};
use sapwood_table::write::ClusterSize;
use sapwood_tfile::write::{Datime, FileWriter};
use sapwood_tfile::{Key, Record, StreamerInfos};
use sapwood_ttree::TTree;
use sapwood_ttree::write::TreeBuilder;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

/// Compressed size of clusters in trees that have no complete cluster yet.
const CLUSTER: ClusterSize = ClusterSize::Bytes(20_000_000);

/// A file that is added to, as it was before.
#[derive(Debug)]
pub(super) struct ExistingFile {
    url: String,
    path: PathBuf,
    size: u64,
}

/// Opens a local file to add to it: the writer of its container, and the sink for the additions. Errors name the file.
pub(super) fn open_existing(
    url: &str,
    compression: Compression,
    time: Datime,
) -> Result<(FileWriter, Box<dyn Sink>, ExistingFile)> {
    let path = match url.split_once("://") {
        None => url,
        Some(("file", path)) => path,
        Some((scheme, _)) => {
            return Err(Error::unsupported(format!("cannot add to files at {scheme}://"))
                .url(redact(url))
                .hint("copy the file to a local disk, add to it, and copy it back"));
        }
    };
    let mut update = LocalUpdate::open(path)?;
    let file = read(&mut update, compression, time).map_err(|error| error.url(url))?;
    let existing = ExistingFile { url: url.to_owned(), path: path.into(), size: file.end() };
    let sink = update.sink(file.end());
    Ok((file, sink, existing))
}

fn read(update: &mut LocalUpdate, compression: Compression, time: Datime) -> Result<FileWriter> {
    let mut known = Segments::default();
    loop {
        match FileWriter::resume(&known, update.size(), Some(compression), time)? {
            ParseStep::Done(file) => return Ok(file),
            ParseStep::Need(ranges) => {
                for range in ranges {
                    known.insert(range.start, update.read(range)?);
                }
            }
        }
    }
}

impl ExistingFile {
    /// The file, to read it.
    pub(super) fn open(&self, call: &mut Call<'_>) -> Result<sapwood_root::File> {
        sapwood_root::File::open_root(&self.url, OpenOptions::default(), call)
    }

    /// A tree, restored from its record.
    pub(super) fn tree(&self, key: &Key) -> Result<TreeBuilder> {
        if key.class_name != "TTree" {
            let message =
                format!("cannot add entries to '{}': it is a {}, not a tree", key.name, key.class_name);
            return Err(Error::unsupported(message));
        }
        let record = Record::decode(key, &self.bytes(key)?)?;
        let tree = TTree::parse(
            &key.class_name,
            &record.payload,
            record.key_len,
            self.size,
            &StreamerInfos::default(),
        );
        let tree = tree.map_err(|error| record.locate("the tree", &error))?;
        TreeBuilder::resume(&tree, &record.payload, record.key_len, self.size, CLUSTER)
    }

    fn bytes(&self, key: &Key) -> Result<Bytes> {
        let len = u64::from(key.nbytes);
        if key.offset.checked_add(len).is_none_or(|end| end > self.size) {
            return Err(
                Error::corrupt(format!("'{}' extends past the end of the file", key.name)).at(key.offset)
            );
        }
        let mut bytes = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(key.offset))?;
            file.take(len).read_to_end(&mut bytes)
        });
        match read {
            Ok(_) => Ok(bytes.into()),
            Err(error) => Err(Error::new(ErrorKind::Io, format!("cannot read the file: {error}"))
                .at(key.offset)
                .caused_by(error)),
        }
    }
}
