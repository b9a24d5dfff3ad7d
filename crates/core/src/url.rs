//! URLs: which protocol one means, which server it names, and how it is shown without secrets.

use crate::{Error, Result};
use percent_encoding::percent_decode_str;
use std::path::PathBuf;
use url::Url;

/// The protocol that a path or URL is read by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// A file of this machine: a path, or `file://`.
    Local,
    /// `http://` or `https://`.
    Http,
    /// `dav://` or `davs://`.
    WebDav,
    /// Amazon S3 and services like it: `s3://`, `s3a://` or `s3s://`.
    S3,
    /// Google Cloud Storage: `gs://` or `gcs://`.
    Google,
    /// Azure Blob Storage: `az://`, `azure://`, `abfs://` or `abfss://`.
    Azure,
    /// XRootD: `root://`, `roots://`, `xroot://` or `xroots://`.
    Xrootd,
}

impl Protocol {
    /// The protocol of a path or URL; `None` for an unknown scheme.
    ///
    /// ```
    /// use sapwood_core::Protocol;
    /// assert_eq!(Protocol::of("/data/f.root"), Some(Protocol::Local));
    /// assert_eq!(Protocol::of("S3://bucket/f.root"), Some(Protocol::S3));
    /// assert_eq!(Protocol::of("ftp://host/f.root"), None);
    /// ```
    pub fn of(url: &str) -> Option<Protocol> {
        let Some(scheme) = url_scheme(url) else { return Some(Protocol::Local) };
        Some(match scheme.to_ascii_lowercase().as_str() {
            "file" => Protocol::Local,
            "http" | "https" => Protocol::Http,
            "dav" | "davs" => Protocol::WebDav,
            "s3" | "s3a" | "s3s" => Protocol::S3,
            "gs" | "gcs" => Protocol::Google,
            "az" | "azure" | "abfs" | "abfss" => Protocol::Azure,
            "root" | "roots" | "xroot" | "xroots" => Protocol::Xrootd,
            _ => return None,
        })
    }

    /// True for the protocols of object stores.
    pub fn is_object_store(self) -> bool {
        matches!(self, Protocol::S3 | Protocol::Google | Protocol::Azure)
    }
}

/// The scheme of a URL, as written; `None` for a plain path.
pub fn url_scheme(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once("://")?;
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    (scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(legal)).then_some(scheme)
}

/// The path that a plain path or a `file://` URL names.
///
/// # Errors
/// `Usage` for a `file://` URL without a path, or with one of another machine.
pub fn local_path(url: &str) -> Result<PathBuf> {
    if url_scheme(url).is_none() {
        return Ok(PathBuf::from(url));
    }
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    if path.is_empty() || !(host.is_empty() || host.eq_ignore_ascii_case("localhost")) {
        return Err(
            Error::usage("a file URL must name a path of this machine, as in file:///path").url(redact(url))
        );
    }
    let bytes = percent_decode_str(path);
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt;
        Ok(PathBuf::from(std::ffi::OsString::from_vec(bytes.collect())))
    }
    #[cfg(not(unix))]
    {
        let text = bytes.decode_utf8().map_err(|_| Error::usage("the path of a file URL is not UTF-8"))?;
        Ok(PathBuf::from(text.trim_start_matches('/')))
    }
}

/// The server of a URL as `host:port`; the host alone if no port is known, `None` if the URL names no server.
pub fn server_of(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let host = url.host_str().filter(|host| !host.is_empty())?;
    let usual = match url.scheme() {
        "root" | "roots" | "xroot" | "xroots" => Some(1094),
        "dav" => Some(80),
        "davs" => Some(443),
        _ => url.port_or_known_default(),
    };
    Some(match url.port().or(usual) {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

/// The URL without user name, password, query values and fragment, for logs and errors.
///
/// ```
/// use sapwood_core::redact;
/// assert_eq!(redact("https://me:pw@host/f.root?token=abc&x#y"), "https://host/f.root?token=…&…");
/// assert_eq!(redact("/data/what?.root"), "/data/what?.root");
/// ```
pub fn redact(url: &str) -> String {
    let Some(scheme) = url_scheme(url).filter(|scheme| !scheme.eq_ignore_ascii_case("file")) else {
        return url.to_owned();
    };
    let rest = url.get(scheme.len() + 3..).unwrap_or_default();
    let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
    let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
    let (host, path) = place.find('/').map_or((place, ""), |slash| place.split_at(slash));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let mut redacted = format!("{scheme}://{host}{path}");
    for (i, pair) in query.into_iter().flat_map(|query| query.split('&')).enumerate() {
        redacted.push(if i == 0 { '?' } else { '&' });
        if let Some((name, _)) = pair.split_once('=') {
            redacted.extend([name, "="]);
        }
        redacted.push('…');
    }
    redacted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_urls_are_decoded() {
        assert_eq!(local_path("file:///a/b%20c.root").unwrap(), PathBuf::from("/a/b c.root"));
        assert_eq!(local_path("file://localhost/a").unwrap(), PathBuf::from("/a"));
        assert_eq!(local_path("a/b%20c.root").unwrap(), PathBuf::from("a/b%20c.root"));
        assert!(local_path("file://elsewhere/a").is_err());
        assert!(local_path("file://").is_err());
    }

    #[test]
    fn a_scheme_needs_its_slashes() {
        assert_eq!(url_scheme("C:\\data\\f.root"), None);
        assert_eq!(url_scheme("f.root:Events"), None);
        assert_eq!(url_scheme("root://eospublic.cern.ch//eos/f.root"), Some("root"));
        assert_eq!(url_scheme("/data/odd://name"), None);
    }

    #[test]
    fn secrets_are_removed() {
        assert_eq!(redact("http://u:p%40@h:80/p"), "http://h:80/p");
        assert_eq!(redact("http://h?a=1"), "http://h?a=…");
        assert_eq!(redact("http://u:p@x@h/"), "http://h/");
    }

    #[test]
    fn servers_have_a_host_and_a_port() {
        let servers = [
            ("https://user:word@example.org/a.root?token=x", Some("example.org:443")),
            ("http://[::1]:8080/a.root", Some("[::1]:8080")),
            ("root://eos.example.org//a.root", Some("eos.example.org:1094")),
            ("s3://bucket/a.root", Some("bucket")),
            ("file:///tmp/a.root", None),
            ("/tmp/a.root", None),
            ("a.root", None),
        ];
        for (url, server) in servers {
            assert_eq!(server_of(url).as_deref(), server, "{url}");
        }
    }
}
