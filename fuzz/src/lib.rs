//! What the fuzz targets share: an input as a whole file, or as the payload of one record; invented objects and RNTuples.

#[path = "../../crates/streamer/tests/hostile/describe.rs"]
mod describe;
#[path = "../../crates/streamer/tests/hostile/invent.rs"]
mod invent;
#[path = "../../crates/rntuple/tests/hostile/sealed.rs"]
pub mod rntuple;

use bytes::Bytes;
use sapwood_core::{Result, Segments, ParseStep};
use sapwood_tfile::{Record, TFile};

/// A file all of which is known.
pub struct Whole {
    /// The file.
    pub file: TFile,
    known: Segments,
}

impl Whole {
    /// Opens an input as a file.
    pub fn open(data: &[u8]) -> Option<Whole> {
        let mut known = Segments::default();
        known.insert(0, Bytes::copy_from_slice(data));
        match TFile::open(&known, data.len() as u64).ok()? {
            ParseStep::Done(file) => Some(Whole { file, known }),
            ParseStep::Need(ranges) => panic!("all is known, and yet {ranges:?} is asked for"),
        }
    }

    /// What a parser answers. It has no reason to ask for more.
    pub fn get<T>(&self, parse: impl Fn(&TFile, &Segments) -> Result<ParseStep<T>>) -> Option<T> {
        match parse(&self.file, &self.known).ok()? {
            ParseStep::Done(value) => Some(value),
            ParseStep::Need(ranges) => panic!("all is known, and yet {ranges:?} is asked for"),
        }
    }
}

/// An input as the payload of a record, behind a key of 60 bytes.
pub fn as_record(data: &[u8]) -> Record {
    Record { payload: Bytes::copy_from_slice(data), key_len: 60, offset: 0, compressed: false }
}

/// Invents descriptions of classes, objects and a query from an input, and reads the objects.
pub fn read_something(data: &[u8]) {
    invent::read_something(data);
}
