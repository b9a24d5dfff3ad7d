//! Tests of object stores and credentials against servers that say what the test tells them to.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail loudly")]

mod ahead;
mod certificates;
mod doctor;
mod faults;
mod gateway;
mod listing;
mod objects;
mod s3;
mod scripted;
mod stores;
mod tokens;
mod upload;

use bytes::Bytes;
use sapwood_core::{ByteRange, Deadline, Error, Result};
use sapwood_source::{Environment, OpenOptions, Opened};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Larger than head and tail together.
const SIZE: usize = (1 << 20) + 17;

/// A directory that goes with the test.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("sapwood-cloud-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    /// Writes a file, and returns its path.
    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Options that look for credentials in these variables and this directory only.
    fn options(&self, variables: &[(&str, &str)]) -> OpenOptions {
        let no_machine = [("AWS_EC2_METADATA_DISABLED", "true")];
        let variables = variables.iter().chain(&no_machine);
        let variables: HashMap<_, _> =
            variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        OpenOptions {
            environment: Environment::new(variables, self.0.clone()),
            deadline: Deadline::after(Duration::from_secs(30)),
            tail: 10_000,
            ..OpenOptions::default()
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Reads pieces of a file and compares them with what should be there.
async fn check(opened: &Opened, content: &Bytes, options: &OpenOptions) -> Result<()> {
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
