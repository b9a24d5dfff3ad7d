//! Writes one file: directories, objects, and tables that grow cluster by cluster.

use super::existing::{ExistingFile, open_existing};
use super::widening::WidenedTree;
use crate::new_file;
use crate::new_table::{Format, NewTable};
use sapwood_codec::Compression;
use sapwood_core::{Call, Error, ErrorKind, Result, redact};
use sapwood_rntuple::write::{FieldSpec, Projection, RNTupleBuilder, RNTupleOptions};
use sapwood_sink::Sink;
use sapwood_source::record;
use sapwood_streamer::write::{Value, descriptions_for, put_object};
use sapwood_table::pool::{compute, computing};
use sapwood_table::write::{ClusterSize, ColumnView};
use sapwood_tfile::Key;
pub use sapwood_tfile::write::DirectoryId;
use sapwood_tfile::write::{FileStamp, FileWriter, NewKey, RecordBuffer};
use sapwood_ttree::write::{BranchSpec, TreeBuilder};
use std::time::{Duration, Instant};

/// How a file is written.
#[derive(Debug, Clone, Default)]
pub struct WriterOptions {
    /// Compression of everything but baskets, which use that of their branch. Default: ZSTD 5, as in ROOT.
    pub compression: Compression,
    /// Title of the file.
    pub title: String,
    /// Number of computing threads, as in [`ReadOptions`](sapwood_root::ReadOptions).
    pub threads: Option<usize>,
    /// Time and UUID of the file. Default: now, and a random one.
    pub origin: Option<FileStamp>,
}

/// Writes a file. It appears at its target only with [`commit`](Writer::commit); dropping the writer discards it.
#[derive(Debug)]
pub struct Writer {
    file: FileWriter,
    sink: Box<dyn Sink>,
    tables: Vec<NewTable>,
    /// The existing trees that get branches.
    widened: Vec<WidenedTree>,
    threads: Option<usize>,
    /// The file as it was before, for an update.
    existing: Option<ExistingFile>,
    /// The error after which nothing more can be written.
    failure: Option<Error>,
    /// How long the caller has waited for it.
    took: Duration,
}

/// A tree or an RNTuple of a [`Writer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TableId(usize);

impl Writer {
    /// A writer of a new file that goes to a sink; `name` is the name that ROOT shows.
    ///
    /// # Errors
    /// `Limit` if the name or the title is too long; errors of the sink.
    pub fn new(sink: Box<dyn Sink>, name: &str, options: &WriterOptions) -> Result<Writer> {
        let origin = options.origin.unwrap_or_else(FileStamp::now);
        let file = FileWriter::new(name, &options.title, options.compression, origin)?;
        let (tables, threads) = (Vec::new(), options.threads);
        let (failure, took) = (None, Duration::ZERO);
        let widened = Vec::new();
        let mut writer = Writer { file, sink, tables, widened, threads, existing: None, failure, took };
        writer.flush()?;
        Ok(writer)
    }

    /// A writer that adds to the local file at a path or `file://` URL. The present content stays as it is and can be
    /// read in the meantime; additions become visible with [`commit`](Writer::commit). The title in the options is
    /// ignored.
    ///
    /// # Errors
    /// `NotFound`, `Permission`; `Io` if another writer is adding to the file; `NotRoot`, `Truncated` or `Corrupt` if
    /// the file is broken; `Unsupported` for other URLs, and for files of a ROOT older than 4.
    pub fn update(url: &str, options: &WriterOptions) -> Result<Writer> {
        let time = options.origin.unwrap_or_else(FileStamp::now).time;
        let (file, sink, existing) = open_existing(url, options.compression, time)?;
        let (tables, threads) = (Vec::new(), options.threads);
        let (failure, took) = (None, Duration::ZERO);
        let (existing, widened) = (Some(existing), Vec::new());
        Ok(Writer { file, sink, tables, widened, threads, existing, failure, took })
    }

    /// The directory at a path, created if it is missing; `""` is the top directory.
    ///
    /// # Errors
    /// `Usage` if an object has that name.
    pub fn directory(&mut self, path: &str) -> Result<DirectoryId> {
        self.check_usable()?;
        let directory = new_file::directory(&mut self.file, path, None)?;
        self.flush()?;
        Ok(directory)
    }

    /// Paths and classes of the keys written so far. A tree gets its key at the end.
    ///
    /// # Errors
    /// `Corrupt` if a key of the existing file is invalid.
    pub fn paths(&self) -> Result<Vec<(String, String)>> {
        Ok(self.file.paths()?.into_iter().map(|(path, key)| (path, key.class_name)).collect())
    }

    /// A new tree without entries. Its record is written at the end.
    ///
    /// # Errors
    /// `Usage` if the branches are inconsistent.
    pub fn tree(
        &mut self,
        directory: DirectoryId,
        name: &str,
        title: &str,
        branches: Vec<BranchSpec>,
        cluster: ClusterSize,
    ) -> Result<TableId> {
        self.check_usable()?;
        let format = Format::Tree {
            builder: Box::new(TreeBuilder::new(name, title, branches, cluster)?),
            replaces: None,
        };
        Ok(self.add(format, directory, name, title))
    }

    /// A new RNTuple without entries. Its key is written at the end.
    ///
    /// # Errors
    /// `Usage` for impossible names and sizes; `Unsupported` for fields that have no type in ROOT; errors of the sink.
    pub fn rntuple(
        &mut self,
        directory: DirectoryId,
        name: &str,
        description: &str,
        fields: Vec<FieldSpec>,
        projections: &[Projection],
        options: RNTupleOptions,
    ) -> Result<TableId> {
        self.check_usable()?;
        let mut place = |parts| self.file.blob(directory, parts);
        let builder = RNTupleBuilder::new(name, description, fields, projections, options, &mut place)?;
        self.flush()?;
        Ok(self.add(Format::RNTuple(Box::new(builder)), directory, name, ""))
    }

    /// Adds fields to an RNTuple of this writer, which are zero or empty in the entries so far.
    ///
    /// # Errors
    /// `Usage` for impossible names, and those in use, and for trees; `Unsupported` for fields that have no type in ROOT:
    /// then nothing was added. After any other error, nothing more can be written.
    pub fn add_fields(&mut self, table: TableId, fields: Vec<FieldSpec>) -> Result<()> {
        self.check_usable()?;
        let table =
            self.tables.get_mut(table.0).ok_or_else(|| Error::usage("the table belongs to another file"))?;
        let (file, directory) = (&mut self.file, table.directory);
        let Format::RNTuple(builder) = &mut table.format else {
            return Err(Error::usage("a tree gets no branches after its first entry"));
        };
        let added = builder.add_fields(fields, &mut |parts| file.blob(directory, parts));
        match added {
            Err(error) if !matches!(error.kind(), ErrorKind::Usage | ErrorKind::Unsupported) => {
                self.remember(Err(error))
            }
            result => result.and_then(|()| self.flush()),
        }
    }

    fn add(&mut self, format: Format, directory: DirectoryId, name: &str, title: &str) -> TableId {
        let (name, title) = (name.to_owned(), title.to_owned());
        self.tables.push(NewTable { format, directory, name, title });
        TableId(self.tables.len() - 1)
    }

    /// A tree of the existing file, to add entries to. The end of the file gets a new record for it, and the space of
    /// the old record becomes free.
    ///
    /// # Errors
    /// `Missing` if there is no such tree; `Unsupported` if it has branches of kinds that sapwood cannot write.
    pub fn existing_tree(&mut self, path: &str) -> Result<TableId> {
        self.check_usable()?;
        let (existing, directory, key) = self.existing_key(path)?;
        let builder = Box::new(existing.tree(&key).map_err(|error| error.url(self.sink.url()))?);
        let replaces = Some((key.cycle, builder.entries()));
        Ok(self.add(Format::Tree { builder, replaces }, directory, &key.name, &key.title))
    }

    /// The existing file, and the directory and the key of one of its trees.
    fn existing_key(&self, path: &str) -> Result<(&ExistingFile, DirectoryId, Key)> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut directory = self.file.top();
        let missing = || Error::new(ErrorKind::Missing, format!("there was no tree '{path}'"));
        for part in above.split('/').filter(|part| !part.is_empty()) {
            directory = self.file.find_directory(directory, part).ok_or_else(missing)?;
        }
        let key = self.file.key(directory, name)?.ok_or_else(missing)?;
        let existing = self.existing.as_ref().ok_or_else(missing)?;
        Ok((existing, directory, key))
    }

    /// The number of entries of a tree of the existing file, whatever its branches are.
    ///
    /// # Errors
    /// Those of [`add_branches`](Writer::add_branches) for the tree.
    pub fn existing_entries(&mut self, path: &str, call: &mut Call<'_>) -> Result<u64> {
        let place = self.widened(path, call)?;
        self.widened.get(place).map(WidenedTree::entries).ok_or_else(no_tree)
    }

    /// Adds branches to a tree of the existing file, of any kind: one column per branch, with as many entries as the tree
    /// has. The end of the file gets their baskets, which end with the clusters of the tree, and a new record of the tree;
    /// the space of the old record becomes free.
    ///
    /// # Errors
    /// `Missing` if there is no such tree; `Usage`, with the branch, if a name is in use, a column does not fit, or entries
    /// were added to the tree; `Unsupported` if the record of the tree cannot be changed: then nothing was added. After any
    /// other error, nothing more can be written.
    pub fn add_branches(
        &mut self,
        path: &str,
        branches: Vec<BranchSpec>,
        columns: &[ColumnView<'_>],
        entries: usize,
        call: &mut Call<'_>,
    ) -> Result<()> {
        let begin = Instant::now();
        let place = self.widened(path, call)?;
        let (file, sink, tables) = (&mut self.file, &mut self.sink, &self.tables);
        let tree = self.widened.get_mut(place).ok_or_else(no_tree)?;
        let table = tree.begin(branches, entries)?;
        table.check(columns, entries)?;
        if tables.iter().any(|known| known.is_grown() && tree.is_at(known.directory, &known.name)) {
            return Err(Error::usage(format!("entries were added to the tree '{path}'"))
                .hint("complete the file before you add branches"));
        }
        let pool = computing(self.threads)?;
        let result =
            compute(&pool, call, |cancelled| tree.add(table, columns, cancelled, file, sink.as_mut()));
        self.took += begin.elapsed();
        self.remember(result)
    }

    /// The place of a tree of the existing file among those that get branches.
    fn widened(&mut self, path: &str, call: &mut Call<'_>) -> Result<usize> {
        self.check_usable()?;
        let (existing, directory, key) = self.existing_key(path)?;
        if let Some(place) = self.widened.iter().position(|tree| tree.is_at(directory, &key.name)) {
            return Ok(place);
        }
        let tree = WidenedTree::open(&existing.open(call)?, path, (directory, key.cycle), call)?;
        self.widened.push(tree);
        Ok(self.widened.len() - 1)
    }

    /// The branches of a tree; none of an RNTuple.
    pub fn branches(&self, tree: TableId) -> &[BranchSpec] {
        match self.tables.get(tree.0).map(|table| &table.format) {
            Some(Format::Tree { builder, .. }) => builder.branches(),
            _ => &[],
        }
    }

    /// Number of entries of a table so far.
    pub fn entries(&self, table: TableId) -> u64 {
        self.tables.get(table.0).map_or(0, NewTable::entries)
    }

    /// Adds entries to a table: one column per branch or field, of `entries` entries each. Complete clusters go to the
    /// sink.
    ///
    /// # Errors
    /// `Usage`, with the branch or field, if a column does not fit: then nothing was added. After any other error, nothing more
    /// can be written.
    pub fn extend(
        &mut self,
        table: TableId,
        columns: &[ColumnView<'_>],
        entries: usize,
        call: &mut Call<'_>,
    ) -> Result<()> {
        self.check_usable()?;
        let table =
            self.tables.get_mut(table.0).ok_or_else(|| Error::usage("the table belongs to another file"))?;
        table.check(columns, entries)?;
        if self.widened.iter().any(|tree| tree.is_wider() && tree.is_at(table.directory, &table.name)) {
            return Err(Error::usage(format!("branches were added to the tree '{}'", table.name))
                .hint("complete the file before you add entries"));
        }
        let (file, sink, begin) = (&mut self.file, &mut self.sink, Instant::now());
        let pool = computing(self.threads)?;
        let result =
            compute(&pool, call, |cancelled| table.extend(columns, entries, cancelled, file, sink.as_mut()));
        self.took += begin.elapsed();
        self.remember(result)
    }

    /// Writes an object into a directory.
    ///
    /// # Errors
    /// `Unsupported` if objects of its class cannot be written, `Usage` if a member has a value of another type.
    pub fn object(
        &mut self,
        directory: DirectoryId,
        class_name: &str,
        name: &str,
        title: &str,
        value: &Value,
    ) -> Result<()> {
        self.check_usable()?;
        let descriptions = descriptions_for([class_name])?;
        let key = NewKey::new(class_name, name, title, self.file.wide());
        let mut payload = RecordBuffer::new(key.len());
        put_object(&mut payload, class_name, value)?;
        let payload = payload.finish()?;
        let result = self
            .file
            .object(directory, class_name, name, title, |buffer| buffer.bytes(&payload))
            .and_then(|_| descriptions.iter().try_for_each(|info| self.file.descriptions().add(info)))
            .and_then(|()| new_file::flush(&mut self.file, self.sink.as_mut()));
        self.remember(result)
    }

    /// Finishes all tables and the file, and makes it appear at its target. Returns its size in bytes.
    ///
    /// # Errors
    /// The error of an earlier call; errors of the sink. Then the target is as it was before.
    pub fn commit(mut self, call: &mut Call<'_>) -> Result<u64> {
        self.check_usable()?;
        let (pool, begin) = (computing(self.threads)?, Instant::now());
        let entries = self.tables.iter().map(NewTable::entries).sum();
        let (url, took) = (redact(self.sink.url()), self.took);
        let bytes = compute(&pool, call, |_| {
            for mut table in std::mem::take(&mut self.tables) {
                table.end(&mut self.file, self.sink.as_mut())?;
            }
            std::mem::take(&mut self.widened).into_iter().try_for_each(|tree| tree.end(&mut self.file))?;
            let bytes = new_file::finish(self.file, self.sink.as_mut())?;
            new_file::timed(|| self.sink.commit())?;
            Ok(bytes)
        })?;
        record::wrote(&url, bytes, entries, took + begin.elapsed());
        Ok(bytes)
    }

    fn check_usable(&self) -> Result<()> {
        match &self.failure {
            Some(error) => Err(error.copy()),
            None => Ok(()),
        }
    }

    /// Refuses further writes after an error: the bytes written may not match the state kept of them.
    fn remember<T>(&mut self, result: Result<T>) -> Result<T> {
        if let Err(error) = &result {
            self.failure = Some(
                Error::new(ErrorKind::Usage, "nothing more can be written after an error")
                    .hint("write the file again")
                    .caused_by(error.copy()),
            );
        }
        result
    }

    fn flush(&mut self) -> Result<()> {
        let result = new_file::flush(&mut self.file, self.sink.as_mut());
        self.remember(result)
    }
}

fn no_tree() -> Error {
    Error::usage("there is no such tree")
}
