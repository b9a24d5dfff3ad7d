//! From the URL of an object to its bucket, its bytes, and the listing of its directory.

use super::azure::Azure;
use super::bucket::Bucket;
use super::google::Google;
use super::location::ObjectLocation;
use super::s3::S3;
use crate::http::{ObjectReader, access_by, open_object};
use crate::{ListingEntry, OpenedSource, SourceOptions};
use object_store::path::Path;
use sapwood_core::{Error, ErrorKind, Protocol, Result, redact};
use sapwood_credentials::{Access, Signer};
use std::sync::Arc;

/// The HTTP URL of an object: options and environment decide which store a URL such as `s3://bucket/key` means.
/// `None` if it names no object.
pub fn address(url: &str, options: &SourceOptions) -> Option<String> {
    let location = ObjectLocation::parse(url).ok()?;
    let address = open_bucket(&location, options).ok()?.url(&location.key).ok()?;
    Some(address.into())
}

/// The bucket of an object. Nothing is sent yet.
///
/// # Errors
/// `Usage` if the options and the environment do not say where the bucket is.
pub fn open_bucket(location: &ObjectLocation, options: &SourceOptions) -> Result<Arc<dyn Bucket>> {
    Ok(match location.protocol {
        Protocol::Google => Arc::new(Google::new(location, options)),
        Protocol::Azure => Arc::new(Azure::new(location, options)?),
        _ => Arc::new(S3::new(location, options)),
    })
}

/// Opens an object. See [`crate::open`].
pub(crate) async fn open(url: &str, options: &SourceOptions) -> Result<OpenedSource> {
    let name = redact(url);
    let location = ObjectLocation::parse(url).map_err(|error| error.url(&name))?;
    let mut bucket = open_bucket(&location, options).map_err(|error| error.url(&name))?;
    loop {
        let access = access(&bucket, &location, options).map_err(|error| error.url(&name))?;
        let opened = open_object(&name, access, bucket.ranges(), options).await;
        match bucket.corrected().filter(|_| opened.is_err()) {
            Some(corrected) => bucket = corrected,
            None => return opened,
        }
    }
}

/// The credentials for the object at a URL.
pub(crate) fn access_of(url: &str, options: &SourceOptions) -> Result<Access> {
    let location = ObjectLocation::parse(url)?;
    access(&open_bucket(&location, options)?, &location, options)
}

fn access(bucket: &Arc<dyn Bucket>, location: &ObjectLocation, options: &SourceOptions) -> Result<Access> {
    access_by(bucket.url(&location.key)?, None, signer(bucket), options)
}

/// A reader of the objects of a bucket, each by a request or two, which are counted for `server`.
///
/// # Errors
/// `Usage` if the headers in the options are illegal.
pub fn object_reader(
    bucket: &Arc<dyn Bucket>,
    server: Option<String>,
    options: &SourceOptions,
) -> Result<ObjectReader> {
    Ok(ObjectReader::new(access_by(bucket.url("")?, None, signer(bucket), options)?, server, options))
}

fn signer(bucket: &Arc<dyn Bucket>) -> Arc<dyn Signer> {
    Arc::<dyn Bucket>::clone(bucket)
}

/// The entries of the directory at a URL, sorted by name.
pub(crate) async fn list(url: &str, options: &SourceOptions) -> Result<Vec<ListingEntry>> {
    let location = ObjectLocation::parse(url)?;
    let bucket = open_bucket(&location, options)?;
    let prefix = Path::parse(location.key.trim_end_matches('/'))
        .map_err(|_| Error::usage("this is not the path of a directory"))?;
    let prefix = Some(&prefix).filter(|prefix| !prefix.as_ref().is_empty());
    let store = bucket.client(Some(&options.retry))?;
    let listing = store.list_with_delimiter(prefix);
    let listing = match tokio::time::timeout_at(options.deadline.instant().into(), listing).await {
        Ok(listing) => listing.map_err(|error| failure(error, bucket.as_ref()))?,
        Err(_) => {
            return Err(Error::new(
                ErrorKind::Timeout,
                "the deadline passed before the directory was listed",
            ));
        }
    };
    let name = |path: &Path| path.filename().map(str::to_owned);
    let directories = listing.common_prefixes.iter().filter_map(name);
    let files = listing.objects.iter().filter_map(|object| name(&object.location));
    let entry = |is_directory| move |name| ListingEntry { name, is_directory };
    let mut entries: Vec<_> = directories.map(entry(true)).chain(files.map(entry(false))).collect();
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    match entries.is_empty() {
        true => Err(Error::new(ErrorKind::NotFound, "there is no such directory, or it is empty")),
        false => Ok(entries),
    }
}

/// The error for a failure of `object_store`.
fn failure(error: object_store::Error, bucket: &dyn Bucket) -> Error {
    use object_store::Error as Failure;
    let (kind, message) = match &error {
        Failure::NotFound { .. } => (ErrorKind::NotFound, "there is no such bucket"),
        Failure::PermissionDenied { .. } | Failure::Unauthenticated { .. } => {
            let message = "the server refuses to list the bucket";
            return Error::new(ErrorKind::Permission, message).hint(bucket.advice());
        }
        _ => (ErrorKind::Server, "the bucket could not be listed"),
    };
    Error::new(kind, message).caused_by(error)
}
