//! Opening whatever a path or URL names: a ROOT file, or a dataset.

use sapwood_core::redact;
use sapwood_core::{Call, ErrorKind, Result};
use sapwood_dataset::DatasetUrl;
use sapwood_rewrite::repack::{Input, InputFile};
use sapwood_root::{File, explained};
use sapwood_source::OpenOptions;
use std::sync::Arc;

/// Opens a path or URL: that of a file, or of a dataset, whose version may be named behind it (`s3://bucket/name@v12`).
///
/// A file may have replicas (`options.replicas`); with these, `url` may also be a name that is no location by itself. For
/// a metalink or a similar document, what it describes is opened.
///
/// # Errors
/// Those of [`sapwood_source::open`]; `NotRoot`, `Truncated` or `Corrupt` if it is no sound ROOT file; those of datasets.
pub fn open(url: &str, options: OpenOptions, call: &mut Call<'_>) -> Result<File> {
    let counters = Arc::clone(&options.counters);
    let dataset = DatasetUrl::of(url, &options).transpose().map_err(|error| error.url(redact(url)))?;
    if let Some(dataset) = &dataset
        && let Some(file) = dataset.open(&options, call).map_err(|error| explained(error, url, &counters))?
    {
        return Ok(file);
    }
    File::open_root(url, options, call).map_err(|error| match (error.kind(), &dataset) {
        (ErrorKind::NotFound, Some(_)) => error.hint("there is no file there, and no dataset"),
        _ => error,
    })
}

/// An input of `repack` and of datasets that is opened when its turn comes.
pub fn input(url: &str, options: OpenOptions) -> Input {
    Input::At(InputFile { url: url.to_owned(), options: Box::new(options), open })
}
