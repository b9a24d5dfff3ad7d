//! Tests of object stores and credentials, with servers that give scripted answers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail loudly")]

mod certificates;
mod doctor;
mod faults;
mod listing;
mod s3;
mod stores;
mod tokens;

use bytes::Bytes;
use sapwood_core::{ByteRange, Error, Result};
use sapwood_source::{OpenedSource, SourceOptions};

/// Larger than head and tail together.
const SIZE: usize = (1 << 20) + 17;

/// Reads ranges of a file and compares them with the expected bytes.
async fn check(opened: &OpenedSource, content: &Bytes, options: &SourceOptions) -> Result<()> {
    let step = content.len() as u64 / 10;
    let ranges: Vec<_> = (0..10).map(|i| ByteRange { start: i * step, len: 1000 }).collect();
    let answers = opened.source.read_ranges(&ranges, options.deadline).await?;
    for (range, answer) in ranges.iter().zip(answers) {
        assert_eq!(answer, content[range.start as usize..range.end() as usize]);
    }
    Ok(())
}

/// The error of a result whose value does not matter.
fn error_of<T>(result: Result<T>) -> Error {
    result.err().unwrap()
}
