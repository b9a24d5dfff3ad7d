//! A server that knows of several copies of a file, and hands out one at a time: an XRootD redirector.

use crate::{OpenOptions, OpenedSource};
#[cfg(unix)]
use sapwood_core::Protocol;
use sapwood_core::{Deadline, Result, redact};

/// A redirector that was asked for a file, and handed out a copy of it.
#[derive(Clone)]
pub struct Redirector {
    url: String,
    options: OpenOptions,
}

impl std::fmt::Debug for Redirector {
    /// The URL may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redirector").field("url", &redact(&self.url)).finish_non_exhaustive()
    }
}

#[cfg(unix)]
impl Redirector {
    /// What may be one: the server of `url`, if it speaks XRootD.
    pub fn at(url: &str, options: &OpenOptions) -> Option<Redirector> {
        let is_xrootd = Protocol::of(url) == Some(Protocol::Xrootd);
        is_xrootd.then(|| Redirector { url: url.to_owned(), options: options.clone() })
    }

    /// That of a file which was opened at `url`; `None` if it is read from the very server that the URL names.
    pub fn of(url: &str, server: Option<&str>, options: &OpenOptions) -> Option<Redirector> {
        let redirector = Redirector::at(url, options)?;
        server.is_some_and(|server| crate::xrootd::is_redirected(url, server)).then_some(redirector)
    }

    /// Opens the file at another server than those, which are given as `host:port` and not at fault.
    ///
    /// # Errors
    /// Those of opening; `NotFound` if there is no other.
    pub async fn another(&self, known: &[String], deadline: Deadline) -> Result<OpenedSource> {
        let url = crate::xrootd::avoiding(&self.url, known, crate::xrootd::AvoidReason::Further);
        crate::open(&url, &OpenOptions { deadline, ..self.options.clone() }).await
    }

    /// The URLs of the file at all servers that have it at hand.
    ///
    /// # Errors
    /// Those of asking; `NotFound` if there are none.
    pub async fn locate(&self, deadline: Deadline) -> Result<Vec<String>> {
        let servers = crate::xrootd::locate(&self.url, deadline).await?;
        Ok(servers.iter().filter_map(|server| crate::xrootd::on_server(&self.url, server)).collect())
    }

    /// Whether what it hands out is a cache, at `host:port`, of which a second one would only fetch the file again. None
    /// if that one does not say.
    pub async fn hands_out_caches(&self, server: &str, deadline: Deadline) -> Option<bool> {
        crate::xrootd::is_cache(&crate::xrootd::on_server(&self.url, server)?, deadline).await
    }
}

#[cfg(not(unix))]
impl Redirector {
    /// None: XRootD is not read on this system.
    pub fn at(_: &str, _: &OpenOptions) -> Option<Redirector> {
        None
    }

    /// None, as above.
    pub fn of(_: &str, _: Option<&str>, _: &OpenOptions) -> Option<Redirector> {
        None
    }

    /// See the other systems.
    ///
    /// # Errors
    /// Always.
    pub async fn another(&self, _: &[String], _: Deadline) -> Result<OpenedSource> {
        Err(sapwood_core::Error::unsupported("root:// is not read on this system"))
    }

    /// See the other systems.
    ///
    /// # Errors
    /// Never.
    pub async fn locate(&self, _: Deadline) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// See the other systems.
    pub async fn hands_out_caches(&self, _: &str, _: Deadline) -> Option<bool> {
        None
    }
}
