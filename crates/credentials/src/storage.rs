//! How object stores are reached.

use super::Secret;
use std::fmt;

/// How object stores are reached, where the environment does not say it or says it wrong.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StorageOptions {
    /// URL of the service, such as `https://s3.example.org`. Default: `AWS_ENDPOINT_URL_S3`,
    /// `AWS_ENDPOINT_URL`, the profile's, else the provider's own.
    pub endpoint: Option<String>,
    /// Region of the bucket. Default: `AWS_REGION`, `AWS_DEFAULT_REGION`, the profile's, else found out.
    pub region: Option<String>,
    /// True to show no credentials, even if there are some. Default: false; where none are found,
    /// the object is asked for without any, too.
    pub anonymous: bool,
    /// Name of the profile in the files of AWS. Default: `AWS_PROFILE`, else `default`.
    pub profile: Option<String>,
    /// Whether the bucket is named in the path of a URL rather than in the host. Default: yes for an
    /// endpoint that was given, no at Amazon.
    pub path_style: Option<bool>,
    /// The access key: its name. Default: what the chain finds.
    pub access_key_id: Option<String>,
    /// The access key: its secret.
    pub secret_access_key: Option<Secret>,
    /// The token that belongs to a temporary access key.
    pub session_token: Option<Secret>,
    /// The storage account of Azure. Default: `AZURE_STORAGE_ACCOUNT_NAME` or `AZURE_STORAGE_ACCOUNT`.
    pub account: Option<String>,
}

impl fmt::Debug for StorageOptions {
    /// Of keys, only whether there are any.
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
