//! Credentials that the user gives for an HTTP URL: the user in it, and headers.

use crate::SourceOptions;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use sapwood_core::{Error, Result};
use sapwood_credentials::{Access, Signer, TokenChain, UserCredentials};
use std::sync::Arc;

/// The credentials for the object at a URL: those that the user gave, else bearer tokens and certificates that are
/// found.
pub(crate) fn access(url: &str, options: &SourceOptions) -> Result<Access> {
    let mut url: Url =
        web(url).parse().map_err(|error| Error::usage(format!("this is not a URL: {error}")))?;
    let user = user(&url);
    // Both can only fail for URLs without a host; http URLs have one.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    let chain = Arc::new(TokenChain::new(options.environment.clone()));
    access_by(url, user, chain, options)
}

/// The same, with a signer that finds other credentials.
pub fn access_by(
    url: Url,
    user: Option<HeaderValue>,
    chain: Arc<dyn Signer>,
    options: &SourceOptions,
) -> Result<Access> {
    let given = UserCredentials { headers: header_map(&options.headers)?, user };
    Ok(Access::new(url, given, chain, options.environment.clone()))
}

/// `dav` and `davs` are names for `http` and `https`.
fn web(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("davs") => format!("https://{rest}"),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("dav") => format!("http://{rest}"),
        _ => url.to_owned(),
    }
}

/// The `Authorization` of the user that a URL names (RFC 7617).
fn user(url: &Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let name = percent_decode_str(url.username()).decode_utf8_lossy();
    let password = percent_decode_str(url.password().unwrap_or_default()).decode_utf8_lossy();
    let mut value =
        HeaderValue::try_from(format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{password}"))))
            .ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn header_map(headers: &[(String, String)]) -> Result<HeaderMap> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let wrong = || Error::usage(format!("'{}' is not a legal HTTP header", name.escape_debug()));
        let name: HeaderName = name.parse().map_err(|_| wrong())?;
        let mut value: HeaderValue = value.parse().map_err(|_| wrong())?;
        value.set_sensitive(true);
        map.append(name, value);
    }
    Ok(map)
}
