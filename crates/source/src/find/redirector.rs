//! XRootD redirectors: servers that know several replicas of a file, and hand out one at a time.

use crate::{OpenedSource, SourceOptions};
#[cfg(unix)]
use sapwood_core::Protocol;
use sapwood_core::{Deadline, Result, redact};

/// A redirector that may hand out other replicas of a file.
#[derive(Clone)]
pub struct Redirector {
    url: String,
    options: SourceOptions,
}

impl std::fmt::Debug for Redirector {
    /// The URL may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redirector").field("url", &redact(&self.url)).finish_non_exhaustive()
    }
}

#[cfg(unix)]
impl Redirector {
    /// The server of `url` as a possible redirector, if it speaks XRootD.
    pub fn at(url: &str, options: &SourceOptions) -> Option<Redirector> {
        let is_xrootd = Protocol::of(url) == Some(Protocol::Xrootd);
        is_xrootd.then(|| Redirector { url: url.to_owned(), options: options.clone() })
    }

    /// The redirector of a file that was opened at `url`; `None` if the bytes come from the server in the URL itself.
    pub fn of(url: &str, server: Option<&str>, options: &SourceOptions) -> Option<Redirector> {
        let redirector = Redirector::at(url, options)?;
        server.is_some_and(|server| crate::xrootd::is_redirected(url, server)).then_some(redirector)
    }

    /// Opens the file at another server than the `known` ones, which are given as `host:port` and have not failed.
    ///
    /// # Errors
    /// Those of opening; `NotFound` if there is no other server.
    pub async fn another(&self, known: &[String], deadline: Deadline) -> Result<OpenedSource> {
        let url = crate::xrootd::avoiding(&self.url, known, crate::xrootd::AvoidReason::Further);
        crate::open(&url, &SourceOptions { deadline, ..self.options.clone() }).await
    }

    /// The URLs of the file at all servers that have it online.
    ///
    /// # Errors
    /// Those of the request; `NotFound` if there are none.
    pub async fn locate(&self, deadline: Deadline) -> Result<Vec<String>> {
        let servers = crate::xrootd::locate(&self.url, deadline).await?;
        Ok(servers.iter().filter_map(|server| crate::xrootd::on_server(&self.url, server)).collect())
    }

    /// Whether the server at `host:port` that it handed out is a cache: a second cache would only fetch the file
    /// again. `None` if the server does not answer.
    pub async fn hands_out_caches(&self, server: &str, deadline: Deadline) -> Option<bool> {
        crate::xrootd::is_cache(&crate::xrootd::on_server(&self.url, server)?, deadline).await
    }
}

#[cfg(not(unix))]
impl Redirector {
    /// `None`: root:// is not supported on this system.
    pub fn at(_: &str, _: &SourceOptions) -> Option<Redirector> {
        None
    }

    /// `None`, as above.
    pub fn of(_: &str, _: Option<&str>, _: &SourceOptions) -> Option<Redirector> {
        None
    }

    /// Always fails on this system.
    ///
    /// # Errors
    /// Always.
    pub async fn another(&self, _: &[String], _: Deadline) -> Result<OpenedSource> {
        Err(sapwood_core::Error::unsupported("root:// is not supported on this system"))
    }

    /// Always empty on this system.
    ///
    /// # Errors
    /// Never.
    pub async fn locate(&self, _: Deadline) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// `None` on this system.
    pub async fn hands_out_caches(&self, _: &str, _: Deadline) -> Option<bool> {
        None
    }
}
