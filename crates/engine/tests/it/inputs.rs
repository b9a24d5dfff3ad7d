//! The inputs of the tests: `data/mixed.root`, and the small files of the corpus if it is available.

use sapwood::{Column, File, Meaning, ReadOptions, Tree};
use sapwood_source::{DelayedSource, MemorySource};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Made by `data/make_mixed.py`.
pub(crate) const MIXED: &[u8] = include_bytes!("../data/mixed.root");

/// Files of the corpus of at most `most` bytes: name and content. Without a corpus, none, with a message.
pub(crate) fn corpus(most: u64) -> Vec<(String, Vec<u8>)> {
    let folder = std::env::var_os("SAPWOOD_CORPUS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
        PathBuf::from,
    );
    let Ok(entries) = std::fs::read_dir(folder.join("files")) else {
        eprintln!("no corpus in {}: only mixed.root is read", folder.display());
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .into_iter()
        .filter(|path| path.metadata().unwrap().len() <= most)
        .map(|path| (path.file_name().unwrap().display().to_string(), std::fs::read(&path).unwrap()))
        .collect()
}

pub(crate) fn never() -> impl FnMut() -> bool {
    || false
}

/// A file in memory.
pub(crate) fn open(content: &[u8]) -> sapwood::Result<File> {
    let source = MemorySource::named("memory.root", None, content.to_vec());
    File::from_source(Arc::new(source), call!())
}

/// A file behind a source with a delay.
pub(crate) fn open_distant(content: &[u8]) -> sapwood::Result<File> {
    let source = MemorySource::named("distant.root", None, content.to_vec());
    let distant = DelayedSource::new(Arc::new(source), Duration::ZERO, None);
    File::from_source(Arc::new(distant), call!())
}

/// The trees of a file that can be opened, by path and cycle.
pub(crate) fn trees(file: &File) -> Vec<Tree> {
    let keys = file.keys(call!()).unwrap_or_default();
    keys.iter()
        .filter(|entry| ["TTree", "TNtuple", "TNtupleD"].contains(&entry.key.class_name.as_str()))
        .filter_map(|entry| file.tree(&entry.path, Some(entry.key.cycle), call!()).ok())
        .collect()
}

/// Indices of the branches that can be read.
pub(crate) fn readable(tree: &Tree) -> Vec<usize> {
    let outcomes = tree.ttree().unwrap().branch_types().iter().enumerate();
    outcomes
        .filter(|(_, outcome)| matches!(outcome.meaning, Meaning::Column(_)))
        .map(|(index, _)| index)
        .collect()
}

/// Entries of one branch, on two threads.
pub(crate) fn column(tree: &Tree, branch: usize, entries: std::ops::Range<u64>) -> sapwood::Result<Column> {
    let options = ReadOptions { threads: Some(2) };
    tree.read(&[branch], entries, &options, call!()).map(|mut columns| columns.remove(0))
}
