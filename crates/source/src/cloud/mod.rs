//! Object stores: `s3://`, `gs://`, `az://`. The crate `object_store` finds credentials, signs and lists;
//! bytes are read as from any HTTP server, since that is what these are.
//!
//! - `location`: what a URL names. `options`: how stores are reached.
//! - `s3`, `google`, `azure`: where an object is, and who may read it.
//! - `upload`: an object that is written in parts; `kept`: what of it is kept for a later run. `objects`: a store of many.
//! - `connector`: the connections that `object_store` uses.

mod azure;
mod connector;
mod google;
mod kept;
mod location;
mod objects;
mod options;
mod s3;
mod upload;

pub(crate) use objects::CloudStore;
pub use options::StorageOptions;
pub(crate) use upload::Upload;

use crate::credentials::{Access, Finding, Sign};
use crate::http::{Manner, given, open_object};
use crate::listing::Entry;
use crate::{BoxFuture, OpenOptions, Opened, redact};
use location::{Location, Provider};
use object_store::list::PaginatedListStore;
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{ObjectStore, RetryConfig};
use reqwest::Url;
use sapwood_core::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::time::Duration;

/// A bucket (or container): where its objects are, and who may read them.
trait Bucket: Sign {
    /// The URL of an object.
    fn url(&self, key: &str) -> Result<Url>;

    /// What lists the bucket.
    fn store(&self) -> Result<Arc<dyn ObjectStore>>;

    /// What puts, lists and removes objects, by one message each: it repeats nothing.
    fn objects(&self) -> Result<Arc<dyn Objects>>;

    /// What takes objects in parts.
    fn uploads(&self) -> Result<Arc<dyn MultipartStore>>;

    /// How its server answers.
    fn manner(&self) -> Manner {
        Manner::OneRange
    }

    /// The bucket as it turned out to be while it was asked, if that is another.
    fn corrected(&self) -> Option<Arc<dyn Bucket>> {
        None
    }
}

/// What `object_store` does with single objects.
trait Objects: ObjectStore + PaginatedListStore {}

impl<S: ObjectStore + PaginatedListStore> Objects for S {}

/// Where an object is on the web: which store a URL such as `s3://bucket/key` means is for the options and the
/// environment to say. `None` if it means no object of a store.
pub fn address(url: &str, options: &OpenOptions) -> Option<String> {
    let location = Location::parse(url).ok()?;
    let address = bucket(&location, options).ok()?.url(&location.key).ok()?;
    Some(address.into())
}

/// True for the schemes that are read here.
pub(crate) fn is_scheme(scheme: &str) -> bool {
    Provider::of(scheme).is_some()
}

fn bucket(location: &Location, options: &OpenOptions) -> Result<Arc<dyn Bucket>> {
    Ok(match location.provider {
        Provider::S3 => Arc::new(s3::S3::new(location, options)),
        Provider::Google => Arc::new(google::Google::new(location, options)),
        Provider::Azure => Arc::new(azure::Azure::new(location, options)?),
    })
}

/// Opens an object. See [`crate::open`].
pub(crate) async fn open(url: &str, options: &OpenOptions) -> Result<Opened> {
    let name = redact(url);
    let location = Location::parse(url).map_err(|error| error.url(&name))?;
    let mut bucket = bucket(&location, options).map_err(|error| error.url(&name))?;
    loop {
        let access = access(&bucket, &location, options).map_err(|error| error.url(&name))?;
        let opened = open_object(&name, access, bucket.manner(), options).await;
        match bucket.corrected().filter(|_| opened.is_err()) {
            Some(corrected) => bucket = corrected,
            None => return opened,
        }
    }
}

/// Who may read the object at a URL.
pub(crate) fn access_of(url: &str, options: &OpenOptions) -> Result<Access> {
    let location = Location::parse(url)?;
    access(&bucket(&location, options)?, &location, options)
}

fn access(bucket: &Arc<dyn Bucket>, location: &Location, options: &OpenOptions) -> Result<Access> {
    given::access_by(bucket.url(&location.key)?, None, Box::new(Arc::clone(bucket)), options)
}

impl Sign for Arc<dyn Bucket> {
    fn sign<'a>(
        &'a self,
        method: &'a reqwest::Method,
        url: &'a Url,
        headers: reqwest::header::HeaderMap,
    ) -> BoxFuture<'a, Result<crate::credentials::Signed>> {
        (**self).sign(method, url, headers)
    }

    fn renew(&self) {
        (**self).renew();
    }

    fn findings(&self, url: &Url) -> Vec<Finding> {
        (**self).findings(url)
    }

    fn follows(&self, original: &Url, url: &Url) -> bool {
        (**self).follows(original, url)
    }

    fn may_go_without(&self) -> bool {
        (**self).may_go_without()
    }

    fn expires_by_400(&self) -> bool {
        (**self).expires_by_400()
    }

    fn learn(&self, answer: &reqwest::header::HeaderMap) {
        (**self).learn(answer);
    }

    fn advice(&self) -> &'static str {
        (**self).advice()
    }
}

/// The entries of the directory at a URL, sorted by name.
pub(crate) async fn list(url: &str, options: &OpenOptions) -> Result<Vec<Entry>> {
    let location = Location::parse(url)?;
    let bucket = bucket(&location, options)?;
    let prefix = Path::parse(location.key.trim_end_matches('/'))
        .map_err(|_| Error::usage("this is not the path of a directory"))?;
    let prefix = Some(&prefix).filter(|prefix| !prefix.as_ref().is_empty());
    let store = bucket.store()?;
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
    let entry = |is_directory| move |name| Entry { name, is_directory };
    let mut entries: Vec<_> = directories.map(entry(true)).chain(files.map(entry(false))).collect();
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    match entries.is_empty() {
        true => Err(Error::new(ErrorKind::NotFound, "there is no such directory, or it is empty")),
        false => Ok(entries),
    }
}

/// What a failure of `object_store` means.
fn failure(error: object_store::Error, bucket: &dyn Bucket) -> Error {
    use object_store::Error as Failure;
    let (kind, message) = match &error {
        Failure::NotFound { .. } => (ErrorKind::NotFound, "there is no such bucket"),
        Failure::PermissionDenied { .. } | Failure::Unauthenticated { .. } => {
            let message = "the server does not let us list the bucket";
            return Error::new(ErrorKind::Permission, message).hint(bucket.advice());
        }
        _ => (ErrorKind::Server, "the bucket could not be listed"),
    };
    Error::new(kind, message).caused_by(error)
}

/// Why no credentials could be had where there should be some.
fn no_credentials(error: object_store::Error, bucket: &dyn Bucket) -> Error {
    let message = "the credentials that were found could not be exchanged for those of the store";
    Error::new(ErrorKind::Permission, message).hint(bucket.advice()).caused_by(error)
}

/// The crate's own retries: short, because ours stand above them.
fn retry() -> RetryConfig {
    RetryConfig { max_retries: 2, retry_timeout: Duration::from_secs(15), ..RetryConfig::default() }
}

/// For those that must not be sent twice, and for what our own retries stand above.
fn once() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}
