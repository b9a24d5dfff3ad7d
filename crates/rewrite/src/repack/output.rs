//! The file that is written.

use super::options::RepackReport;
use super::journal::{BasketTreatment, Placement, RepackJournal, Stage};
use super::output_tree::OutputTree;
use sapwood_core::{Error, Result};
use sapwood_sink::Sink;
use sapwood_tfile::write::{DirectoryId, FileWriter};

/// A new file, and where it goes.
#[derive(Debug)]
pub struct OutputFile {
    /// The new file.
    pub file: FileWriter,
    sink: Box<dyn Sink>,
    /// What is noted for a later run of the same job.
    pub progress: RepackJournal,
}

impl OutputFile {
    /// A file that is begun anew.
    pub fn new(file: FileWriter, sink: Box<dyn Sink>) -> OutputFile {
        OutputFile::going_on(file, sink, RepackJournal::none())
    }

    /// A file of which an earlier run may have written a part.
    pub fn going_on(file: FileWriter, sink: Box<dyn Sink>, progress: RepackJournal) -> OutputFile {
        OutputFile { file, sink, progress }
    }

    /// Gives the sink what is to be written.
    pub fn hand_on(&mut self) -> Result<()> {
        self.file.take().into_iter().try_for_each(|piece| self.sink.write(piece))
    }

    /// Hands a basket on that was placed.
    pub fn placed(&mut self, placement: &Placement, report: &mut RepackReport) -> Result<()> {
        self.hand_on()?;
        self.progress.add(placement, self.file.end());
        report.count(placement.how);
        Ok(())
    }

    /// Begins with a stage of a tree: what an earlier run placed in it is there.
    pub fn stage(&mut self, stage: Stage, target: &mut OutputTree, report: &mut RepackReport) -> Result<()> {
        for placement in self.progress.stage(stage, self.file.end())? {
            target.placed(&placement, self.file.pass(placement.bytes))?;
            report.count(placement.how);
        }
        Ok(())
    }

    /// Keeps what there is for a later run, from time to time.
    pub fn keep(&mut self) {
        self.progress.keep(&mut *self.sink);
    }

    /// Gives the file up; what was done may be of use to a later run.
    pub fn leave(self, error: Error) -> Error {
        self.progress.leave(self.sink, error)
    }

    /// The directory of a path, made with this title if it is not there.
    pub fn directory(&mut self, path: &str, title: Option<&str>) -> Result<DirectoryId> {
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
    pub fn commit(self) -> Result<u64> {
        let OutputFile { file, mut sink, progress } = self;
        let mut bytes = file.end();
        for piece in file.finish()? {
            bytes = bytes.max(piece.end());
            if let Err(error) = sink.write(piece) {
                return Err(progress.leave(sink, error));
            }
        }
        sink.commit()?;
        Ok(bytes)
    }
}

impl RepackReport {
    fn count(&mut self, how: BasketTreatment) {
        match how {
            BasketTreatment::Copied => self.copied_baskets += 1,
            BasketTreatment::Recompressed => self.recompressed_baskets += 1,
            BasketTreatment::Resplit => self.cut_baskets += 1,
        }
    }
}
