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
    _temporary: Option<TemporaryFile>,
}

/// Deleted when dropped.
struct TemporaryFile(PathBuf);

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            log::warn!("the temporary file {} could not be deleted: {error}", self.0.display());
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
    let place = std::env::temp_dir().join(format!("sapwood-{}.root", Id::random()));
    let temporary = TemporaryFile(place);
    let name = temporary.0.to_str().ok_or_else(|| {
        Error::new(ErrorKind::Io, "the folder of temporary files has no valid name").hint("set TMPDIR")
    })?;
    let sink = create(name, &OpenOptions::default().source, &runtime()?)?;
    repack(&[Input::Open(file)], sink, "input.root", &options(path, branches, None, threads), call)?;
    let file = File::open_root(name, OpenOptions::default(), call)?;
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
    Ok(file.tree(path, None, &mut call.step())?.rntuple().is_some())
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
