//! Opens a path or URL: a ROOT file, or a dataset.

use sapwood_core::redact;
use sapwood_core::{Call, ErrorKind, Result};
use sapwood_dataset::DatasetUrl;
use sapwood_rewrite::repack::{Input, InputFile};
use sapwood_root::{File, OpenOptions, explained};
use std::sync::Arc;

/// Opens a path or URL of a file, or of a dataset, with or without a version (`s3://bucket/name@v12`).
///
/// With replicas (`options.replicas`), `url` may also be a logical name. For a metalink or a similar document, this opens
/// the file that it describes.
///
/// # Errors
/// Those of [`sapwood_source::open`]; `NotRoot`, `Truncated` or `Corrupt` if it is not a sound ROOT file; those of datasets.
pub fn open(url: &str, options: OpenOptions, call: &mut Call<'_>) -> Result<File> {
    let counters = Arc::clone(&options.source.counters);
    let dataset = DatasetUrl::of(url, &options).transpose().map_err(|error| error.url(redact(url)))?;
    if let Some(dataset) = &dataset
        && let Some(file) = dataset.open(&options, call).map_err(|error| explained(error, url, &counters))?
    {
        return Ok(file);
    }
    File::open_root(url, options, call).map_err(|error| match (error.kind(), &dataset) {
        (ErrorKind::NotFound, Some(_)) => error.hint("there is neither a file nor a dataset"),
        _ => error,
    })
}

/// An input of `repack` and of datasets that is opened when its turn comes.
pub fn input(url: &str, options: OpenOptions) -> Input {
    Input::At(InputFile { url: url.to_owned(), options: Box::new(options), open })
}
