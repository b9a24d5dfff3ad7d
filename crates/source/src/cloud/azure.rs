//! Azure Blob Storage.

use super::bucket::{Bucket, ObjectClient, authorized, no_credentials, retry_config};
use super::cached::CachedValue;
use super::connector::Connector;
use super::location::{ObjectLocation, object_url};
use crate::http::RangeSupport;
use crate::{RetryPolicy, SourceOptions};
use object_store::azure::{
    AzureAuthorizer, AzureConfigKey, AzureCredential, AzureCredentialProvider, MicrosoftAzure,
    MicrosoftAzureBuilder,
};
use reqwest::header::HeaderMap;
use reqwest::{Method, Url};
use sapwood_core::{BoxFuture, Error, ErrorKind, Result};
use sapwood_credentials::{
    CredentialFinding, CredentialId, CredentialState, Environment, Secret, SignedRequest, Signer,
};
use std::fmt;
use std::sync::Arc;

const KIND: &str = "Azure credentials";

/// Variables that hold credentials or say where to get them.
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
    retry: RetryPolicy,
    provider: CachedValue<AzureCredentialProvider>,
}

impl Azure {
    pub(super) fn new(location: &ObjectLocation, options: &SourceOptions) -> Result<Self> {
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
            retry: options.retry,
            provider: CachedValue::default(),
        })
    }

    /// The variable that holds the credentials or says where to get them.
    fn variable(&self) -> Option<&'static str> {
        self.environment.first(&CREDENTIALS).map(|(name, _)| name).filter(|_| !self.anonymous)
    }

    fn provider(&self) -> Result<Option<AzureCredentialProvider>> {
        if self.variable().is_none() {
            return Ok(None);
        }
        let find = || Ok(Arc::clone(self.build(Some(&self.retry))?.credentials()));
        self.provider.get(find).map(Some)
    }

    fn build(&self, retries: Option<&RetryPolicy>) -> Result<MicrosoftAzure> {
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
            .with_retry(retry_config(retries));
        builder.build().map_err(|_| {
            // The text of the library's error may repeat secrets.
            Error::new(ErrorKind::Permission, "the Azure credentials that were found cannot be used")
                .hint(self.advice())
        })
    }
}

impl fmt::Debug for Azure {
    /// The `Debug` of the credential provider would show secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Azure")
            .field("account", &self.account)
            .field("container", &self.container)
            .finish_non_exhaustive()
    }
}

impl Signer for Azure {
    fn sign<'a>(
        &'a self,
        method: &'a Method,
        url: &'a Url,
        headers: HeaderMap,
    ) -> BoxFuture<'a, Result<SignedRequest>> {
        Box::pin(async move {
            let Some(provider) = self.provider()? else {
                return Ok(SignedRequest::unsigned(url, headers));
            };
            let credential = provider.get_credential().await.map_err(|error| no_credentials(error, self))?;
            if matches!(&*credential, AzureCredential::BearerToken(token) if !token.bytes().all(|b| b.is_ascii_graphic()))
            {
                return Err(Error::new(ErrorKind::Permission, "the token from Azure is malformed"));
            }
            let id = match &*credential {
                AzureCredential::BearerToken(token) => Secret::from(token.as_str()).fingerprint(),
                AzureCredential::SASToken(pairs) => Secret::from(format!("{pairs:?}")).fingerprint(),
                // A key is not renewed.
                AzureCredential::AccessKey(_) => 1,
            };
            authorized(method, url, headers, CredentialId::of(id), |request| {
                AzureAuthorizer::new(&credential, &self.account).try_authorize(request)
            })
        })
    }

    fn renew(&self) {
        self.provider.forget();
    }

    fn findings(&self, _url: &Url) -> Vec<CredentialFinding> {
        vec![match self.variable() {
            Some(name) => CredentialFinding::new(KIND, name, CredentialState::Usable(None)),
            None => CredentialFinding::new(KIND, "AZURE_STORAGE_…", CredentialState::Absent),
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

    fn client(&self, retries: Option<&RetryPolicy>) -> Result<Arc<dyn ObjectClient>> {
        Ok(Arc::new(self.build(retries)?))
    }

    fn ranges(&self) -> RangeSupport {
        RangeSupport::OneRangeNoSuffix
    }
}
