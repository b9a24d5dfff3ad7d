//! The corpus of real files (`SAPWOOD_CORPUS`, by default beside the repository), and its expected contents.

use sapwood_core::{ErrorKind, ParseStep, Result, Segments};
use sapwood_tfile::{KeyEntry, Record, StreamerInfos, TFile};
use sapwood_ttree::TTree;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The names of all files of the corpus; none, with a message, if it is not there.
pub(crate) fn files() -> Vec<PathBuf> {
    let folder = folder().join("files");
    let Ok(entries) = folder.read_dir() else {
        eprintln!("no corpus at {}: set SAPWOOD_CORPUS to test with real files", folder.display());
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "root"));
    files.sort();
    files
}

fn folder() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    std::env::var_os("SAPWOOD_CORPUS").map_or_else(default, PathBuf::from)
}

/// What the corpus says about a file; nothing about files that the reference could not open.
pub(crate) fn oracle(file: &Path) -> Value {
    let name = format!("oracle/{}.json.gz", file.file_name().unwrap().display());
    let Ok(packed) = std::fs::read(folder().join(name)) else { return Value::Null };
    let len = u32::from_le_bytes(*packed.last_chunk().unwrap()) as usize;
    let mut plain = vec![0; len];
    libdeflater::Decompressor::new().gzip_decompress(&packed, &mut plain).unwrap();
    serde_json::from_str(&strict(String::from_utf8(plain).unwrap())).unwrap()
}

/// JSON proper: the oracle has lone surrogates for bytes that are not UTF-8, and numbers that are not finite.
fn strict(mut text: String) -> String {
    text = text.replace("\\udc", "\\u00");
    for before in ["[", ",", ":"] {
        for number in ["NaN", "Infinity", "-Infinity"] {
            text = text.replace(&format!("{before}{number}"), &format!("{before}null"));
        }
    }
    text
}

/// An open file of the corpus, wholly in memory.
pub(crate) struct File {
    known: Segments,
    file: TFile,
    streamers: StreamerInfos,
}

impl File {
    /// Opens a file; `None` if its writer never closed it.
    pub(crate) fn open(path: &Path) -> Option<File> {
        let bytes = bytes::Bytes::from(std::fs::read(path).unwrap());
        let size = bytes.len() as u64;
        let mut known = Segments::default();
        known.insert(0, bytes);
        let file = match TFile::open(&known, size) {
            Err(error) if error.kind() == ErrorKind::Truncated => return None,
            opened => done(opened),
        };
        let streamers = done(file.streamers(&known));
        Some(File { known, file, streamers })
    }

    /// All keys of trees.
    pub(crate) fn trees(&self) -> Vec<KeyEntry> {
        let mut entries = done(self.file.list(&self.known));
        entries.retain(|entry| {
            let class = entry.key.class_name.as_str();
            class == "TTree" || self.streamers.derives_from(class, "TTree")
        });
        entries
    }

    /// The record of a tree, the descriptions of classes and the size of the file.
    pub(crate) fn record(&self, entry: &KeyEntry) -> (Record, &StreamerInfos, u64) {
        (done(self.file.record(&self.known, &entry.key)), &self.streamers, self.file.size)
    }

    /// Parses the tree of a key.
    pub(crate) fn tree(&self, entry: &KeyEntry) -> Result<TTree> {
        let record = done(self.file.record(&self.known, &entry.key));
        TTree::parse(&entry.key.class_name, &record.payload, record.key_len, self.file.size, &self.streamers)
    }
}

fn done<T>(step: Result<ParseStep<T>>) -> T {
    match step.unwrap() {
        ParseStep::Done(value) => value,
        ParseStep::Need(ranges) => panic!("all bytes are there, and {ranges:?} are asked for"),
    }
}
