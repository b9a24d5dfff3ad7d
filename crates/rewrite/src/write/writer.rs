//! The writer of a file.

use super::resume::{Before, resume};
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
    /// The compression of all that is not a basket; those have that of their branch. Default: ROOT's own, ZSTD 5.
    pub compression: Compression,
    /// Title of the file.
    pub title: String,
    /// Number of computing threads, as in [`ReadOptions`](sapwood_root::ReadOptions).
    pub threads: Option<usize>,
    /// Time and UUID of the file. Default: now, and a random one.
    pub origin: Option<FileStamp>,
}

/// Writes a file.
///
/// Nothing is at the target before [`commit`](Writer::commit); a writer that is dropped leaves nothing.
#[derive(Debug)]
pub struct Writer {
    file: FileWriter,
    sink: Box<dyn Sink>,
    trees: Vec<Tree>,
    threads: Option<usize>,
    /// The file as it was, if it was there.
    before: Option<Before>,
    /// Why no more can be written.
    broken: Option<Error>,
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
    /// Cycle and entries of the record that it takes the place of.
    replaces: Option<(u16, u64)>,
}

impl Writer {
    /// A writer of a new file that goes to a sink; `name` is what ROOT shows as its name.
    ///
    /// # Errors
    /// `Limit` if the name or the title is too long; those of the sink.
    pub fn new(sink: Box<dyn Sink>, name: &str, options: &WriterOptions) -> Result<Writer> {
        let origin = options.origin.unwrap_or_else(FileStamp::now);
        let file = FileWriter::new(name, &options.title, options.compression, origin)?;
        let (trees, threads) = (Vec::new(), options.threads);
        let mut writer = Writer { file, sink, trees, threads, before: None, broken: None };
        writer.hand_on()?;
        Ok(writer)
    }

    /// A writer that adds to the local file at a path or `file://` URL. What the file holds stays as it is, and can be
    /// read meanwhile; what is added is there once it is [committed](Writer::commit). Of the options, the title is not
    /// of use.
    ///
    /// # Errors
    /// `NotFound`, `Permission`, `Io` if somebody else is adding to it; `NotRoot`, `Truncated` or `Corrupt` if it is
    /// not sound; `Unsupported` for other URLs, and for files of a ROOT older than 4.
    pub fn update(url: &str, options: &WriterOptions) -> Result<Writer> {
        let time = options.origin.unwrap_or_else(FileStamp::now).time;
        let (file, sink, before) = resume(url, options.compression, time)?;
        let (trees, threads) = (Vec::new(), options.threads);
        Ok(Writer { file, sink, trees, threads, before: Some(before), broken: None })
    }

    /// The directory of a path, made if it is not there; `""` is the top directory.
    ///
    /// # Errors
    /// `Usage` if something else has its name.
    pub fn directory(&mut self, path: &str) -> Result<DirectoryId> {
        self.usable()?;
        let mut directory = self.file.top();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            directory = match self.file.find_directory(directory, name) {
                Some(found) => found,
                None => self.file.directory(directory, name, name)?,
            };
        }
        self.hand_on()?;
        Ok(directory)
    }

    /// The paths of what is listed in the file so far, and the classes; trees that are being written come at the end.
    ///
    /// # Errors
    /// `Corrupt` if the file was there, and one of its keys makes no sense.
    pub fn paths(&self) -> Result<Vec<(String, String)>> {
        Ok(self.file.paths()?.into_iter().map(|(path, key)| (path, key.class_name)).collect())
    }

    /// A new tree without entries. Its record is written at the end.
    ///
    /// # Errors
    /// `Usage` if the branches contradict each other.
    pub fn tree(
        &mut self,
        directory: DirectoryId,
        name: &str,
        title: &str,
        branches: Vec<BranchSpec>,
        cluster: ClusterSize,
    ) -> Result<TreeId> {
        self.usable()?;
        let builder = TreeBuilder::new(name, title, branches, cluster)?;
        let (name, title) = (name.to_owned(), title.to_owned());
        self.trees.push(Tree { builder, directory, name, title, replaces: None });
        Ok(TreeId(self.trees.len() - 1))
    }

    /// A tree that was in the file before, to add entries to. Its record is written anew at the end, and the old one
    /// becomes a free segment.
    ///
    /// # Errors
    /// `Missing` if there is none; `Unsupported` if it has branches of other kinds than are written.
    pub fn tree_again(&mut self, path: &str) -> Result<TreeId> {
        self.usable()?;
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut directory = self.file.top();
        let missing = || Error::new(ErrorKind::Missing, format!("there was no tree '{path}'"));
        for part in above.split('/').filter(|part| !part.is_empty()) {
            directory = self.file.find_directory(directory, part).ok_or_else(missing)?;
        }
        let key = self.file.key(directory, name)?.ok_or_else(missing)?;
        let before = self.before.as_ref().ok_or_else(missing)?;
        let builder = before.tree(&key).map_err(|error| error.url(self.sink.url()))?;
        let replaces = Some((key.cycle, builder.entries()));
        self.trees.push(Tree { builder, directory, name: key.name, title: key.title, replaces });
        Ok(TreeId(self.trees.len() - 1))
    }

    /// The branches of a tree.
    pub fn branches(&self, tree: TreeId) -> &[BranchSpec] {
        self.trees.get(tree.0).map_or(&[], |tree| tree.builder.branches())
    }

    /// Entries of a tree so far.
    pub fn entries(&self, tree: TreeId) -> u64 {
        self.trees.get(tree.0).map_or(0, |tree| tree.builder.entries())
    }

    /// Adds entries to a tree: one column per branch, of `entries` entries each. Whole clusters go to the sink.
    ///
    /// # Errors
    /// `Usage` with the branch whose column does not fit: nothing was added then. After any other error, the
    /// writer is of no more use.
    pub fn extend(
        &mut self,
        tree: TreeId,
        columns: &[ColumnView<'_>],
        entries: usize,
        call: &mut Call<'_>,
    ) -> Result<()> {
        self.usable()?;
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
        self.usable()?;
        let descriptions = descriptions_for([class_name])?;
        let key = NewKey::new(class_name, name, title, self.file.wide());
        let mut payload = RecordBuffer::new(key.len());
        put_object(&mut payload, class_name, value)?;
        let payload = payload.finish()?;
        let result = self
            .file
            .object(directory, class_name, name, title, |buffer| buffer.bytes(&payload))
            .and_then(|_| descriptions.iter().try_for_each(|info| self.file.descriptions().add(info)))
            .and_then(|()| hand_on(&mut self.file, self.sink.as_mut()));
        self.remember(result)
    }

    /// Ends all trees and the file, and puts it in its place. Gives the number of its bytes.
    ///
    /// # Errors
    /// Whatever stopped an earlier call; those of the sink. There is nothing at the target then, or what was there
    /// before.
    pub fn commit(mut self, call: &mut Call<'_>) -> Result<u64> {
        self.usable()?;
        let pool = computing(self.threads)?;
        compute(&pool, call, |_| {
            let mut trees = std::mem::take(&mut self.trees);
            for tree in &mut trees {
                end_tree(tree, &mut self.file, self.sink.as_mut())?;
            }
            let mut bytes = self.file.end();
            for piece in self.file.finish()? {
                bytes = bytes.max(piece.end());
                self.sink.write(piece)?;
            }
            self.sink.commit()?;
            Ok(bytes)
        })
    }

    fn usable(&self) -> Result<()> {
        match &self.broken {
            Some(error) => Err(error.copy()),
            None => Ok(()),
        }
    }

    /// After an error, what was written contradicts what is known of it.
    fn remember<T>(&mut self, result: Result<T>) -> Result<T> {
        if let Err(error) = &result {
            self.broken = Some(
                Error::new(ErrorKind::Usage, "nothing more can be written after an error")
                    .hint("write the file again")
                    .caused_by(error.copy()),
            );
        }
        result
    }

    fn hand_on(&mut self) -> Result<()> {
        let result = hand_on(&mut self.file, self.sink.as_mut());
        self.remember(result)
    }
}

/// Gives the sink what is to be written.
fn hand_on(file: &mut FileWriter, sink: &mut dyn Sink) -> Result<()> {
    file.take().into_iter().try_for_each(|piece| sink.write(piece))
}

/// Writes the baskets of the open cluster of a tree.
fn end_cluster(tree: &mut Tree, file: &mut FileWriter, sink: &mut dyn Sink) -> Result<()> {
    for mut basket in tree.builder.end_cluster()? {
        let payload = std::mem::take(&mut basket.payload);
        let placed =
            file.unlisted(tree.directory, &basket.key, &basket.header, payload, basket.object_len)?;
        tree.builder.placed(&basket, placed.offset, placed.bytes);
        hand_on(file, sink)?;
    }
    Ok(())
}

/// Writes what is left of a tree, and its record.
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
    hand_on(file, sink)
}
