//! The file that is written.

use sapwood_core::Result;
use sapwood_source::sink::Sink;
use sapwood_tfile::write::{DirectoryId, FileWriter};

/// A new file, and where it goes.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) file: FileWriter,
    sink: Box<dyn Sink>,
}

impl Output {
    pub(crate) fn new(file: FileWriter, sink: Box<dyn Sink>) -> Output {
        Output { file, sink }
    }

    /// Gives the sink what is to be written.
    pub(crate) fn hand_on(&mut self) -> Result<()> {
        self.file.take().into_iter().try_for_each(|piece| self.sink.write(piece))
    }

    /// The directory of a path, made with this title if it is not there.
    pub(crate) fn directory(&mut self, path: &str, title: Option<&str>) -> Result<DirectoryId> {
        let mut directory = self.file.top();
        let mut names = path.split('/').filter(|name| !name.is_empty()).peekable();
        while let Some(name) = names.next() {
            let title = title.filter(|_| names.peek().is_none()).unwrap_or(name);
            directory = match self.file.find_directory(directory, name) {
                Some(found) => found,
                None => self.file.directory(directory, name, title)?,
            };
        }
        Ok(directory)
    }

    /// Ends the file and puts it in its place; the number of its bytes.
    pub(crate) fn commit(mut self) -> Result<u64> {
        let mut bytes = self.file.end();
        for piece in self.file.finish()? {
            bytes = bytes.max(piece.end());
            self.sink.write(piece)?;
        }
        self.sink.commit()?;
        Ok(bytes)
    }
}
