//! The public types of a chain: its source, its output, its options and its report.

use sapwood_codec::Compression;
use sapwood_dataset::DatasetLocation;
use sapwood_root::File;
use sapwood_sink::Sink;
use sapwood_source::SourceOptions;
use sapwood_stripe::LayoutOptions;

/// The source of events.
#[derive(Debug, Clone)]
pub enum ChainSource {
    /// The tree at a path of a file, or of a dataset of stripes.
    Tree(File, String),
    /// A flat file of serialized events, at a path or URL.
    Flat(String, Box<SourceOptions>),
    /// No source: this many events without columns.
    Empty(u64),
}

/// The destination of events.
#[derive(Debug)]
pub enum ChainOutput {
    /// None: they are dropped once they are compressed.
    Nothing,
    /// A store that accepts every PUT and keeps nothing.
    Discard,
    /// A new dataset of stripes.
    Stripes(DatasetLocation),
    /// A ROOT file, and its name.
    Root(Box<dyn Sink>, String),
    /// A flat file of serialized events.
    Flat(Box<dyn Sink>),
}

/// Options of a chain.
#[derive(Debug, Clone)]
pub struct ChainOptions {
    /// If false, events are read, decompressed and deserialized; if true, also serialized, compressed and written.
    pub full: bool,
    /// Number of batches to work on at the same time.
    pub lanes: usize,
    /// Number of threads that the lanes share, as in [`ReadOptions`](sapwood_root::ReadOptions).
    pub threads: Option<usize>,
    /// Events per batch.
    pub batch: u64,
    /// Most events to process, from the first on.
    pub entries: Option<u64>,
    /// The compression of the output. Default: ZSTD, level 5.
    pub compression: Option<Compression>,
    /// Sizes of the objects of stripes, and the grouping of branches.
    pub layout: LayoutOptions,
}

impl ChainOptions {
    /// How many of the entries of a source are taken.
    pub(super) fn taken(&self, entries: u64) -> u64 {
        self.entries.map_or(entries, |most| most.min(entries))
    }
}

/// The results of a chain.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChainReport {
    /// Events.
    pub events: u64,
    /// Batches.
    pub batches: u64,
    /// Columns that have data.
    pub columns: u64,
    /// Columns whose values were deserialized.
    pub decoded_columns: u64,
    /// Columns whose values were serialized again; the others were passed on unchanged.
    pub encoded_columns: u64,
    /// Compressed bytes of the events, as the source stores them.
    pub read_bytes: u64,
    /// Bytes of all serialized events.
    pub entry_bytes: u64,
    /// Bytes of all deserialized values.
    pub value_bytes: u64,
    /// Bytes written to the output.
    pub written_bytes: u64,
    /// Objects written to the output; a file is one object.
    pub written_objects: u64,
    /// Seconds from the request of the first events until the output was complete.
    pub seconds: f64,
    /// Processor seconds of all threads for decompression.
    pub decompress_seconds: f64,
    /// The same for deserialization.
    pub deserialise_seconds: f64,
    /// The same for serialization.
    pub serialise_seconds: f64,
    /// The same for compression to baskets or blocks.
    pub compress_seconds: f64,
}
