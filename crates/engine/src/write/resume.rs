//! A local file that is there, taken up again by a writer.

use sapwood_codec::Compression;
use sapwood_core::{Error, Result, Segments, Step};
use sapwood_source::redact;
use sapwood_source::sink::{LocalUpdate, Sink};
use sapwood_tfile::write::{Datime, FileWriter};

/// The writer of the container of a local file, and the sink for what is added; errors name the file.
pub(super) fn resume(
    url: &str,
    compression: Compression,
    time: Datime,
) -> Result<(FileWriter, Box<dyn Sink>)> {
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
    let sink = update.sink(file.end());
    Ok((file, sink))
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
