//! A local file that is there, taken up again by a writer.

use bytes::Bytes;
use sapwood_codec::Compression;
use sapwood_core::{Error, ErrorKind, Result, Segments, Step, redact};
use sapwood_sink::{LocalUpdate, Sink};
use sapwood_tfile::write::{Datime, FileWriter};
use sapwood_tfile::{Key, Record, StreamerInfos};
use sapwood_ttree::TTree;
use sapwood_ttree::write::{ClusterSize, TreeBuilder};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

/// Bytes that a cluster has, after compression, in trees of which none has ended yet.
const CLUSTER: ClusterSize = ClusterSize::Bytes(20_000_000);

/// A file as it was before it was added to.
#[derive(Debug)]
pub(super) struct Before {
    path: PathBuf,
    size: u64,
}

/// The writer of the container of a local file, and the sink for what is added; errors name the file.
pub(super) fn resume(
    url: &str,
    compression: Compression,
    time: Datime,
) -> Result<(FileWriter, Box<dyn Sink>, Before)> {
    let path = match url.split_once("://") {
        None => url,
        Some(("file", path)) => path,
        Some((scheme, _)) => {
            return Err(Error::unsupported(format!("files at {scheme}:// cannot be added to"))
                .url(redact(url))
                .hint("copy the file here, add to it, and copy it back"));
        }
    };
    let mut update = LocalUpdate::open(path)?;
    let file = read(&mut update, compression, time).map_err(|error| error.url(url))?;
    let before = Before { path: path.into(), size: file.end() };
    let sink = update.sink(file.end());
    Ok((file, sink, before))
}

fn read(update: &mut LocalUpdate, compression: Compression, time: Datime) -> Result<FileWriter> {
    let mut known = Segments::default();
    loop {
        match FileWriter::resume(&known, update.size(), Some(compression), time)? {
            Step::Done(file) => return Ok(file),
            Step::Need(ranges) => {
                for range in ranges {
                    known.insert(range.start, update.read(range)?);
                }
            }
        }
    }
}

impl Before {
    /// A tree, taken up again from its record.
    pub(super) fn tree(&self, key: &Key) -> Result<TreeBuilder> {
        if key.class_name != "TTree" {
            let message =
                format!("'{}' is a {}: entries can only be added to trees", key.name, key.class_name);
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
                Error::corrupt(format!("'{}' lies behind the end of the file", key.name)).at(key.offset)
            );
        }
        let mut bytes = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(key.offset))?;
            file.take(len).read_to_end(&mut bytes)
        });
        match read {
            Ok(_) => Ok(bytes.into()),
            Err(error) => Err(Error::new(ErrorKind::Io, format!("the file cannot be read: {error}"))
                .at(key.offset)
                .caused_by(error)),
        }
    }
}
