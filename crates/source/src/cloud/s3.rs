//! S3: Amazon's, and compatible services such as Ceph's gateway.

use super::bucket::{Bucket, ObjectClient, authorized, no_credentials, retry_config};
use super::cached::CachedValue;
use super::connector::Connector;
use super::location::{ObjectLocation, object_url};
use crate::{RetryPolicy, SourceOptions};
use object_store::aws::{
    AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, AwsAuthorizer, AwsCredential, AwsCredentialProvider,
};
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Method, Url};
use sapwood_core::{BoxFuture, Error, ErrorKind, Result};
use sapwood_credentials::aws::{S3Keys, S3Settings};
use sapwood_credentials::{
    CredentialFinding, CredentialId, Environment, Secret, SignedRequest, Signer, StorageOptions,
};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The region of a bucket if none is configured.
const REGION: &str = "us-east-1";

/// Regions of buckets that turned out to differ from the configured ones.
static REGIONS: Mutex<Option<HashMap<String, String>>> = Mutex::new(None);

/// A bucket of S3.
pub(super) struct S3 {
    bucket: String,
    options: StorageOptions,
    environment: Environment,
    region: String,
    /// URL of the bucket.
    base: String,
    /// The region that the server names for the bucket, if it is another one.
    elsewhere: OnceLock<String>,
    retry: RetryPolicy,
    access: CachedValue<S3Access>,
}

/// Settings and credentials that were found.
#[derive(Clone)]
struct S3Access {
    settings: Arc<S3Settings>,
    provider: Option<AwsCredentialProvider>,
}

impl S3 {
    pub(super) fn new(location: &ObjectLocation, options: &SourceOptions) -> Self {
        let mut storage = options.storage.clone();
        if storage.endpoint.is_none() {
            storage.endpoint.clone_from(&location.endpoint);
        }
        let settings = S3Settings::find(&storage, &options.environment);
        let learned = {
            let regions = REGIONS.lock().unwrap_or_else(PoisonError::into_inner);
            regions.as_ref().and_then(|regions| regions.get(&location.bucket).cloned())
        };
        let region = match &settings.endpoint {
            Some(_) => settings.region,
            None => learned.or(settings.region),
        };
        Self::at(
            &location.bucket,
            region,
            settings.endpoint.as_deref(),
            storage,
            &options.environment,
            options.retry,
        )
    }

    fn at(
        bucket: &str,
        region: Option<String>,
        endpoint: Option<&str>,
        options: StorageOptions,
        environment: &Environment,
        retry: RetryPolicy,
    ) -> Self {
        let region = region.unwrap_or_else(|| REGION.to_owned());
        let base = base(bucket, &region, endpoint, options.path_style);
        S3 {
            bucket: bucket.to_owned(),
            options,
            environment: environment.clone(),
            region,
            base,
            elsewhere: OnceLock::new(),
            retry,
            access: CachedValue::default(),
        }
    }

    /// The settings and credentials, found now or before.
    fn access(&self) -> Result<S3Access> {
        self.access.get(|| {
            let settings = Arc::new(S3Settings::find(&self.options, &self.environment));
            let provider = match settings.keys {
                S3Keys::Anonymous => None,
                _ => Some(Arc::clone(self.build(&settings.keys, Some(&self.retry))?.credentials())),
            };
            Ok(S3Access { settings, provider })
        })
    }

    fn build(&self, keys: &S3Keys, retries: Option<&RetryPolicy>) -> Result<AmazonS3> {
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&self.bucket)
            .with_region(&self.region)
            .with_endpoint(&self.base)
            // Here, this means that the endpoint names the bucket.
            .with_virtual_hosted_style_request(true)
            .with_http_connector(Connector(self.environment.clone()))
            .with_allow_http(true)
            .with_retry(retry_config(retries));
        builder = match keys {
            S3Keys::Static { id, secret, token } => {
                let builder = builder.with_access_key_id(id).with_secret_access_key(secret.reveal());
                match token {
                    Some(token) => builder.with_token(token.reveal()),
                    None => builder,
                }
            }
            S3Keys::WebIdentity { file, role, session } => {
                // The token is sent there, so TLS is required.
                let service = self.environment.get("AWS_ENDPOINT_URL_STS");
                let service = service.filter(|url| url.starts_with("https://"));
                let settings = [
                    (AmazonS3ConfigKey::WebIdentityTokenFile, Some(file.clone())),
                    (AmazonS3ConfigKey::RoleArn, Some(role.clone())),
                    (AmazonS3ConfigKey::RoleSessionName, session.clone()),
                    (AmazonS3ConfigKey::StsEndpoint, service),
                ];
                let settings = settings.into_iter().filter_map(|(key, value)| Some((key, value?)));
                settings.fold(builder, |builder, (key, value)| builder.with_config(key, value))
            }
            S3Keys::Machine => {
                let settings = self.environment.with_prefix("AWS_CONTAINER_").into_iter();
                settings.fold(builder, |builder, (name, value)| match name.to_ascii_lowercase().parse() {
                    Ok(key) => builder.with_config(key, value),
                    Err(_) => builder,
                })
            }
            S3Keys::Anonymous => builder.with_skip_signature(true),
        };
        builder.build().map_err(|error| Error::usage("the bucket cannot be set up").caused_by(error))
    }
}

/// The URL of a bucket.
fn base(bucket: &str, region: &str, endpoint: Option<&str>, path_style: Option<bool>) -> String {
    // Certificates do not cover names with dots in them.
    let is_host_name =
        !bucket.contains(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
    let path_style = path_style.unwrap_or(endpoint.is_some() || !is_host_name);
    let amazon = format!("https://s3.{region}.amazonaws.com");
    let endpoint = endpoint.unwrap_or(&amazon).trim_end_matches('/');
    match (path_style, endpoint.split_once("://")) {
        (false, Some((scheme, host))) => format!("{scheme}://{bucket}.{host}"),
        _ => format!("{endpoint}/{bucket}"),
    }
}

impl fmt::Debug for S3 {
    /// The `Debug` of the credential provider would show secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3").field("base", &self.base).field("region", &self.region).finish_non_exhaustive()
    }
}

impl Signer for S3 {
    fn sign<'a>(
        &'a self,
        method: &'a Method,
        url: &'a Url,
        headers: HeaderMap,
    ) -> BoxFuture<'a, Result<SignedRequest>> {
        Box::pin(async move {
            let Some(provider) = self.access()?.provider else {
                return Ok(SignedRequest::unsigned(url, headers));
            };
            let credential = provider.get_credential().await.map_err(|error| no_credentials(error, self))?;
            check(&credential)?;
            let AwsCredential { key_id, secret_key, token } = &*credential;
            let id = Secret::from(format!("{key_id} {secret_key} {token:?}")).fingerprint();
            authorized(method, url, headers, CredentialId::of(id), |request| {
                AwsAuthorizer::new(&credential, "s3", &self.region)
                    .with_request_payer(self.environment.get("AWS_REQUEST_PAYER").is_some())
                    .try_authorize(request, None)
            })
        })
    }

    fn renew(&self) {
        self.access.forget();
    }

    fn findings(&self, _url: &Url) -> Vec<CredentialFinding> {
        S3Settings::find(&self.options, &self.environment).findings
    }

    fn follows(&self, original: &Url, url: &Url) -> bool {
        let amazon = |url: &Url| {
            url.scheme() == "https" && url.host_str().is_some_and(|host| host.ends_with(".amazonaws.com"))
        };
        original.origin() == url.origin() || (amazon(original) && amazon(url))
    }

    fn may_go_without(&self) -> bool {
        self.options.access_key_id.is_none() && self.options.profile.is_none()
    }

    fn expires_by_400(&self) -> bool {
        true
    }

    fn learn(&self, answer: &HeaderMap) {
        let region = answer.get("x-amz-bucket-region").and_then(|region| region.to_str().ok());
        let legal = |region: &&str| region.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if let Some(region) = region.filter(legal).filter(|region| **region != self.region) {
            let _ = self.elsewhere.set(region.to_owned());
        }
    }

    fn advice(&self) -> &'static str {
        "name a profile (AWS_PROFILE, profile=), set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or open with anonymous=True"
    }
}

impl Bucket for S3 {
    fn url(&self, key: &str) -> Result<Url> {
        object_url(&self.base, key)
    }

    fn client(&self, retries: Option<&RetryPolicy>) -> Result<Arc<dyn ObjectClient>> {
        Ok(Arc::new(self.build(&self.access()?.settings.keys, retries)?))
    }

    fn corrected(&self) -> Option<Arc<dyn Bucket>> {
        let settings = S3Settings::find(&self.options, &self.environment);
        // Other services answer with any name that Amazon's clients expect.
        let region = self.elsewhere.get().filter(|_| settings.endpoint.is_none())?;
        let mut regions = REGIONS.lock().unwrap_or_else(PoisonError::into_inner);
        regions.get_or_insert_default().insert(self.bucket.clone(), region.clone());
        let options = self.options.clone();
        Some(Arc::new(S3::at(
            &self.bucket,
            Some(region.clone()),
            None,
            options,
            &self.environment,
            self.retry,
        )))
    }
}

/// Fails for keys that are illegal in a header.
fn check(credential: &AwsCredential) -> Result<()> {
    let AwsCredential { key_id, token, .. } = credential;
    let legal = |text: &str| HeaderValue::from_str(text).is_ok() && text.is_ascii();
    if legal(key_id) && token.as_deref().is_none_or(legal) {
        return Ok(());
    }
    let message = "the access key has illegal characters";
    Err(Error::new(ErrorKind::Permission, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_buckets() {
        let of = |bucket, endpoint, style| base(bucket, "eu-west-1", endpoint, style);
        assert_eq!(of("b", None, None), "https://b.s3.eu-west-1.amazonaws.com");
        assert_eq!(of("b.c", None, None), "https://s3.eu-west-1.amazonaws.com/b.c");
        assert_eq!(of("b", Some("http://h:1/"), None), "http://h:1/b");
        assert_eq!(of("b", Some("https://h"), Some(false)), "https://b.h");
        assert_eq!(of("b", None, Some(true)), "https://s3.eu-west-1.amazonaws.com/b");
    }
}
