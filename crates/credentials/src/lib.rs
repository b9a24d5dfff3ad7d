//! Credentials for servers and object stores, found where users and sites keep them: one chain for every protocol that
//! sapwood speaks itself.
//!
//! [`Access`] authorizes the requests for one object: with what the user gave, else with what a [`Signer`] finds.
//! Each place that was searched becomes a [`CredentialFinding`], for errors and for `sapwood doctor`.
//!
//! | module | credentials |
//! |---|---|
//! | [`TokenChain`] | bearer tokens, by the discovery that the WLCG specifies |
//! | [`x509`] | proxies and user certificates, and the certificate authorities of the grid |
//! | [`aws`] | keys of S3, from options, the environment and profiles |

mod access;
pub mod aws;
mod environment;
mod finding;
mod secret;
mod storage;
mod token;
pub mod x509;

pub use access::{Access, CredentialId, SignedRequest, Signer, UserCredentials};
pub use environment::Environment;
pub use finding::{CredentialFinding, CredentialState};
pub use secret::Secret;
pub use storage::StorageOptions;
pub use token::TokenChain;
