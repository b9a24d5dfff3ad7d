//! Writes one file: directories, objects, and trees that grow cluster by cluster.

use super::existing::{ExistingFile, open_existing};
use crate::new_file;
use sapwood_codec::Compression;
use sapwood_core::{Call, Error, ErrorKind, Result};
use sapwood_sink::Sink;
use sapwood_streamer::write::{Value, descriptions_for, put_object};
use sapwood_table::pool::{compute, computing};
pub use sapwood_tfile::write::DirectoryId;
use sapwood_tfile::write::{FileStamp, FileWriter, NewKey, RecordBuffer};
use sapwood_ttree::write::{BranchSpec, ClusterSize, ColumnView, TreeBuilder};

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
    trees: Vec<Tree>,
    threads: Option<usize>,
    /// The file as it was before, for an update.
    existing: Option<ExistingFile>,
    /// The error after which nothing more can be written.
    failure: Option<Error>,
}

/// A tree of a [`Writer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TreeId(usize);

#[derive(Debug)]
struct Tree {
    builder: TreeBuilder,
    directory: DirectoryId,
    name: String,
    title: String,
    /// Cycle and number of entries of the record that this tree replaces.
    replaces: Option<(u16, u64)>,
}

impl Writer {
    /// A writer of a new file that goes to a sink; `name` is the name that ROOT shows.
    ///
    /// # Errors
    /// `Limit` if the name or the title is too long; errors of the sink.
    pub fn new(sink: Box<dyn Sink>, name: &str, options: &WriterOptions) -> Result<Writer> {
        let origin = options.origin.unwrap_or_else(FileStamp::now);
        let file = FileWriter::new(name, &options.title, options.compression, origin)?;
        let (trees, threads) = (Vec::new(), options.threads);
        let mut writer = Writer { file, sink, trees, threads, existing: None, failure: None };
        writer.flush()?;
        Ok(writer)
    }

    /// A writer that adds to the local file at a path or `file://` URL. The present content stays as it is and can be
    /// read meanwhile; additions become visible with [`commit`](Writer::commit). The title in the options is ignored.
    ///
    /// # Errors
    /// `NotFound`, `Permission`; `Io` if another writer is adding to the file; `NotRoot`, `Truncated` or `Corrupt` if
    /// the file is broken; `Unsupported` for other URLs, and for files of a ROOT older than 4.
    pub fn update(url: &str, options: &WriterOptions) -> Result<Writer> {
        let time = options.origin.unwrap_or_else(FileStamp::now).time;
        let (file, sink, existing) = open_existing(url, options.compression, time)?;
        let (trees, threads) = (Vec::new(), options.threads);
        Ok(Writer { file, sink, trees, threads, existing: Some(existing), failure: None })
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
    ) -> Result<TreeId> {
        self.check_usable()?;
        let builder = TreeBuilder::new(name, title, branches, cluster)?;
        let (name, title) = (name.to_owned(), title.to_owned());
        self.trees.push(Tree { builder, directory, name, title, replaces: None });
        Ok(TreeId(self.trees.len() - 1))
    }

    /// A tree of the existing file, to add entries to. The end of the file gets a new record for it, and the space of
    /// the old record becomes free.
    ///
    /// # Errors
    /// `Missing` if there is no such tree; `Unsupported` if it has branches of kinds that sapwood cannot write.
    pub fn existing_tree(&mut self, path: &str) -> Result<TreeId> {
        self.check_usable()?;
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut directory = self.file.top();
        let missing = || Error::new(ErrorKind::Missing, format!("there was no tree '{path}'"));
        for part in above.split('/').filter(|part| !part.is_empty()) {
            directory = self.file.find_directory(directory, part).ok_or_else(missing)?;
        }
        let key = self.file.key(directory, name)?.ok_or_else(missing)?;
        let existing = self.existing.as_ref().ok_or_else(missing)?;
        let builder = existing.tree(&key).map_err(|error| error.url(self.sink.url()))?;
        let replaces = Some((key.cycle, builder.entries()));
        self.trees.push(Tree { builder, directory, name: key.name, title: key.title, replaces });
        Ok(TreeId(self.trees.len() - 1))
    }

    /// The branches of a tree.
    pub fn branches(&self, tree: TreeId) -> &[BranchSpec] {
        self.trees.get(tree.0).map_or(&[], |tree| tree.builder.branches())
    }

    /// Number of entries of a tree so far.
    pub fn entries(&self, tree: TreeId) -> u64 {
        self.trees.get(tree.0).map_or(0, |tree| tree.builder.entries())
    }

    /// Adds entries to a tree: one column per branch, of `entries` entries each. Complete clusters go to the sink.
    ///
    /// # Errors
    /// `Usage`, with the branch, if a column does not fit: then nothing was added. After any other error, nothing more
    /// can be written.
    pub fn extend(
        &mut self,
        tree: TreeId,
        columns: &[ColumnView<'_>],
        entries: usize,
        call: &mut Call<'_>,
    ) -> Result<()> {
        self.check_usable()?;
        let tree = self.trees.get_mut(tree.0).ok_or_else(|| Error::usage("a tree of another file"))?;
        tree.builder.check(columns, entries)?;
        let bytes = || columns.iter().map(ColumnView::byte_count);
        let (bytes, largest) = (bytes().sum::<usize>(), bytes().max().unwrap_or(0));
        let (file, sink) = (&mut self.file, &mut self.sink);
        let pool = computing(self.threads)?;
        let result = compute(&pool, call, |cancelled| {
            let mut from = 0;
            while from < entries {
                let rest = entries - from;
                let step = tree.builder.step(rest, bytes / entries * rest, largest / entries * rest);
                tree.builder.fill(columns, from..from + step, cancelled)?;
                from += step;
                if tree.builder.cluster_is_full() {
                    end_cluster(tree, file, sink.as_mut())?;
                }
            }
            Ok(())
        });
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

    /// Finishes all trees and the file, and makes it appear at its target. Returns its size in bytes.
    ///
    /// # Errors
    /// The error of an earlier call; errors of the sink. Then the target is as it was before.
    pub fn commit(mut self, call: &mut Call<'_>) -> Result<u64> {
        self.check_usable()?;
        let pool = computing(self.threads)?;
        compute(&pool, call, |_| {
            let mut trees = std::mem::take(&mut self.trees);
            for tree in &mut trees {
                end_tree(tree, &mut self.file, self.sink.as_mut())?;
            }
            let bytes = new_file::finish(self.file, self.sink.as_mut())?;
            self.sink.commit()?;
            Ok(bytes)
        })
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

/// Writes the baskets of the open cluster of a tree.
fn end_cluster(tree: &mut Tree, file: &mut FileWriter, sink: &mut dyn Sink) -> Result<()> {
    for mut basket in tree.builder.end_cluster()? {
        let payload = std::mem::take(&mut basket.payload);
        let placed =
            file.unlisted(tree.directory, &basket.key, &basket.header, payload, basket.object_len)?;
        tree.builder.placed(&basket, placed.offset, placed.bytes);
        new_file::flush(file, sink)?;
    }
    Ok(())
}

/// Writes the last cluster of a tree, and its record. A tree that got no entries keeps its old record.
fn end_tree(tree: &mut Tree, file: &mut FileWriter, sink: &mut dyn Sink) -> Result<()> {
    if tree.replaces.is_some_and(|(_, entries)| entries == tree.builder.entries()) {
        return Ok(());
    }
    end_cluster(tree, file, sink)?;
    for info in descriptions_for(tree.builder.classes())?.iter().chain(&tree.builder.descriptions()) {
        file.descriptions().add(info)?;
    }
    let key = NewKey::new("TTree", &tree.name, &tree.title, file.wide());
    let record = tree.builder.record(key.len())?;
    file.object(tree.directory, "TTree", &tree.name, &tree.title, |buffer| buffer.bytes(&record))?;
    if let Some((cycle, _)) = tree.replaces {
        file.remove(tree.directory, &tree.name, cycle)?;
    }
    new_file::flush(file, sink)
}
