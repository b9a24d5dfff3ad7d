//! What a columnar format implements: the trait [`Table`], and the chunks that its columns are stored in.

use crate::selection::{Query, Selection};
use bytes::Bytes;
use sapwood_core::{Buffer, ByteRange, Call, Column, Counters, Error, Form, Result, Statistics};
use sapwood_fetch::{Fetcher, FileIndex};
use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Columns over the same entries, stored in clusters. A columnar format implements this trait to be read.
///
/// A table names the *chunks* (a TTree's baskets, an RNTuple's pages) that hold some entries of a column, and turns
/// their bytes into values. It plans no requests and fetches no chunks: [`read`](crate::read),
/// [`Scan`](crate::Scan), [`EntryRead`](crate::EntryRead), [`CutRead`](crate::CutRead) and [`Lazy`](crate::Lazy) do.
/// `sapwood_testkit::table::check` tests an implementation. Whoever needs more than all formats have asks [`Any`] for the
/// type of one.
pub trait Table: Any + Debug + Send + Sync {
    /// The URL of the file with the table, without secrets.
    fn url(&self) -> &str;

    /// The path of the table in that file.
    fn path(&self) -> &str;

    /// What its writer called the table.
    fn label(&self) -> TableLabel<'_>;

    /// Number of entries. Default: where the last cluster ends.
    fn entries(&self) -> u64 {
        self.cluster_starts().last().copied().unwrap_or(0)
    }

    /// The first entry of each cluster, in order, then the number of entries; empty if none are recorded.
    fn cluster_starts(&self) -> &[u64];

    /// Number of columns.
    fn column_count(&self) -> usize;

    /// The schema of a column; `None` beyond the last.
    fn schema(&self, column: usize) -> Option<ColumnSchema<'_>>;

    /// The member of another column that has the same values as a column, from the same chunks: whoever reads both decodes
    /// them once. Default: none.
    fn same_as(&self, column: usize) -> Option<Query> {
        let _ = column;
        None
    }

    /// How a column is compressed, as ROOT codes it: 100 · algorithm + level. Default: `None`, if only the file says so.
    fn compression(&self, column: usize) -> Option<u32> {
        let _ = column;
        None
    }

    /// The fetcher of one of the files that the table is stored in.
    fn fetcher(&self, file: FileIndex) -> Fetcher;

    /// Reads where the chunks of some columns are, if that is not known yet.
    ///
    /// # Errors
    /// Those of reading; `Corrupt` if the index is damaged.
    fn locate(&self, selections: &[Selection], call: &mut Call<'_>) -> Result<()>;

    /// The form of a selection, and the parts that it leaves out: path and reason.
    ///
    /// # Errors
    /// `Usage` if there is no such column; `Unsupported` or `Corrupt` if it cannot be read.
    fn form(&self, selection: &Selection) -> Result<(Form, Vec<(String, String)>)>;

    /// Plans how to read the entries `entries` of a column that was [located](Table::locate).
    ///
    /// A column may have fewer entries than the table; the plan then covers fewer.
    ///
    /// # Errors
    /// As [`form`](Table::form).
    fn plan<'t>(&'t self, selection: &Selection, entries: &Range<u64>) -> Result<Box<dyn ColumnPlan + 't>>;

    /// The chunks that hold some entries of a column in the files, also those that a plan can do without. Default: those of
    /// its plan. A format whose chunks can be copied without being decoded gives them for all columns.
    ///
    /// # Errors
    /// As [`plan`](Table::plan).
    fn chunks(&self, selection: &Selection, entries: &Range<u64>) -> Result<Vec<Chunk>> {
        Ok(self.plan(selection, entries)?.chunks().to_vec())
    }

    /// The uncompressed size of a chunk in bytes; `None` if it is `stored` uncompressed, or is damaged. Default: what the
    /// chunk says, if that is more than the stored bytes.
    fn uncompressed_len(&self, chunk: &Chunk, stored: &Bytes) -> Option<usize> {
        usize::try_from(chunk.uncompressed_bytes).ok().filter(|len| stored.len() < *len)
    }

    /// Decompresses the `stored` bytes of a chunk to what plans accept as [`ChunkContent::Uncompressed`].
    ///
    /// # Errors
    /// `Corrupt`, `Checksum` or `Unsupported` if it is damaged.
    fn uncompress(&self, chunk: &Chunk, stored: &Bytes) -> Result<Bytes>;

    /// True if a checksum of the format covers the stored bytes of a chunk. Default: false.
    fn has_checksum(&self, chunk: &Chunk) -> bool {
        let _ = chunk;
        false
    }

    /// Statistics of the values of a column that need no reading of them, in the order of entries. Default: none.
    ///
    /// # Errors
    /// As [`locate`](Table::locate).
    fn statistics(&self, column: usize, call: &mut Call<'_>) -> Result<Vec<EntryStatistics>> {
        let _ = (column, call);
        Ok(Vec::new())
    }

    /// Gets the columns of some selections after they were decoded, on a thread of the computing pool, and returns what is to
    /// be delivered. Fetching and decoding them took `time`. Default: the same columns.
    fn decoded(
        &self,
        selections: &[Selection],
        entries: &Range<u64>,
        columns: Vec<Column>,
        time: Duration,
    ) -> Vec<Column> {
        let _ = (selections, entries, time);
        columns
    }
}

/// Implements the methods of [`Table`] by those of an inner table, in decorators, except `fetcher`, `plan`, `uncompress`
/// and `decoded`: `forward_table!(self => self.table);`.
#[macro_export]
macro_rules! forward_table {
    ($self:ident => $inner:expr) => {
        fn url(&$self) -> &str { $inner.url() }
        fn path(&$self) -> &str { $inner.path() }
        fn label(&$self) -> $crate::TableLabel<'_> { $inner.label() }
        fn entries(&$self) -> u64 { $inner.entries() }
        fn cluster_starts(&$self) -> &[u64] { $inner.cluster_starts() }
        fn column_count(&$self) -> usize { $inner.column_count() }
        fn schema(&$self, column: usize) -> Option<$crate::ColumnSchema<'_>> { $inner.schema(column) }
        fn same_as(&$self, column: usize) -> Option<$crate::Query> { $inner.same_as(column) }
        fn compression(&$self, column: usize) -> Option<u32> { $inner.compression(column) }
        fn locate(&$self, selections: &[$crate::Selection], call: &mut Call<'_>) -> Result<()> {
            $inner.locate(selections, call)
        }
        fn form(&$self, selection: &$crate::Selection) -> Result<(Form, Vec<(String, String)>)> {
            $inner.form(selection)
        }
        fn chunks(&$self, selection: &$crate::Selection, entries: &Range<u64>) -> Result<Vec<$crate::Chunk>> {
            $inner.chunks(selection, entries)
        }
        fn uncompressed_len(&$self, chunk: &$crate::Chunk, stored: &Bytes) -> Option<usize> {
            $inner.uncompressed_len(chunk, stored)
        }
        fn has_checksum(&$self, chunk: &$crate::Chunk) -> bool { $inner.has_checksum(chunk) }
        fn statistics(&$self, column: usize, call: &mut Call<'_>) -> Result<Vec<$crate::EntryStatistics>> {
            $inner.statistics(column, call)
        }
    };
}

/// What the writer of a table called it.
#[derive(Debug, Clone, Copy)]
pub struct TableLabel<'t> {
    /// Its name.
    pub name: &'t str,
    /// Its title or description.
    pub title: &'t str,
    /// Its class in ROOT, such as `TTree`, `TNtuple` or `ROOT::RNTuple`.
    pub class_name: &'t str,
}

/// The name, type and content of a column.
#[derive(Debug, Clone, Copy)]
pub struct ColumnSchema<'t> {
    /// Its full name, with the names of the groups that it is in.
    pub name: &'t str,
    /// The title that its writer gave it.
    pub title: &'t str,
    /// Its type, spelled as in C++.
    pub typename: &'t str,
    /// The group of columns that it is stored with, such as a product of a dataset.
    pub group: Option<&'t str>,
    /// What the column holds.
    pub content: ColumnContent<'t>,
    /// The column with the number or the positions of the items of each entry.
    pub count_column: Option<usize>,
}

/// What a column holds.
#[derive(Debug, Clone, Copy)]
pub enum ColumnContent<'t> {
    /// Values of this form.
    Values(&'t Form),
    /// Nothing: the column groups others.
    Group,
    /// Values that cannot be read, for this reason.
    Unreadable(&'t str),
}

/// Statistics of the values of a column in some entries.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryStatistics {
    /// The entries.
    pub entries: Range<u64>,
    /// None if they are unknown.
    pub statistics: Option<Statistics>,
}

/// How to read some entries of a column.
pub trait ColumnPlan: Send + Sync {
    /// The entries that the plan covers.
    fn entries(&self) -> Range<u64>;

    /// The chunks that hold these entries, in their order, and the [index](Chunk::index) chunks.
    fn chunks(&self) -> &[Chunk];

    /// The chunks that are needed according to the [index](Chunk::index) chunks, which are among them, each with the
    /// entries that need it; `None` if all chunks are always needed. Readers fetch the index chunks first only where
    /// fetching all could waste more than a round trip costs. The `likely` offsets are as for
    /// [`decode`](ColumnPlan::decode): they may stand for index chunks only if they are surely the same.
    ///
    /// # Errors
    /// Those of decoding.
    fn narrow(&self, index: ChunkBytes<'_>, likely: Option<&Arc<Buffer>>) -> Result<Option<Vec<Chunk>>> {
        let _ = (index, likely);
        Ok(None)
    }

    /// True if [`narrow`](ColumnPlan::narrow) may leave chunks out. Default: if there are index chunks.
    fn can_narrow(&self) -> bool {
        self.chunks().iter().any(|chunk| chunk.index)
    }

    /// Decodes the chunks to the column, on the threads of the current pool. The `likely` offsets are those of a column
    /// with the same [`offsets_key`](ColumnPlan::offsets_key); the column shares them if its own are the same.
    ///
    /// # Errors
    /// `Corrupt`, `Truncated`, `Checksum` or `Unsupported`, with the byte offset in the file.
    fn decode(
        &self,
        chunks: ChunkBytes<'_>,
        likely: Option<&Arc<Buffer>>,
        counters: &Counters,
    ) -> Result<Column>;

    /// Columns with the same key usually have lists of the same lengths.
    fn offsets_key(&self) -> Option<usize> {
        None
    }

    /// True if decoding some entries of a chunk costs about as much as decoding all of them.
    fn decodes_whole_chunks(&self) -> bool {
        false
    }

    /// True if [`decode`](ColumnPlan::decode) counts the decoded bytes itself, because not all of a column is decoded.
    fn counts_bytes(&self) -> bool {
        false
    }
}

/// The bytes of a chunk for a plan. They do not show by themselves whether they are compressed.
#[derive(Debug, Clone)]
pub enum ChunkContent {
    /// As stored in the file.
    Stored(Bytes),
    /// As returned by [`uncompress`](Table::uncompress).
    Uncompressed(Bytes),
}

/// The content of the chunks that were fetched.
pub type ChunkBytes<'a> = &'a (dyn Fn(ChunkId) -> Option<ChunkContent> + Sync);

/// The content of a chunk.
///
/// # Errors
/// `Corrupt` if the reader did not fetch it.
pub fn chunk_content(chunks: ChunkBytes<'_>, id: ChunkId) -> Result<ChunkContent> {
    chunks(id).ok_or_else(|| Error::corrupt("a chunk was not fetched").at(id.offset))
}

/// The position of a chunk, which identifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkId {
    /// The file that it is in.
    pub file: FileIndex,
    /// The offset of its first byte.
    pub offset: u64,
}

/// A compressed part of a column, which is fetched and decompressed as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The file that it is in.
    pub file: FileIndex,
    /// Its bytes in the file; empty if the table already holds them.
    pub range: ByteRange,
    /// The entries that need it, as far as known before it is read.
    pub entries: Range<u64>,
    /// Approximate number of bytes when uncompressed.
    pub uncompressed_bytes: u64,
    /// True if it holds no values of the column but their positions: offsets, or counts of items.
    pub index: bool,
    /// True if other columns may need it as well.
    pub shared: bool,
}

impl Chunk {
    /// Its position.
    pub fn id(&self) -> ChunkId {
        ChunkId { file: self.file, offset: self.range.start }
    }

    /// True if it has to be fetched.
    pub fn is_stored(&self) -> bool {
        self.range.len > 0
    }
}
