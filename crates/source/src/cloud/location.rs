//! What the URL of an object names.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;
use sapwood_core::{Error, Protocol, Result};

/// The characters that stay unencoded in the path of an object: those that all stores sign alike.
const PLAIN: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// An object, or a directory of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectLocation {
    /// Whose store it is: one of the protocols of object stores.
    pub protocol: Protocol,
    /// The bucket or container.
    pub bucket: String,
    /// Its name in the bucket, as written in the URL.
    pub key: String,
    /// The service, if the URL names it.
    pub endpoint: Option<String>,
    /// The account, if the URL names it.
    pub account: Option<String>,
}

impl ObjectLocation {
    /// Parses `s3://bucket/key`, `s3://host:port/bucket/key`, `az://container@account.…/key` and the like.
    ///
    /// # Errors
    /// `Usage` if the URL names no bucket of an object store, `Unsupported` for keys that URLs cannot hold.
    pub fn parse(url: &str) -> Result<ObjectLocation> {
        let protocol = Protocol::of(url).filter(|protocol| protocol.is_object_store());
        let protocol = protocol.ok_or_else(|| Error::usage("this is not the URL of an object"))?;
        let (_, rest) = url.split_once("://").unwrap_or_default();
        let (place, path) = rest.split_once('/').unwrap_or((rest, ""));
        let mut location = ObjectLocation {
            protocol,
            bucket: place.to_owned(),
            key: path.to_owned(),
            endpoint: None,
            account: None,
        };
        if protocol == Protocol::S3 && is_host(place) {
            let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
            let host = place.split(':').next().unwrap_or_default();
            let scheme = if matches!(host, "localhost" | "127.0.0.1") { "http" } else { "https" };
            location.endpoint = Some(format!("{scheme}://{place}"));
            (location.bucket, location.key) = (bucket.to_owned(), key.to_owned());
        }
        if protocol == Protocol::Azure
            && let Some((container, host)) = place.split_once('@')
        {
            location.bucket = container.to_owned();
            location.account = host.split('.').next().map(str::to_owned);
        }
        let odd = |c: char| !(c.is_ascii_alphanumeric() || "-_.$".contains(c));
        if location.bucket.is_empty() || location.bucket.contains(odd) {
            return Err(
                Error::usage("this URL names no bucket").hint("write it as s3://bucket/path/file.root")
            );
        }
        // URLs would normalize them away.
        if location.key.split('/').any(|part| matches!(part, "." | "..")) {
            return Err(Error::unsupported("names of objects with a part '.' or '..' cannot be read"));
        }
        Ok(location)
    }
}

/// True if the bucket's place holds a server, as ROOT and Davix write it.
fn is_host(place: &str) -> bool {
    place.contains(':') || place.starts_with("s3.") || place.ends_with(".amazonaws.com")
}

/// The URL of an object, from that of its bucket.
pub(super) fn object_url(bucket: &str, key: &str) -> Result<Url> {
    let url = format!("{}/{}", bucket.trim_end_matches('/'), utf8_percent_encode(key, &PLAIN));
    let url: Url = url.parse().map_err(|_| {
        Error::usage("the endpoint is not a URL")
            .hint("write it with its scheme, as in https://s3.example.org")
    })?;
    match matches!(url.scheme(), "http" | "https") && url.has_host() {
        true => Ok(url),
        false => Err(Error::usage("an endpoint is an http or https URL")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Option<(String, String, Option<String>)> {
        ObjectLocation::parse(url).ok().map(|location| (location.bucket, location.key, location.endpoint))
    }

    #[test]
    fn buckets_and_hosts() {
        let of = |bucket: &str, key: &str, endpoint: Option<&str>| {
            Some((bucket.to_owned(), key.to_owned(), endpoint.map(str::to_owned)))
        };
        assert_eq!(parsed("s3://b/d/f.root"), of("b", "d/f.root", None));
        assert_eq!(parsed("s3://my.dotted.bucket/f"), of("my.dotted.bucket", "f", None));
        assert_eq!(parsed("s3://s3.cern.ch/b/f"), of("b", "f", Some("https://s3.cern.ch")));
        assert_eq!(parsed("s3://localhost:9000/b/f"), of("b", "f", Some("http://localhost:9000")));
        assert_eq!(parsed("gs://b/a b?c#d"), of("b", "a b?c#d", None));
        for wrong in ["s3://", "s3:///f", "s3://b@d/f", "s3://b/../f", "s3://h:1/"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn accounts() {
        let location = ObjectLocation::parse("abfss://c@acc.dfs.core.windows.net/d/f.root").unwrap();
        assert_eq!((location.bucket.as_str(), location.account.as_deref()), ("c", Some("acc")));
    }

    #[test]
    fn names_are_encoded_once() {
        let url = object_url("https://h/b/", "d//a b+%20é?.root").unwrap();
        assert_eq!(url.as_str(), "https://h/b/d//a%20b%2B%2520%C3%A9%3F.root");
        assert!(object_url("h/b", "f").is_err());
        assert!(object_url("ftp://h", "f").is_err());
    }
}
