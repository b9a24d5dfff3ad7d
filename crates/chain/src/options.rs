//! The public types of a chain: its source, its output, its options and its report.

use sapwood_codec::Compression;
use sapwood_dataset::DatasetLocation;
use sapwood_root::File;
use sapwood_sink::Sink;
use sapwood_source::OpenOptions;
use sapwood_stripe::LayoutOptions;

/// Where events come from.
#[derive(Debug, Clone)]
pub enum ChainSource {
    /// The tree at a path of a file, or of a dataset of stripes.
    Tree(File, String),
    /// A flat file of serialised events, at a path or URL.
    Flat(String, Box<OpenOptions>),
    /// Nowhere: so many events, without columns.
    Empty(u64),
}

/// Where they go.
#[derive(Debug)]
pub enum ChainOutput {
    /// Nowhere: they are dropped when they are compressed.
    Nothing,
    /// To objects, of which every PUT is accepted, and nothing is kept.
    Discard,
    /// To a new dataset of stripes.
    Stripes(DatasetLocation),
    /// To a ROOT file, with its name.
    Root(Box<dyn Sink>, String),
    /// To a flat file of serialised events.
    Flat(Box<dyn Sink>),
}

/// What a chain does.
#[derive(Debug, Clone)]
pub struct ChainOptions {
    /// False: events are read, decompressed and deserialised. True: they are also serialised, compressed and written.
    pub full: bool,
    /// Batches that are worked on at the same time.
    pub lanes: usize,
    /// Threads that the lanes share, as in [`ReadOptions`](sapwood_root::ReadOptions).
    pub threads: Option<usize>,
    /// Events of a batch.
    pub batch: u64,
    /// Events that are taken at most, from the first on.
    pub entries: Option<u64>,
    /// Of what is written. Default: ZSTD, level 5.
    pub compression: Option<Compression>,
    /// Bytes of the objects of stripes, and how these are grouped.
    pub layout: LayoutOptions,
}

/// What a chain did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChainReport {
    /// Events, and the batches that they were in.
    pub events: u64,
    /// Batches.
    pub batches: u64,
    /// Columns that have data.
    pub columns: u64,
    /// Those of which the values were deserialised.
    pub decoded_columns: u64,
    /// Those of which the values were serialised again; the others went on as the bytes that they came as.
    pub encoded_columns: u64,
    /// Compressed bytes of the events, as the source stores them.
    pub read_bytes: u64,
    /// Bytes of all serialised events.
    pub entry_bytes: u64,
    /// Bytes of the values that they were deserialised to.
    pub value_bytes: u64,
    /// Bytes that went to the output.
    pub written_bytes: u64,
    /// Objects that went to the output; a file is one.
    pub written_objects: u64,
    /// From when the first events were asked for until the last ones were in their place.
    pub seconds: f64,
    /// Processor time of all threads for each stage, in seconds.
    pub decompress_seconds: f64,
    /// Bytes to values.
    pub deserialise_seconds: f64,
    /// Values to bytes.
    pub serialise_seconds: f64,
    /// Bytes to baskets or blocks.
    pub compress_seconds: f64,
}
