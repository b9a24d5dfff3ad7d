//! The objects of a server: in memory, or the files of a directory.

use bytes::Bytes;
use percent_encoding::percent_decode_str;
use sapwood_core::Result;
use sapwood_source::{LocalSource, MemorySource, Source};
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The objects of a server, by path.
#[derive(Debug, Clone)]
pub enum Objects {
    /// Objects in memory, by path, which begins with a slash.
    Memory(HashMap<String, Bytes>),
    /// Files below a directory.
    Directory(PathBuf),
}

impl Objects {
    /// One object in memory.
    pub fn one(path: &str, content: impl Into<Bytes>) -> Self {
        Objects::Memory(HashMap::from([(path.to_owned(), content.into())]))
    }

    /// The object at the path of a URL (its query is ignored); `None` if there is none.
    pub(crate) fn find(&self, path: &str) -> Result<Option<Arc<dyn Source>>> {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        match self {
            Objects::Memory(objects) => Ok(objects
                .get(path)
                .map(|bytes| Arc::new(MemorySource::new(bytes.clone())) as Arc<dyn Source>)),
            Objects::Directory(root) => {
                let relative =
                    percent_decode_str(path.trim_start_matches('/')).decode_utf8_lossy().into_owned();
                let inside =
                    Path::new(&relative).components().all(|part| matches!(part, Component::Normal(_)));
                let file = root.join(&relative);
                match inside && file.is_file() {
                    true => Ok(Some(Arc::new(LocalSource::open(file)?))),
                    false => Ok(None),
                }
            }
        }
    }
}
