//! The new file of a repack: its writer, its sink, and the journal that lets a later run resume.

use super::journal::{BasketTreatment, Placement, RepackJournal, Stage};
use super::options::{RepackOptions, RepackReport};
use super::output_tree::OutputTree;
use crate::new_file;
use crate::new_table::{Format, NewTable};
use sapwood_core::{Error, Result};
use sapwood_rntuple::RNTuple;
use sapwood_rntuple::write::{CopiedFields, RNTupleBuilder, RNTupleOptions, StoredPage};
use sapwood_sink::Sink;
use sapwood_table::Table;
use sapwood_tfile::write::{DirectoryId, FileWriter};

/// A new file, and the sink for its bytes.
#[derive(Debug)]
pub struct OutputFile {
    /// The writer of the container.
    pub file: FileWriter,
    sink: Box<dyn Sink>,
    pub(super) journal: RepackJournal,
}

impl OutputFile {
    /// A file without a journal.
    pub fn new(file: FileWriter, sink: Box<dyn Sink>) -> OutputFile {
        OutputFile::with_journal(file, sink, RepackJournal::none())
    }

    /// A file of which an earlier run may have written a part.
    pub(super) fn with_journal(file: FileWriter, sink: Box<dyn Sink>, journal: RepackJournal) -> OutputFile {
        OutputFile { file, sink, journal }
    }

    /// Hands the sink all bytes that are ready.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn flush(&mut self) -> Result<()> {
        new_file::flush(&mut self.file, &mut *self.sink)
    }

    /// The writer of the container, and the sink, for what writes to both.
    pub(super) fn both(&mut self) -> (&mut FileWriter, &mut dyn Sink) {
        (&mut self.file, &mut *self.sink)
    }

    /// Hands the sink a basket that has its place in the file, and records it in the journal.
    pub(super) fn placed(&mut self, placement: &Placement, report: &mut RepackReport) -> Result<()> {
        self.flush()?;
        self.journal.add(placement, self.file.end());
        report.count(placement.treatment);
        Ok(())
    }

    /// Begins a stage of a tree, after the baskets that an earlier run placed in it.
    pub(super) fn stage(
        &mut self,
        stage: Stage,
        target: &mut OutputTree,
        report: &mut RepackReport,
    ) -> Result<()> {
        for placement in self.journal.stage(stage, self.file.end())? {
            target.placed(&placement, self.file.pass(placement.bytes))?;
            report.count(placement.treatment);
        }
        Ok(())
    }

    /// Records pages that have their places in the file.
    pub(super) fn placed_pages(&mut self, pages: &[StoredPage], lens: &[u64]) {
        let end = self.file.end();
        for (page, len) in pages.iter().zip(lens) {
            let treatment = match page.is_recompressed() {
                true => BasketTreatment::Recompressed,
                false => BasketTreatment::Copied,
            };
            let bytes = u32::try_from(*len).unwrap_or(u32::MAX);
            self.journal.add(&Placement { branch: 0, end: 0, total: 0, bytes, treatment }, end);
        }
    }

    /// Writes the journal, if it is due.
    pub(super) fn keep(&mut self) {
        self.journal.keep(&mut *self.sink);
    }

    /// Abandons the file after an error, and leaves what was written to a later run if that may succeed.
    pub(super) fn abandon(self, error: Error) -> Error {
        self.journal.leave(self.sink, error)
    }

    /// The directory at a path, created with this title if it is missing.
    ///
    /// # Errors
    /// `Usage` if an object has that name.
    pub fn directory(&mut self, path: &str, title: Option<&str>) -> Result<DirectoryId> {
        new_file::directory(&mut self.file, path, title)
    }

    /// An RNTuple without entries at a path, which has fields of another one.
    pub(super) fn rntuple_like(
        &mut self,
        first: &RNTuple,
        fields: &CopiedFields,
        path: &str,
        options: &RepackOptions,
    ) -> Result<NewTable> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let directory = self.directory(above, None)?;
        let compression = options.compression.unwrap_or_else(|| self.file.compression());
        let mut sizes = RNTupleOptions { compression, ..RNTupleOptions::default() };
        sizes.cluster = options.cluster.unwrap_or(sizes.cluster);
        sizes.page_size = options.basket_size.map_or(sizes.page_size, |size| size as usize);
        let mut place = |parts| self.file.blob(directory, parts);
        let label = first.label();
        let builder = RNTupleBuilder::like(label.name, label.title, fields, sizes, &mut place)?;
        self.flush()?;
        let format = Format::RNTuple(Box::new(builder));
        Ok(NewTable { format, directory, name: name.to_owned(), title: String::new() })
    }

    /// Finishes the file and makes it appear at its target. Returns its size in bytes.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn commit(self) -> Result<u64> {
        let OutputFile { file, mut sink, journal } = self;
        match new_file::finish(file, &mut *sink) {
            Ok(bytes) => sink.commit().map(|()| bytes),
            Err(error) => Err(journal.leave(sink, error)),
        }
    }
}

impl RepackReport {
    fn count(&mut self, treatment: BasketTreatment) {
        match treatment {
            BasketTreatment::Copied => self.copied_baskets += 1,
            BasketTreatment::Recompressed => self.recompressed_baskets += 1,
            BasketTreatment::Resplit => self.cut_baskets += 1,
        }
    }
}
