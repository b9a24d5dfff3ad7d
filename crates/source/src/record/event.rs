//! The events of a recording, and how each is written. `docs/specs/trace.md` describes them.

use super::wire::{RecordedChunk, Wire};
use sapwood_core::ByteRange;

macro_rules! events {
    ($($(#[doc = $doc:literal])+ $number:literal $name:ident { $($(#[doc = $about:literal])+ $field:ident: $type:ty,)* })+) => {
        /// Something that happened in a job.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum RecordedEvent { $($(#[doc = $doc])+ $name { $($(#[doc = $about])+ $field: $type,)* },)+ }

        impl RecordedEvent {
            /// Appends the number of the event, how much later it was than the one before, and its values.
            pub(super) fn put(&self, later: i64, out: &mut Vec<u8>) {
                match self {
                    $(RecordedEvent::$name { $($field,)* } => {
                        Wire::put(&($number as u64), out);
                        later.put(out);
                        $(Wire::put($field, out);)*
                    })+
                }
            }

            /// The event with this number and these values; further values, of later versions, are ignored. `None` if
            /// the number is unknown or the values are invalid.
            pub(super) fn take(number: u64, input: &mut &[u8]) -> Option<RecordedEvent> {
                match number {
                    $($number => Some(RecordedEvent::$name { $($field: <$type as Wire>::take(input)?,)* }),)+
                    _ => None,
                }
            }
        }
    };
}

events! {
    /// The process began to record.
    1 Process {
        /// Number of the process that started it.
        parent: u64,
        /// Name of the program, without its folder and its arguments.
        program: String,
        /// Version of sapwood.
        version: String,
    }
    /// A text that later events refer to by its number.
    2 Name {
        /// The number.
        name: u64,
        /// The text.
        text: String,
    }
    /// A file was opened.
    3 Opened {
        /// Number of the file, in its process.
        file: u64,
        /// Number of the thread, in its process.
        thread: u64,
        /// Microseconds that opening took.
        took: u64,
        /// The URL, without secrets.
        url: String,
        /// Size in bytes.
        size: u64,
        /// The server as `host:port`; empty if there is none.
        server: String,
        /// Messages that opening took.
        requests: u64,
        /// Round trips in sequence that opening took.
        round_trips: u64,
        /// The largest gap, the largest request, the most ranges of a request, the concurrency, and 1 for a source
        /// that never waits: see [`CostModel`](crate::CostModel).
        cost_model: Vec<u64>,
        /// The bytes that opening read.
        known: Vec<ByteRange>,
    }
    /// What is in memory of a file once its structure is known: reads of it need no request.
    4 Known {
        /// The file.
        file: u64,
        /// The known ranges.
        known: Vec<ByteRange>,
    }
    /// A source got a request.
    5 Asked {
        /// The file.
        file: u64,
        /// Number of the request, of its file.
        request: u64,
        /// The requested ranges.
        ranges: Vec<ByteRange>,
    }
    /// The source answered, or failed.
    6 Answered {
        /// The file.
        file: u64,
        /// Number of the request.
        request: u64,
        /// The server as `host:port`; empty if there is none.
        server: String,
        /// The kind of the error; empty for none.
        error: String,
    }
    /// A part of a file's structure was read: keys, or the record of a tree.
    7 Structure {
        /// The file.
        file: u64,
        /// The thread.
        thread: u64,
        /// Microseconds that it took.
        took: u64,
        /// The ranges that were missing.
        ranges: Vec<ByteRange>,
        /// The kind of the error; empty for none.
        error: String,
    }
    /// A read begins.
    8 Read {
        /// Number of the read, in its process.
        read: u64,
        /// The thread.
        thread: u64,
        /// `read`, `scan`, `entries` or `lazy`.
        kind: String,
        /// The file that the tree is in.
        file: u64,
        /// Path of the tree.
        tree: String,
        /// Names of the columns.
        columns: Vec<u64>,
    }
    /// An entry range of a read was planned. Ranges are delivered in the order in which they were planned.
    9 Range {
        /// The read.
        read: u64,
        /// The first entry.
        start: u64,
        /// The entry after the last.
        stop: u64,
        /// First entries of the clusters that it touches, and the entry after the last of these; empty if the range
        /// must not be split.
        clusters: Vec<u64>,
        /// The chunks that it needs.
        chunks: Vec<RecordedChunk>,
    }
    /// The caller asks for the next range.
    10 Next {
        /// The read.
        read: u64,
        /// The thread.
        thread: u64,
    }
    /// The range was delivered as columns.
    11 Delivered {
        /// The read.
        read: u64,
        /// The thread.
        thread: u64,
        /// Microseconds spent waiting for bytes.
        waited: u64,
        /// The kind of the error; empty for none.
        error: String,
    }
    /// A read is over: its outstanding requests are abandoned.
    12 Ended {
        /// The read.
        read: u64,
    }
    /// A lazy reader fetches.
    13 Fetch {
        /// The read.
        read: u64,
        /// The thread.
        thread: u64,
        /// Why: `startup`, `trained`, `trigger`, `declared` or `touched`.
        kind: String,
        /// The window.
        window: u64,
        /// Numbers of the columns, in the read.
        columns: Vec<u64>,
        /// What is fetched.
        chunks: Vec<RecordedChunk>,
    }
    /// The caller touches columns of a window of a lazy reader.
    14 Touch {
        /// The read.
        read: u64,
        /// The thread.
        thread: u64,
        /// The window.
        window: u64,
        /// Numbers of the columns, in the read.
        columns: Vec<u64>,
    }
    /// The touched columns are there.
    15 Touched {
        /// The read.
        read: u64,
        /// The thread.
        thread: u64,
        /// Microseconds spent waiting for bytes.
        waited: u64,
        /// The kind of the error; empty for none.
        error: String,
    }
    /// Events were dropped, because they could not be written as fast as they came.
    16 Lost {
        /// How many.
        events: u64,
    }
    /// A new file was completed.
    17 Wrote {
        /// The thread.
        thread: u64,
        /// Microseconds that its writer took, without the time between calls.
        took: u64,
        /// The URL, without secrets.
        url: String,
        /// Size in bytes.
        size: u64,
        /// Entries of its trees.
        entries: u64,
    }
    /// What the threads of the process have spent since it began to record, in microseconds.
    18 Spent {
        /// CPU time.
        cpu: u64,
        /// Decompression.
        decompress: u64,
        /// Decoding of decompressed bytes.
        decode: u64,
        /// Compression.
        compress: u64,
        /// Waiting until new bytes are written.
        write: u64,
    }
}
