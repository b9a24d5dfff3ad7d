//! A bucket: where its objects are, and who may read and write them.

use crate::RetryPolicy;
use crate::http::RangeSupport;
use object_store::client::{HttpRequest, HttpRequestBody};
use object_store::list::PaginatedListStore;
use object_store::multipart::MultipartStore;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};
use reqwest::header::HeaderMap;
use reqwest::{Method, Url};
use sapwood_core::{Error, ErrorKind, Result};
use sapwood_credentials::{CredentialId, SignedRequest, Signer};
use std::sync::Arc;
use std::time::Duration;

/// Most retries of `object_store` itself, and the longest time for them: retries of whole calls stand above these.
const MOST_RETRIES: u32 = 2;
const LONGEST: Duration = Duration::from_secs(15);

/// A bucket (or container): where its objects are, and who may read and write them.
pub trait Bucket: Signer {
    /// The URL of an object.
    ///
    /// # Errors
    /// `Usage` if the endpoint or the key makes no legal URL.
    fn url(&self, key: &str) -> Result<Url>;

    /// What lists, puts and removes objects. Without `retries`, it sends each message once.
    ///
    /// # Errors
    /// `Usage` or `Permission` if the settings or credentials make no sense.
    fn client(&self, retries: Option<&RetryPolicy>) -> Result<Arc<dyn ObjectClient>>;

    /// Which ranges its server answers.
    fn ranges(&self) -> RangeSupport {
        RangeSupport::OneRange
    }

    /// The bucket in the region that its server named, if that is another.
    fn corrected(&self) -> Option<Arc<dyn Bucket>> {
        None
    }
}

/// What `object_store` does with the objects of a bucket.
pub trait ObjectClient: ObjectStore + PaginatedListStore + MultipartStore {}

impl<S: ObjectStore + PaginatedListStore + MultipartStore> ObjectClient for S {}

/// The policy as `object_store` takes it.
pub(super) fn retry_config(policy: Option<&RetryPolicy>) -> RetryConfig {
    let Some(policy) = policy else { return RetryConfig { max_retries: 0, ..RetryConfig::default() } };
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: policy.backoff,
            max_backoff: policy.longest_pause,
            ..BackoffConfig::default()
        },
        max_retries: policy.retries().min(MOST_RETRIES) as usize,
        retry_timeout: policy.budget.min(LONGEST),
    }
}

/// The error for credentials that could not be exchanged for those of the store.
pub(super) fn no_credentials(error: object_store::Error, bucket: &dyn Bucket) -> Error {
    let message = "the credentials that were found could not be exchanged for those of the store";
    Error::new(ErrorKind::Permission, message).hint(bucket.advice()).caused_by(error)
}

/// A request that `object_store` authorizes with a credential.
pub(super) fn authorized(
    method: &Method,
    url: &Url,
    headers: HeaderMap,
    credential: CredentialId,
    authorize: impl FnOnce(&mut HttpRequest) -> object_store::Result<()>,
) -> Result<SignedRequest> {
    let wrong = || Error::usage("the name of the object does not form a legal URL");
    let mut request = HttpRequest::new(HttpRequestBody::empty());
    *request.method_mut() = method.clone();
    *request.headers_mut() = headers;
    *request.uri_mut() = url.as_str().parse().map_err(|_| wrong())?;
    authorize(&mut request)
        .map_err(|error| Error::new(ErrorKind::Io, "the request could not be signed").caused_by(error))?;
    let (mut parts, _) = request.into_parts();
    parts.headers.values_mut().for_each(|value| value.set_sensitive(true));
    let url = parts.uri.to_string().parse().map_err(|_| wrong())?;
    Ok(SignedRequest { url, headers: parts.headers, credential })
}
