//! How to reach object stores.

use super::Secret;
use std::fmt;

/// How to reach object stores, where the environment is silent or wrong.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StorageOptions {
    /// URL of the service, such as `https://s3.example.org`. Default: `AWS_ENDPOINT_URL_S3`,
    /// `AWS_ENDPOINT_URL`, the profile's, else the provider's own.
    pub endpoint: Option<String>,
    /// Region of the bucket. Default: `AWS_REGION`, `AWS_DEFAULT_REGION`, the profile's, else detected.
    pub region: Option<String>,
    /// True to show no credentials, even if there are some. Default: false; if none are found, objects are requested
    /// without credentials anyway.
    pub anonymous: bool,
    /// Name of the AWS profile. Default: `AWS_PROFILE`, else `default`.
    pub profile: Option<String>,
    /// Whether URLs name the bucket in the path rather than in the host. Default: true for an explicit endpoint,
    /// false at Amazon.
    pub path_style: Option<bool>,
    /// The id of the access key. Default: what the chain finds.
    pub access_key_id: Option<String>,
    /// The secret of the access key.
    pub secret_access_key: Option<Secret>,
    /// The token of a temporary access key.
    pub session_token: Option<Secret>,
    /// The storage account of Azure. Default: `AZURE_STORAGE_ACCOUNT_NAME` or `AZURE_STORAGE_ACCOUNT`.
    pub account: Option<String>,
}

impl fmt::Debug for StorageOptions {
    /// Shows only whether there are keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StorageOptions")
            .field("endpoint", &self.endpoint.as_deref().map(sapwood_core::redact))
            .field("region", &self.region)
            .field("anonymous", &self.anonymous)
            .field("profile", &self.profile)
            .field("path_style", &self.path_style)
            .field("keys", &self.access_key_id.is_some())
            .field("account", &self.account)
            .finish()
    }
}
