//! Which server a URL names.

use crate::{SourceOptions, cloud, http};
use reqwest::Url;
use sapwood_core::{Error, Protocol, Result, url_scheme};
use std::fmt;

/// The port of XRootD (IANA).
const XROOTD: u16 = 1094;

/// Where a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// On this machine.
    Here,
    /// On a server.
    Server { protocol: &'static str, host: String, port: u16, tls: bool },
}

impl Endpoint {
    pub(super) fn of(url: &str, options: &SourceOptions) -> Result<Endpoint> {
        let (protocol, url): (&'static str, Url) = match Protocol::of(url) {
            Some(Protocol::Local) => return Ok(Endpoint::Here),
            Some(Protocol::Http) => ("HTTP", http::access(url, options)?.original().clone()),
            Some(Protocol::WebDav) => ("WebDAV", http::access(url, options)?.original().clone()),
            Some(Protocol::S3 | Protocol::Google | Protocol::Azure) => {
                ("object store", cloud::access_of(url, options)?.original().clone())
            }
            Some(Protocol::Xrootd) => {
                ("XRootD", url.parse().map_err(|error| Error::usage(format!("this is not a URL: {error}")))?)
            }
            None => {
                let scheme = url_scheme(url).unwrap_or_default().to_ascii_lowercase();
                return Err(Error::unsupported(format!("the protocol '{scheme}://' is not supported")));
            }
        };
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        if host.is_empty() {
            return Err(Error::usage("this URL names no server"));
        }
        let port = url.port_or_known_default().unwrap_or(XROOTD);
        Ok(Endpoint::Server { protocol, host, port, tls: url.scheme() == "https" })
    }

    /// The proxy variable that applies to this server, if reads go through that proxy.
    pub(super) fn proxy(&self) -> Option<&'static str> {
        let Endpoint::Server { protocol, host, tls, .. } = self else { return None };
        let excepted =
            ["NO_PROXY", "no_proxy"].iter().filter_map(|name| std::env::var(name).ok()).any(|list| {
                list.split(',').map(|name| name.trim().trim_start_matches('.')).any(|name| {
                    name == "*" || (!name.is_empty() && (host == name || host.ends_with(&format!(".{name}"))))
                })
            });
        let names: &[&'static str] = match tls {
            true => &["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
            false => &["http_proxy", "ALL_PROXY", "all_proxy"],
        };
        let is_set = |name: &&&'static str| std::env::var(name).is_ok_and(|value| !value.trim().is_empty());
        (*protocol != "XRootD" && !excepted).then(|| names.iter().find(is_set).copied()).flatten()
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Here => f.write_str("a file of this machine"),
            Endpoint::Server { protocol, host, port, tls } => {
                write!(f, "{protocol}{} at {host}, port {port}", if *tls { " over TLS" } else { "" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers() {
        let options = SourceOptions::default();
        let place =
            |url: &str| Endpoint::of(url, &options).map(|place| place.to_string()).unwrap_or_default();
        assert_eq!(place("/a/b.root"), "a file of this machine");
        assert_eq!(place("https://user:pw@[::1]/f"), "HTTP over TLS at ::1, port 443");
        assert_eq!(place("davs://h:8443/f"), "WebDAV over TLS at h, port 8443");
        assert_eq!(place("root://h//f"), "XRootD at h, port 1094");
        assert_eq!(place("s3://127.0.0.1:9000/b/f"), "object store at 127.0.0.1, port 9000");
        assert_eq!(place("ftp://h/f"), "");
    }
}
