//! Opening a dataset as a file: which paths and URLs may name one, and at which version.

use super::contents::file_of;
use super::view::DatasetView;
use sapwood_core::{Call, Error, ErrorKind, Result};
use sapwood_root::{File, OpenOptions};
use sapwood_source::{Trace, is_document, is_on_network};
use sapwood_store::Store;
use sapwood_store::open_store;
use sapwood_stripe::{Dataset, Log, Version, keys};
use sapwood_table::pool::wait;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Prefix of a version that is a moment, in milliseconds since 1970.
const MOMENT: &str = "time:";

/// A path or URL that may name a dataset: its store, and the version.
pub struct DatasetUrl {
    store: Arc<dyn Store>,
    version: Version,
}

impl DatasetUrl {
    /// Parses a path or URL; `None` if it cannot name a dataset, or clearly names a file.
    pub fn of(url: &str, options: &OpenOptions) -> Option<Result<DatasetUrl>> {
        if !options.replicas.is_empty() || is_document(url) {
            return None;
        }
        let (place, version) = parts(url);
        let local = place.strip_prefix("file://").unwrap_or(place);
        let is_local = !local.contains("://");
        let last = place.rsplit('/').next().unwrap_or_default();
        // A look at a distant file system costs time, and may hang.
        let is_distant = !is_local || is_on_network(Path::new(local));
        if is_distant && last.contains(".root") || is_local && !Path::new(local).join(keys::FORMAT).is_file()
        {
            return None;
        }
        let store = match open_store(place, &options.source) {
            Ok(store) => store,
            Err(error) => return is_local.then_some(Err(error)),
        };
        Some(version.map(|version| DatasetUrl { store, version }))
    }

    /// The URL of the object that every dataset has, if `url` may name a dataset.
    pub fn mark(url: &str, options: &OpenOptions) -> Option<String> {
        DatasetUrl::of(url, options)?.ok()?;
        Some(format!("{}/{}", parts(url).0, keys::FORMAT))
    }

    /// Opens the dataset as a file; `None` if there is none.
    pub fn open(&self, options: &OpenOptions, call: &mut Call<'_>) -> Result<Option<File>> {
        let begin = Instant::now();
        let opened = Dataset::open(Arc::clone(&self.store), None, &self.version, call.deadline());
        match wait(opened, call) {
            Ok(dataset) => {
                dataset.open_bases_with(options.source.clone());
                read_dataset(&dataset, begin, options, call).map(Some)
            }
            Err(error) if Dataset::is_there(&error) => Err(options.source.counters.explain(error)),
            // Without permission to list a bucket, a store refuses access to an object that does not exist.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Permission) => Ok(None),
            Err(error) => Err(options.source.counters.explain(error)),
        }
    }
}

/// Opens a version of a dataset as a file that holds its tree.
///
/// # Errors
/// `Missing` if the version is empty; `Corrupt` or `Unsupported` if its class descriptions are broken.
pub fn file_of_dataset(dataset: &Dataset, options: &OpenOptions, call: &mut Call<'_>) -> Result<File> {
    read_dataset(dataset, Instant::now(), options, call)
}

/// Opens a dataset whose log is not in its store, at the version after the `@` in the URL, as a file.
///
/// # Errors
/// As [`file_of_dataset`]; `NotFound` if there is no such log; those of the store and of the log.
pub fn open_dataset(
    url: &str,
    log: Arc<dyn Log>,
    options: &OpenOptions,
    call: &mut Call<'_>,
) -> Result<File> {
    let begin = Instant::now();
    let (place, version) = parts(url);
    let (store, version) = (open_store(place, &options.source)?, version?);
    let dataset = wait(Dataset::open(store, Some(log), &version, call.deadline()), call)?;
    dataset.open_bases_with(options.source.clone());
    read_dataset(&dataset, begin, options, call)
}

fn read_dataset(
    dataset: &Dataset,
    begin: Instant,
    options: &OpenOptions,
    call: &mut Call<'_>,
) -> Result<File> {
    let view = DatasetView::new(dataset, Arc::clone(&options.source.counters))?;
    let origin = (view.url().to_owned(), options.clone());
    file_of(view, Trace::new(begin), origin, call)
}

/// Splits off the version after an `@` in the last part.
fn parts(url: &str) -> (&str, Result<Version>) {
    let start = url.rfind('/').map_or(0, |slash| slash + 1);
    let at = url.get(start..).and_then(|last| last.rfind('@')).map(|at| start + at);
    let Some((place, version)) = at.and_then(|at| Some((url.get(..at)?, url.get(at + 1..)?))) else {
        return (url, Ok(Version::Latest));
    };
    let version = match version.strip_prefix(MOMENT) {
        Some(moment) => moment.parse().map(Version::Time).map_err(|_| {
            Error::usage(format!("'{moment}' is not a time")).hint("write it in milliseconds since 1970")
        }),
        None => version.parse(),
    };
    (place, version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_follows_the_last_part() {
        let named = |url| {
            let (place, version) = parts(url);
            (place, version.unwrap())
        };
        assert_eq!(named("s3://b/ttbar"), ("s3://b/ttbar", Version::Latest));
        assert_eq!(named("s3://b/ttbar@v12"), ("s3://b/ttbar", Version::Number(12)));
        assert_eq!(named("az://c@account/t@gold"), ("az://c@account/t", Version::Tag("gold".into())));
        assert_eq!(named("az://c@account/t"), ("az://c@account/t", Version::Latest));
        assert_eq!(named("t@time:1700"), ("t", Version::Time(1700)));
        assert!(parts("t@time:soon").1.is_err() && parts("t@a b").1.is_err());
    }
}
