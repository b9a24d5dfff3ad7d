//! What a columnar format tells its readers: the trait [`Table`], and the chunks that its columns are stored in.

use crate::selection::Selection;
use bytes::Bytes;
use sapwood_core::Statistics;
use sapwood_core::{Buffer, ByteRange, Call, Column, Counters, Error, Form, Result};
use sapwood_fetch::{Fetcher, FileIndex};
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// Columns over the same entries, stored in clusters: what a columnar format implements to be read.
///
/// A table names the *chunks* (a TTree's baskets, an RNTuple's pages) that hold some entries of a column, and turns
/// their bytes into values. It plans no requests and fetches no chunks: [`read`](crate::read),
/// [`Scan`](crate::Scan), [`EntryRead`](crate::EntryRead), [`CutRead`](crate::CutRead) and [`Lazy`](crate::Lazy) do.
/// `sapwood_testkit::table::check` tests an implementation.
pub trait Table: Debug + Send + Sync {
    /// The URL of the file that it was found in, without secrets.
    fn url(&self) -> &str;

    /// Its path in that file.
    fn path(&self) -> &str;

    /// Number of entries.
    fn entries(&self) -> u64;

    /// The first entry of each cluster, in order, then the number of entries; empty if none are recorded.
    fn cluster_starts(&self) -> &[u64];

    /// Number of columns.
    fn column_count(&self) -> usize;

    /// What a column is; `None` beyond the last.
    fn schema(&self, column: usize) -> Option<ColumnSchema<'_>>;

    /// What fetches from one of its files.
    fn fetcher(&self, file: FileIndex) -> Fetcher;

    /// Finds out where the chunks of some columns are, where that takes reading.
    ///
    /// # Errors
    /// Those of reading; `Corrupt` if what says it is damaged.
    fn locate(&self, selections: &[Selection], call: &mut Call<'_>) -> Result<()>;

    /// The form of what is selected, and what of it is left out: path and reason.
    ///
    /// # Errors
    /// `Usage` if there is no such column; `Unsupported` or `Corrupt` if it cannot be read.
    fn form(&self, selection: &Selection) -> Result<(Form, Vec<(String, String)>)>;

    /// How the entries `entries` of a column are read; the column was [located](Table::locate).
    ///
    /// A column with fewer entries than the table gives fewer.
    ///
    /// # Errors
    /// As [`form`](Table::form).
    fn plan<'t>(&'t self, selection: &Selection, entries: &Range<u64>) -> Result<Box<dyn ColumnPlan + 't>>;

    /// The size of a chunk when uncompressed, in bytes; `None` if it is `stored` uncompressed, or is not sound.
    fn uncompressed_len(&self, chunk: &Chunk, stored: &Bytes) -> Option<usize>;

    /// What plans are given as [`ChunkContent::Uncompressed`] of a chunk whose bytes are `stored`.
    ///
    /// # Errors
    /// `Corrupt`, `Checksum` or `Unsupported` if it is damaged.
    fn uncompress(&self, chunk: &Chunk, stored: &Bytes) -> Result<Bytes>;

    /// What is known of the values of a column without reading them, in the order of entries: by default nothing.
    ///
    /// # Errors
    /// As [`locate`](Table::locate).
    fn statistics(&self, column: usize, call: &mut Call<'_>) -> Result<Vec<EntryStatistics>> {
        let _ = (column, call);
        Ok(Vec::new())
    }
}

/// What a column is.
#[derive(Debug, Clone, Copy)]
pub struct ColumnSchema<'t> {
    /// Its full name: that of the groups that it is in, and its own.
    pub name: &'t str,
    /// The title that its writer gave it.
    pub title: &'t str,
    /// Its type, spelled as in C++.
    pub typename: &'t str,
    /// The group of columns that it is stored with, such as a product of a dataset.
    pub group: Option<&'t str>,
    /// What it holds.
    pub content: ColumnContent<'t>,
    /// The column that counts the items of its entries, or says where they are.
    pub count_column: Option<usize>,
}

/// What a column holds.
#[derive(Debug, Clone, Copy)]
pub enum ColumnContent<'t> {
    /// Values of this form.
    Values(&'t Form),
    /// Nothing of its own: it groups other columns.
    Group,
    /// Values that cannot be read, for this reason.
    Unreadable(&'t str),
}

/// What is known of the values of a column in some entries.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryStatistics {
    /// The entries.
    pub entries: Range<u64>,
    /// None if nothing is known of them.
    pub statistics: Option<Statistics>,
}

/// How some entries of a column are read.
pub trait ColumnPlan: Send + Sync {
    /// The entries that it gives.
    fn entries(&self) -> Range<u64>;

    /// The chunks that hold them, in the order of entries, and those that say where they are.
    fn chunks(&self) -> &[Chunk];

    /// The chunks that are needed, those marked as [`index`](Chunk::index) among them, and the entries that need each, as
    /// the index chunks say; `None` if that is all of them whatever these say. Readers fetch the index chunks first only
    /// where fetching all could waste more than a round trip costs.
    ///
    /// # Errors
    /// Those of decoding.
    fn narrow(&self, index: ChunkBytes<'_>) -> Result<Option<Vec<Chunk>>> {
        let _ = index;
        Ok(None)
    }

    /// True if [`narrow`](ColumnPlan::narrow) may find that less is needed.
    fn can_narrow(&self) -> bool {
        false
    }

    /// Turns the chunks into the column, on the threads of the current pool. The `likely` offsets are those of a column
    /// with the same [`offsets_key`](ColumnPlan::offsets_key): the column shares them if they prove to be its own.
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
}

/// The bytes of a chunk, for a plan that needs it. They do not show by themselves whether they are compressed.
#[derive(Debug, Clone)]
pub enum ChunkContent {
    /// As they are stored.
    Stored(Bytes),
    /// As [`uncompress`](Table::uncompress) returned them.
    Uncompressed(Bytes),
}

/// The content of the chunks that were fetched.
pub type ChunkBytes<'a> = &'a (dyn Fn(ChunkId) -> Option<ChunkContent> + Sync);

/// The content of a chunk; one that was not fetched is a mistake of the reader.
///
/// # Errors
/// `Corrupt` if it was not fetched.
pub fn chunk_content(chunks: ChunkBytes<'_>, id: ChunkId) -> Result<ChunkContent> {
    chunks(id).ok_or_else(|| Error::corrupt("a chunk was not fetched").at(id.offset))
}

/// Where a chunk is: what it is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkId {
    /// The file that it is in.
    pub file: FileIndex,
    /// Where it begins in the file.
    pub offset: u64,
}

/// A compressed piece of a column: what is fetched and decompressed as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The file that it is in.
    pub file: FileIndex,
    /// Where in the file; empty if the table holds its bytes already.
    pub range: ByteRange,
    /// The entries that need it, as far as that is known before it is read.
    pub entries: Range<u64>,
    /// Bytes when uncompressed, about.
    pub uncompressed_bytes: u64,
    /// True if it holds no values of the column, but says where they are: offsets, or counts of items.
    pub index: bool,
    /// True if other columns may need it, too.
    pub shared: bool,
}

impl Chunk {
    /// What it is known by.
    pub fn id(&self) -> ChunkId {
        ChunkId { file: self.file, offset: self.range.start }
    }

    /// True if it has to be fetched.
    pub fn is_stored(&self) -> bool {
        self.range.len > 0
    }
}
