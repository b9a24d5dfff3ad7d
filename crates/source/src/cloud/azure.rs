//! Azure Blob Storage.

use super::connector::Connector;
use super::location::{Location, object_url};
use super::{Bucket, Objects, no_credentials, once, retry};
use crate::credentials::{Finding, Mark, Secret, Sign, Signed, State};
use crate::http::Manner;
use crate::{BoxFuture, Environment, OpenOptions};
use object_store::azure::{
    AzureAuthorizer, AzureConfigKey, AzureCredential, AzureCredentialProvider, MicrosoftAzure,
    MicrosoftAzureBuilder,
};
use object_store::client::{HttpRequest, HttpRequestBody};
use object_store::multipart::MultipartStore;
use object_store::{ObjectStore, RetryConfig};
use reqwest::header::HeaderMap;
use reqwest::{Method, Url};
use sapwood_core::{Error, ErrorKind, Result};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

const KIND: &str = "Azure credentials";

/// Variables of which one says how to authorise.
const CREDENTIALS: [&str; 10] = [
    "AZURE_STORAGE_TOKEN",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_ACCESS_KEY",
    "AZURE_STORAGE_KEY",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_CLIENT_SECRET",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_SAS_KEY",
    "AZURE_USE_AZURE_CLI",
    "AZURE_MSI_ENDPOINT",
];

/// A container of Azure.
pub(super) struct Azure {
    container: String,
    account: String,
    endpoint: String,
    anonymous: bool,
    environment: Environment,
    provider: Mutex<Option<AzureCredentialProvider>>,
}

impl Azure {
    pub(super) fn new(location: &Location, options: &OpenOptions) -> Result<Self> {
        let environment = options.environment.clone();
        let names = ["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"];
        let account = location.account.clone().or_else(|| options.storage.account.clone());
        let account =
            account.or_else(|| environment.first(&names).map(|(_, value)| value)).ok_or_else(|| {
                Error::usage("the storage account is not known").hint(
                    "set AZURE_STORAGE_ACCOUNT_NAME, give account=, or write az://container@account/path",
                )
            })?;
        let legal = account.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if account.is_empty() || !legal {
            return Err(Error::usage("this is not the name of a storage account"));
        }
        let endpoint = options.storage.endpoint.clone().or_else(|| environment.get("AZURE_STORAGE_ENDPOINT"));
        Ok(Azure {
            container: location.bucket.clone(),
            endpoint: endpoint.unwrap_or_else(|| format!("https://{account}.blob.core.windows.net")),
            account,
            anonymous: options.storage.anonymous,
            environment,
            provider: Mutex::new(None),
        })
    }

    /// The variable that says how to authorise.
    fn variable(&self) -> Option<&'static str> {
        self.environment.first(&CREDENTIALS).map(|(name, _)| name).filter(|_| !self.anonymous)
    }

    fn provider(&self) -> Result<Option<AzureCredentialProvider>> {
        if self.variable().is_none() {
            return Ok(None);
        }
        let mut provider = self.provider.lock().unwrap_or_else(PoisonError::into_inner);
        if provider.is_none() {
            *provider = Some(Arc::clone(self.build(retry())?.credentials()));
        }
        Ok(provider.clone())
    }

    fn build(&self, retry: RetryConfig) -> Result<MicrosoftAzure> {
        let variables = self.environment.with_prefix("AZURE_").into_iter();
        let settings = variables.filter_map(|(name, value)| {
            let name =
                if name == "AZURE_STORAGE_KEY" { "AZURE_STORAGE_ACCOUNT_KEY".to_owned() } else { name };
            Some((name.to_ascii_lowercase().parse::<AzureConfigKey>().ok()?, value))
        });
        let builder = settings
            .fold(MicrosoftAzureBuilder::new(), |builder, (key, value)| builder.with_config(key, value));
        let builder = builder
            .with_account(&self.account)
            .with_container_name(&self.container)
            .with_endpoint(self.endpoint.clone())
            .with_allow_http(true)
            .with_skip_signature(self.variable().is_none())
            .with_http_connector(Connector(self.environment.clone()))
            .with_retry(retry);
        builder.build().map_err(|_| {
            // What the library says may repeat what it read.
            Error::new(ErrorKind::Permission, "the Azure credentials that were found cannot be used")
                .hint(self.advice())
        })
    }
}

impl fmt::Debug for Azure {
    /// What the provider of credentials would show holds secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Azure")
            .field("account", &self.account)
            .field("container", &self.container)
            .finish_non_exhaustive()
    }
}

impl Sign for Azure {
    fn sign<'a>(
        &'a self,
        method: &'a Method,
        url: &'a Url,
        headers: HeaderMap,
    ) -> BoxFuture<'a, Result<Signed>> {
        Box::pin(async move {
            let Some(provider) = self.provider()? else {
                return Ok(Signed { url: url.clone(), headers, mark: Mark::default() });
            };
            let credential = provider.get_credential().await.map_err(|error| no_credentials(error, self))?;
            let wrong = || Error::usage("the name of the object makes no legal URL");
            let mut request = HttpRequest::new(HttpRequestBody::empty());
            *request.method_mut() = method.clone();
            *request.headers_mut() = headers;
            *request.uri_mut() = url.as_str().parse().map_err(|_| wrong())?;
            if matches!(&*credential, AzureCredential::BearerToken(token) if !token.bytes().all(|b| b.is_ascii_graphic()))
            {
                return Err(Error::new(ErrorKind::Permission, "the token that Azure gave is none"));
            }
            AzureAuthorizer::new(&credential, &self.account).try_authorize(&mut request).map_err(
                |error| Error::new(ErrorKind::Io, "the request could not be signed").caused_by(error),
            )?;
            let (mut parts, _) = request.into_parts();
            parts.headers.values_mut().for_each(|value| value.set_sensitive(true));
            let url = parts.uri.to_string().parse().map_err(|_| wrong())?;
            let mark = match &*credential {
                AzureCredential::BearerToken(token) => Secret::from(token.as_str()).mark(),
                AzureCredential::SASToken(pairs) => Secret::from(format!("{pairs:?}")).mark(),
                // A key is not renewed.
                AzureCredential::AccessKey(_) => 1,
            };
            Ok(Signed { url, headers: parts.headers, mark: Mark::of(mark) })
        })
    }

    fn renew(&self) {
        *self.provider.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn findings(&self, _url: &Url) -> Vec<Finding> {
        vec![match self.variable() {
            Some(name) => Finding::new(KIND, name, State::Usable(None)),
            None => Finding::new(KIND, "AZURE_STORAGE_…", State::Absent),
        }]
    }

    fn advice(&self) -> &'static str {
        "set AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_USE_AZURE_CLI, or open with anonymous=True"
    }
}

impl Bucket for Azure {
    fn url(&self, key: &str) -> Result<Url> {
        object_url(&format!("{}/{}", self.endpoint.trim_end_matches('/'), self.container), key)
    }

    fn store(&self) -> Result<Arc<dyn ObjectStore>> {
        Ok(Arc::new(self.build(retry())?))
    }

    fn objects(&self) -> Result<Arc<dyn Objects>> {
        Ok(Arc::new(self.build(once())?))
    }

    fn uploads(&self) -> Result<Arc<dyn MultipartStore>> {
        Ok(Arc::new(self.build(retry())?))
    }

    fn manner(&self) -> Manner {
        Manner::OneRangeNoSuffix
    }
}
