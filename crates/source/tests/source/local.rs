//! Local files: paths, URLs, errors, and files that change.

use super::error_of;
use sapwood_core::{ByteRange, Deadline, ErrorKind};
use sapwood_source::{LocalSource, SHORT_HEAD, Source, SourceOptions, open};
use sapwood_testkit::sample;
use std::fs;
use std::path::PathBuf;

/// A directory for one test, which is removed with its contents.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sapwood-source-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    pub(crate) fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn paths_and_urls() {
    let directory = Directory::new("urls");
    let content = sample(1 << 20);
    let path = directory.file("a b%20#c.root", &content);
    let path = path.to_str().unwrap();
    let url = format!("file://{}", path.replace('%', "%25").replace(' ', "%20").replace('#', "%23"));
    for url in [path.to_owned(), url] {
        let options = SourceOptions::default();
        let opened = open(&url, &options).await.unwrap();
        assert_eq!(opened.source.identity().url, path);
        assert_eq!(opened.known.get_from(0).len() as u64, SHORT_HEAD);
        assert_eq!(opened.known.get_from((1 << 20) - 1), content.slice((1 << 20) - 1..));
        let counts = options.counters.snapshot();
        assert_eq!((counts.requests, counts.ranges, counts.round_trips), (1, 2, 0));
        assert_eq!(counts.fetched_bytes, SHORT_HEAD + (16 << 10));
    }
}

#[tokio::test]
async fn errors_have_kinds() {
    let directory = Directory::new("errors");
    let missing = directory.0.join("missing.root");
    let options = SourceOptions::default();
    let error = error_of(open(missing.to_str().unwrap(), &options).await);
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("missing.root"));
    let error = error_of(open(directory.0.to_str().unwrap(), &options).await);
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[tokio::test]
async fn a_file_that_changes() {
    let directory = Directory::new("changes");
    let path = directory.file("f.root", &[1; 1000]);
    let source = LocalSource::open(&path).unwrap();
    let ranges = [ByteRange { start: 500, len: 100 }];
    assert!(source.read_ranges(&ranges, Deadline::default()).await.is_ok());
    for now in [vec![2; 1001], vec![3; 100]] {
        fs::write(&path, now).unwrap();
        let error = error_of(source.read_ranges(&ranges, Deadline::default()).await);
        assert_eq!(error.kind(), ErrorKind::Changed);
    }
}

#[tokio::test]
async fn a_file_that_is_replaced_stays_what_it_was() {
    let directory = Directory::new("replaced");
    let path = directory.file("f.root", b"old");
    let source = LocalSource::open(&path).unwrap();
    fs::rename(directory.file("new", b"newer"), &path).unwrap();
    let ranges = [ByteRange { start: 0, len: 3 }];
    assert_eq!(source.read_ranges(&ranges, Deadline::default()).await.unwrap(), ["old"]);
}
