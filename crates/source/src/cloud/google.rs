//! Google Cloud Storage.

use super::bucket::{Bucket, ObjectClient, no_credentials, retry_config};
use super::cached::CachedValue;
use super::connector::Connector;
use super::location::{ObjectLocation, object_url};
use crate::{RetryPolicy, SourceOptions};
use object_store::gcp::{GcpCredentialProvider, GoogleCloudStorage, GoogleCloudStorageBuilder};
use reqwest::header::HeaderMap;
use reqwest::{Method, Url};
use sapwood_core::{BoxFuture, Error, ErrorKind, Result};
use sapwood_credentials::{CredentialFinding, CredentialState, Environment, Secret, SignedRequest, Signer};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

const ENDPOINT: &str = "https://storage.googleapis.com";

const KIND: &str = "Google credentials";

/// Variables that name a file with a service account, or hold one.
const ACCOUNTS: [&str; 4] = [
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    "SERVICE_ACCOUNT",
];

/// A bucket of Google.
pub(super) struct Google {
    bucket: String,
    endpoint: String,
    anonymous: bool,
    environment: Environment,
    retry: RetryPolicy,
    provider: CachedValue<GcpCredentialProvider>,
}

/// Where the credentials are.
enum GoogleCredentials {
    Nowhere,
    Machine,
    /// The variable, and the file that it names.
    Account(&'static str, String),
    File(PathBuf),
}

impl Google {
    pub(super) fn new(location: &ObjectLocation, options: &SourceOptions) -> Self {
        let endpoint = options.storage.endpoint.clone();
        let endpoint = endpoint.or_else(|| options.environment.get("STORAGE_EMULATOR_HOST"));
        Google {
            bucket: location.bucket.clone(),
            endpoint: endpoint.unwrap_or_else(|| ENDPOINT.to_owned()),
            anonymous: options.storage.anonymous,
            environment: options.environment.clone(),
            retry: options.retry,
            provider: CachedValue::default(),
        }
    }

    fn credentials_source(&self) -> GoogleCredentials {
        if self.anonymous {
            return GoogleCredentials::Nowhere;
        }
        if let Some((name, value)) = self.environment.first(&ACCOUNTS) {
            return GoogleCredentials::Account(name, value);
        }
        if let Some(path) = self.environment.get("GOOGLE_APPLICATION_CREDENTIALS") {
            return GoogleCredentials::File(PathBuf::from(path));
        }
        let gcloud = self.environment.home();
        let gcloud = gcloud.map(|home| home.join(".config/gcloud/application_default_credentials.json"));
        if let Some(path) = gcloud.filter(|path| path.is_file()) {
            return GoogleCredentials::File(path);
        }
        // On other machines nothing answers at the address of the metadata service.
        let vendor = std::fs::read_to_string("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
        if vendor.trim() == "Google" { GoogleCredentials::Machine } else { GoogleCredentials::Nowhere }
    }

    fn provider(&self) -> Result<Option<GcpCredentialProvider>> {
        if matches!(self.credentials_source(), GoogleCredentials::Nowhere) {
            return Ok(None);
        }
        let find = || Ok(Arc::clone(self.build(Some(&self.retry))?.credentials()));
        self.provider.get(find).map(Some)
    }

    fn build(&self, retries: Option<&RetryPolicy>) -> Result<GoogleCloudStorage> {
        let builder = GoogleCloudStorageBuilder::new()
            .with_bucket_name(&self.bucket)
            .with_base_url(&self.endpoint)
            .with_http_connector(Connector(self.environment.clone()))
            .with_retry(retry_config(retries));
        let builder = match self.credentials_source() {
            GoogleCredentials::Nowhere => builder.with_skip_signature(true),
            GoogleCredentials::Machine => builder,
            GoogleCredentials::Account("GOOGLE_SERVICE_ACCOUNT_KEY", key) => {
                builder.with_service_account_key(key)
            }
            GoogleCredentials::Account(_, path) => builder.with_service_account_path(path),
            GoogleCredentials::File(path) => builder.with_application_credentials(path.to_string_lossy()),
        };
        builder.build().map_err(|_| {
            // The text of the library's error may repeat secrets.
            Error::new(ErrorKind::Permission, "the Google credentials that were found cannot be used")
                .hint(self.advice())
        })
    }
}

impl fmt::Debug for Google {
    /// The `Debug` of the credential provider would show secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Google")
            .field("bucket", &self.bucket)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

impl Signer for Google {
    fn sign<'a>(
        &'a self,
        _: &'a Method,
        url: &'a Url,
        headers: HeaderMap,
    ) -> BoxFuture<'a, Result<SignedRequest>> {
        Box::pin(async move {
            let Some(provider) = self.provider()? else {
                return Ok(SignedRequest::unsigned(url, headers));
            };
            let credential = provider.get_credential().await.map_err(|error| no_credentials(error, self))?;
            SignedRequest::bearer(url, headers, &Secret::from(&*credential.bearer))
                .ok_or_else(|| Error::new(ErrorKind::Permission, "the token from Google is malformed"))
        })
    }

    fn renew(&self) {
        self.provider.forget();
    }

    fn findings(&self, _url: &Url) -> Vec<CredentialFinding> {
        let file = |path: &PathBuf| match path.is_file() {
            true => CredentialState::Usable(None),
            false => CredentialState::Unusable("there is no such file".to_owned()),
        };
        let (place, state) = match self.credentials_source() {
            GoogleCredentials::Nowhere => {
                ("GOOGLE_APPLICATION_CREDENTIALS".to_owned(), CredentialState::Absent)
            }
            GoogleCredentials::Machine => {
                ("the metadata service of this machine".to_owned(), CredentialState::Usable(None))
            }
            GoogleCredentials::Account(name, _) => (name.to_owned(), CredentialState::Usable(None)),
            GoogleCredentials::File(path) => (path.display().to_string(), file(&path)),
        };
        vec![CredentialFinding::new(KIND, place, state)]
    }

    fn advice(&self) -> &'static str {
        "set GOOGLE_APPLICATION_CREDENTIALS, log in by 'gcloud auth application-default login', or open with anonymous=True"
    }
}

impl Bucket for Google {
    fn url(&self, key: &str) -> Result<Url> {
        object_url(&format!("{}/{}", self.endpoint.trim_end_matches('/'), self.bucket), key)
    }

    fn client(&self, retries: Option<&RetryPolicy>) -> Result<Arc<dyn ObjectClient>> {
        Ok(Arc::new(self.build(retries)?))
    }
}
