//! RNTuples as inputs: they become trees of a temporary file, whose baskets are stored.

use super::memory::MemorySink;
use sapwood_core::{Call, Error, ErrorKind, Result};
use sapwood_rewrite::repack::{Input, OutputFormat, RepackOptions, TreeSelection, repack};
use sapwood_root::{File, OpenOptions};
use sapwood_sink::create;
use sapwood_stripe::Id;
use sapwood_table::pool::runtime;
use std::path::PathBuf;

/// Largest file without entries.
const LARGEST: usize = 1 << 30;

/// A file whose entries are in a tree.
pub(super) struct TreeFile {
    pub(super) file: File,
    /// Whether it is a temporary one, with nothing but the chosen branches.
    pub(super) is_converted: bool,
    /// Kept until it is closed.
    _temporary: Option<TemporaryFolder>,
}

/// Deleted when dropped.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> Result<TemporaryFolder> {
        let folder = std::env::temp_dir().join(format!("sapwood-{}", Id::random()));
        let failed = |error| {
            Error::new(ErrorKind::Io, format!("no temporary folder {} could be made", folder.display()))
                .hint("set TMPDIR to a folder with room for the input")
                .caused_by(error)
        };
        std::fs::create_dir(&folder).map_err(failed)?;
        Ok(TemporaryFolder(folder))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            log::warn!("the temporary folder {} could not be deleted: {error}", self.0.display());
        }
    }
}

/// The file itself if the table at `path` is a tree; a temporary one if it is an RNTuple.
///
/// # Errors
/// Those of [`repack`]: `Unsupported`, with the field, if a tree cannot hold its values.
pub(super) fn as_tree(
    file: File,
    path: &str,
    branches: Option<&[String]>,
    threads: Option<usize>,
    call: &mut Call<'_>,
) -> Result<TreeFile> {
    if !is_rntuple(&file, path, call)? {
        return Ok(TreeFile { file, is_converted: false, _temporary: None });
    }
    let temporary = TemporaryFolder::new()?;
    // Messages about the new file show the name of the old one.
    let name =
        file.url().rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("input.root").to_owned();
    let place = temporary.0.join(&name);
    let place = place.to_str().ok_or_else(|| {
        Error::new(ErrorKind::Io, "the folder of temporary files has no valid name").hint("set TMPDIR")
    })?;
    let sink = create(place, &OpenOptions::default().source, &runtime()?)?;
    repack(&[Input::Open(file)], sink, &name, &options(path, branches, None, threads), call)?;
    let file = File::open_root(place, OpenOptions::default(), call)?;
    Ok(TreeFile { file, is_converted: true, _temporary: Some(temporary) })
}

/// Checks that an RNTuple can become a tree; true if the table at `path` is one.
///
/// # Errors
/// As [`as_tree`].
pub(super) fn check(
    file: &File,
    path: &str,
    branches: Option<&[String]>,
    call: &mut Call<'_>,
) -> Result<bool> {
    let is_rntuple = is_rntuple(file, path, call)?;
    if is_rntuple {
        let options = options(path, branches, Some(vec![Vec::new()]), None);
        let sink = Box::new(MemorySink::new(LARGEST));
        repack(&[Input::Open(file.clone())], sink, "input.root", &options, call)?;
    }
    Ok(is_rntuple)
}

fn is_rntuple(file: &File, path: &str, call: &mut Call<'_>) -> Result<bool> {
    if file.dataset_tree().is_some() {
        return Ok(false);
    }
    Ok(file.tree(path, None, &mut call.step())?.ttree().is_err())
}

fn options(
    path: &str,
    branches: Option<&[String]>,
    entries: Option<Vec<Vec<std::ops::Range<u64>>>>,
    threads: Option<usize>,
) -> RepackOptions {
    let branches = branches.map(<[String]>::to_vec);
    let selections = vec![TreeSelection { tree: path.to_owned(), branches, entries }];
    RepackOptions { format: OutputFormat::Tree, selections, threads, ..RepackOptions::default() }
}
