//! Credentials, found the way the field finds them; one chain for all protocols that sapwood speaks itself.
//!
//! - `token`: bearer tokens, by the discovery that the WLCG specifies.
//! - `x509`: proxies and user certificates, and the certificate authorities of the grid.
//! - `aws`: keys of S3, from the environment and from profiles.
//! - `access`: what is shown to the servers of one object, and what is done when they refuse it.
//! - `finding`: what was looked for, and what became of it, in words. `environment`: where it is looked for.

mod access;
pub(crate) mod aws;
mod environment;
mod finding;
mod secret;
mod token;
pub(crate) mod x509;

pub(crate) use access::{Access, Given, Mark, Sign, Signed};
pub use environment::Environment;
pub use finding::{Finding, State};
pub use secret::Secret;
pub(crate) use token::TokenChain;
