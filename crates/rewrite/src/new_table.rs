//! Tables of a new file, in either format: filled, and placed in the file cluster by cluster.

use crate::new_file;
use sapwood_core::{ByteRange, Error, Result};
use sapwood_rntuple::CLASS as RNTUPLE;
use sapwood_rntuple::write::{AttributeSetLink, RNTupleBuilder};
use sapwood_sink::Sink;
use sapwood_streamer::write::descriptions_for;
use sapwood_table::write::ColumnView;
use sapwood_tfile::write::{DirectoryId, FileWriter, NewKey};
use sapwood_ttree::write::TreeBuilder;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

/// A table that is being written.
#[derive(Debug)]
pub(crate) struct NewTable {
    pub(crate) format: Format,
    pub(crate) directory: DirectoryId,
    pub(crate) name: String,
    pub(crate) title: String,
}

#[derive(Debug)]
pub(crate) enum Format {
    Tree {
        builder: Box<TreeBuilder>,
        /// Cycle and number of entries of the record that this tree replaces.
        replaces: Option<(u16, u64)>,
    },
    RNTuple(Box<RNTupleBuilder>),
}

impl NewTable {
    /// Adds an attribute set that is in the file. Trees have none.
    pub(crate) fn link(&mut self, set: AttributeSetLink) {
        if let Format::RNTuple(builder) = &mut self.format {
            builder.link(set);
        }
    }

    pub(crate) fn entries(&self) -> u64 {
        match &self.format {
            Format::Tree { builder, .. } => builder.entries(),
            Format::RNTuple(builder) => builder.entries(),
        }
    }

    pub(crate) fn check(&self, columns: &[ColumnView<'_>], entries: usize) -> Result<()> {
        match &self.format {
            Format::Tree { builder, .. } => builder.check(columns, entries),
            Format::RNTuple(builder) => builder.check(columns, entries),
        }
    }

    /// True for an existing tree that got entries.
    pub(crate) fn is_grown(&self) -> bool {
        match &self.format {
            Format::Tree { builder, replaces: Some((_, entries)) } => *entries != builder.entries(),
            _ => false,
        }
    }

    /// Adds entries of checked columns; complete clusters go to the sink.
    pub(crate) fn extend(
        &mut self,
        columns: &[ColumnView<'_>],
        entries: usize,
        cancelled: &AtomicBool,
        file: &mut FileWriter,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        self.extend_with(columns, 0..entries, cancelled, file, sink)
    }

    /// Adds some of the entries of checked columns; complete clusters go to the sink.
    pub(crate) fn extend_with(
        &mut self,
        columns: &[ColumnView<'_>],
        entries: Range<usize>,
        cancelled: &AtomicBool,
        file: &mut FileWriter,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let all = columns.first().map_or(0, |column| column.length).max(1);
        let bytes = || columns.iter().map(ColumnView::byte_count);
        let (bytes, largest) = (bytes().sum::<usize>(), bytes().max().unwrap_or(0));
        let mut from = entries.start;
        while from < entries.end {
            let rest = entries.end - from;
            let step = self.step(rest, bytes / all * rest, largest / all * rest);
            if self.fill(columns, from..from + step, cancelled)? {
                self.end_cluster(file, sink)?;
            }
            from += step;
        }
        Ok(())
    }

    /// How many of the next entries can be filled at once: they have `bytes` bytes, of which `largest` in one column.
    fn step(&self, entries: usize, bytes: usize, largest: usize) -> usize {
        match &self.format {
            Format::Tree { builder, .. } => builder.step(entries, bytes, largest),
            Format::RNTuple(builder) => builder.step(entries, bytes),
        }
    }

    /// Adds entries; true if the cluster is full then.
    fn fill(
        &mut self,
        columns: &[ColumnView<'_>],
        entries: Range<usize>,
        cancelled: &AtomicBool,
    ) -> Result<bool> {
        Ok(match &mut self.format {
            Format::Tree { builder, .. } => {
                builder.fill(columns, entries, cancelled)?;
                builder.cluster_is_full()
            }
            Format::RNTuple(builder) => {
                builder.fill(columns, entries, cancelled)?;
                builder.cluster_is_full()
            }
        })
    }

    /// Writes the baskets or pages of the open cluster.
    pub(crate) fn end_cluster(&mut self, file: &mut FileWriter, sink: &mut dyn Sink) -> Result<()> {
        let directory = self.directory;
        match &mut self.format {
            Format::Tree { builder, .. } => {
                for mut basket in builder.end_cluster()? {
                    let payload = std::mem::take(&mut basket.payload);
                    let placed =
                        file.unlisted(directory, &basket.key, &basket.header, payload, basket.object_len)?;
                    builder.placed(&basket, placed.offset, placed.bytes);
                    new_file::flush(file, sink)?;
                }
            }
            Format::RNTuple(builder) => builder.end_cluster(&mut |parts| file.blob(directory, parts))?,
        }
        new_file::flush(file, sink)
    }

    /// Writes the last cluster, the metadata and the key. A tree that got no entries keeps its old record.
    pub(crate) fn end(&mut self, file: &mut FileWriter, sink: &mut dyn Sink) -> Result<()> {
        if matches!(&self.format, Format::Tree { replaces: Some(_), .. }) && !self.is_grown() {
            return Ok(());
        }
        self.end_cluster(file, sink)?;
        let (directory, name, title) = (self.directory, &self.name, &self.title);
        match &mut self.format {
            Format::Tree { builder, replaces } => {
                for info in descriptions_for(builder.classes())?.iter().chain(&builder.descriptions()) {
                    file.descriptions().add(info)?;
                }
                let key = NewKey::new("TTree", name, title, file.wide());
                let record = builder.record(key.len())?;
                file.object(directory, "TTree", name, title, |buffer| buffer.bytes(&record))?;
                if let Some((cycle, _)) = *replaces {
                    file.remove(directory, name, cycle)?;
                }
            }
            Format::RNTuple(builder) => {
                let anchor = builder.finish(&mut |parts| file.blob(directory, parts))?;
                descriptions_for([RNTUPLE])?.iter().try_for_each(|info| file.descriptions().add(info))?;
                file.object(directory, RNTUPLE, name, title, |buffer| buffer.bytes(&anchor))?;
            }
        }
        new_file::flush(file, sink)
    }

    /// Writes the last cluster and the metadata of an RNTuple that no directory lists: the attribute set of this name.
    pub(crate) fn end_unlisted(
        &mut self,
        name: String,
        file: &mut FileWriter,
        sink: &mut dyn Sink,
    ) -> Result<AttributeSetLink> {
        self.end_cluster(file, sink)?;
        let directory = self.directory;
        let Format::RNTuple(builder) = &mut self.format else {
            return Err(Error::usage("only an RNTuple can be an attribute set"));
        };
        let anchor = builder.finish(&mut |parts| file.blob(directory, parts))?;
        let len = anchor.len();
        let key = NewKey::new(RNTUPLE, &name, "", file.wide());
        let placed = file.unlisted(directory, &key, &[], anchor.into(), len)?;
        new_file::flush(file, sink)?;
        let start = placed.offset + u64::from(placed.key_len);
        Ok(AttributeSetLink { name, anchor: ByteRange { start, len: len as u64 } })
    }
}
