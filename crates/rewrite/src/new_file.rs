//! What every new file has in common: directories made by path, bytes handed to the sink, and the end of the file.

use sapwood_core::{Result, WORK};
use sapwood_sink::Sink;
use sapwood_tfile::write::{DirectoryId, FileWriter};
use std::time::Instant;

/// The directory at a path, created with this title (default: its name) if it is missing; `""` is the top directory.
pub(crate) fn directory(file: &mut FileWriter, path: &str, title: Option<&str>) -> Result<DirectoryId> {
    let mut directory = file.top();
    let mut names = path.split('/').filter(|name| !name.is_empty()).peekable();
    while let Some(name) = names.next() {
        let title = title.filter(|_| names.peek().is_none()).unwrap_or(name);
        directory = match file.find_directory(directory, name) {
            Some(found) => found,
            None => file.directory(directory, name, title)?,
        };
    }
    Ok(directory)
}

/// Hands the sink all bytes that are ready.
pub(crate) fn flush(file: &mut FileWriter, sink: &mut dyn Sink) -> Result<()> {
    file.take().into_iter().try_for_each(|piece| timed(|| sink.write(piece)))
}

/// Writes the end of the file, which the sink does not commit yet. Returns the size of the file in bytes.
pub(crate) fn finish(file: FileWriter, sink: &mut dyn Sink) -> Result<u64> {
    let mut bytes = file.end();
    for piece in file.finish()? {
        bytes = bytes.max(piece.end());
        timed(|| sink.write(piece))?;
    }
    Ok(bytes)
}

/// Does what waits for the sink, and counts the time.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    WORK.write.add_time(start.elapsed());
    result
}
