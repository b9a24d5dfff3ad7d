//! Tests of the sources with files, server behaviors and the proxy.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail loudly")]

mod conformance;
mod credentials;
mod faults;
mod local;
mod opening;
mod reading;
mod real_server;
mod tls;
mod versions;

use bytes::Bytes;
use sapwood_core::{ByteRange, CounterValues, Deadline, Error, Result};
use sapwood_source::{OpenedSource, SourceOptions, open};
use sapwood_testkit::{Behaviour, Objects, Server, sample};
use std::time::Duration;

/// Larger than files that are read whole while opening.
const SIZE: usize = (3 << 20) + 17;

/// A server with one object, and options with counters.
struct Zoo {
    server: Server,
    content: Bytes,
    options: SourceOptions,
}

impl Zoo {
    async fn new(behaviour: Behaviour) -> Self {
        Self::sized(behaviour, SIZE).await
    }

    async fn sized(behaviour: Behaviour, size: usize) -> Self {
        let content = sample(size);
        let server = Server::start(Objects::one("/f.root", content.clone()), behaviour).await.unwrap();
        let options = SourceOptions {
            deadline: Deadline::after(Duration::from_secs(60)),
            tail_size: 10_000,
            ..SourceOptions::default()
        };
        Zoo { server, content, options }
    }

    fn url(&self) -> String {
        self.server.url("/f.root")
    }

    async fn open(&self) -> Result<OpenedSource> {
        open(&self.url(), &self.options).await
    }

    /// The counts since the options were made.
    fn counts(&self) -> CounterValues {
        self.options.counters.snapshot()
    }

    /// Ranges of 10 bytes, too far from each other to be merged.
    fn scattered(&self, count: usize) -> Vec<ByteRange> {
        let step = self.content.len() / count;
        (0..count).map(|i| ByteRange { start: (i * step) as u64, len: 10 }).collect()
    }

    async fn read(&self, opened: &OpenedSource, ranges: &[ByteRange]) -> Result<()> {
        let answers = opened.source.read_ranges(ranges, self.options.deadline).await?;
        for (range, answer) in ranges.iter().zip(answers) {
            assert_eq!(answer, self.content[range.start as usize..range.end() as usize]);
        }
        Ok(())
    }
}

/// The error of a result whose value does not matter.
fn error_of<T>(result: Result<T>) -> Error {
    result.err().unwrap()
}
