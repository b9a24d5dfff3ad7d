//! Bearer tokens, by the bearer token discovery of the WLCG: the first place with a token decides.

use super::{CredentialFinding, CredentialState, Environment, Secret, SignedRequest, Signer};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use reqwest::{Method, Url};
use sapwood_core::{BoxFuture, Result};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How long a discovery is reused: a changed file is noticed within this time.
const FRESH: Duration = Duration::from_secs(1);

/// Longest token that is sent: servers refuse longer headers.
const LONGEST: u64 = 64 << 10;

const KIND: &str = "bearer token";

/// The token, if there is a usable one, and the places that were searched.
#[derive(Debug, Clone)]
struct TokenDiscovery {
    token: Option<Secret>,
    findings: Vec<CredentialFinding>,
}

fn discover(environment: &Environment) -> TokenDiscovery {
    let mut findings = Vec::new();
    if let Some(text) = environment.get("BEARER_TOKEN") {
        return decide(&text, "BEARER_TOKEN".to_owned(), findings);
    }
    findings.push(CredentialFinding::new(KIND, "BEARER_TOKEN", CredentialState::Absent));
    for (place, path, shared) in files(environment) {
        let Some(path) = path else {
            findings.push(CredentialFinding::new(KIND, place, CredentialState::Absent));
            continue;
        };
        let place = match place {
            "" => path.display().to_string(),
            variable => format!("{variable} ({})", path.display()),
        };
        match read(&path, shared) {
            Ok(Some(text)) => return decide(&text, place, findings),
            Ok(None) => findings.push(CredentialFinding::new(KIND, place, CredentialState::Absent)),
            Err(why) => findings.push(CredentialFinding::new(KIND, place, CredentialState::Unusable(why))),
        }
    }
    TokenDiscovery { token: None, findings }
}

/// The files that may hold the token, each with the variable that names it, and whether others may write to its
/// directory.
fn files(environment: &Environment) -> [(&'static str, Option<PathBuf>, bool); 3] {
    let name = format!("bt_u{}", Environment::user());
    [
        ("BEARER_TOKEN_FILE", environment.get("BEARER_TOKEN_FILE").map(PathBuf::from), false),
        (
            "XDG_RUNTIME_DIR",
            environment.get("XDG_RUNTIME_DIR").map(|dir| PathBuf::from(dir).join(&name)),
            false,
        ),
        ("", Some(environment.temporary(&name)), true),
    ]
}

/// The text of a token file; `None` if there is no file, or it is empty.
fn read(path: &std::path::Path, shared: bool) -> Result<Option<String>, String> {
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => return Err("it is no file".to_owned()),
        Ok(metadata) if metadata.len() > LONGEST => return Err("it is too long".to_owned()),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.kind().to_string()),
    }
    if let Some(why) = Environment::distrust(path).filter(|_| shared) {
        return Err(why);
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.kind().to_string())?;
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

/// Checks a token. A bad one ends the search: another one might belong to another user.
fn decide(text: &str, place: String, mut findings: Vec<CredentialFinding>) -> TokenDiscovery {
    let text = text.trim();
    // RFC 6750 §2.1.
    let legal = |c: char| c.is_ascii_alphanumeric() || "-._~+/=".contains(c);
    let state = match text.chars().all(legal) {
        true => CredentialState::until(expiry(text)),
        false => CredentialState::Unusable("it has illegal characters".to_owned()),
    };
    let token = state.is_usable().then(|| Secret::from(text));
    findings.push(CredentialFinding::new(KIND, place, state));
    TokenDiscovery { token, findings }
}

/// When a JSON Web Token expires; `None` if the token is not one, or has no expiry.
fn expiry(token: &str) -> Option<SystemTime> {
    let claims = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?.trim_end_matches('=')).ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&claims).ok()?;
    let seconds = claims.get("exp")?.as_f64().filter(|seconds| (0.0..1e11).contains(seconds))?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs_f64(seconds))
}

/// Shows the token to the server of an `https` URL.
#[derive(Debug)]
pub struct TokenChain {
    environment: Environment,
    found: Mutex<Option<(Instant, TokenDiscovery)>>,
}

impl TokenChain {
    /// A chain that searches this environment.
    pub fn new(environment: Environment) -> Self {
        TokenChain { environment, found: Mutex::new(None) }
    }

    fn discovery(&self) -> TokenDiscovery {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        match &*found {
            Some((when, discovery)) if when.elapsed() < FRESH => discovery.clone(),
            _ => {
                let discovery = discover(&self.environment);
                *found = Some((Instant::now(), discovery.clone()));
                discovery
            }
        }
    }
}

impl Signer for TokenChain {
    fn sign<'a>(
        &'a self,
        _: &'a Method,
        url: &'a Url,
        headers: HeaderMap,
    ) -> BoxFuture<'a, Result<SignedRequest>> {
        Box::pin(async move {
            // A URL that carries its own authorization needs no token: servers refuse two.
            let wanted = url.scheme() == "https" && !is_signed(url) && !headers.contains_key(AUTHORIZATION);
            let token = if wanted { self.discovery().token } else { None };
            let signed = token.and_then(|token| SignedRequest::bearer(url, headers.clone(), &token));
            Ok(signed.unwrap_or_else(|| SignedRequest::unsigned(url, headers)))
        })
    }

    fn renew(&self) {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn findings(&self, url: &Url) -> Vec<CredentialFinding> {
        let mut findings = self.discovery().findings;
        if url.scheme() != "https" {
            for finding in findings.iter_mut().filter(|finding| finding.state.is_usable()) {
                finding.state = CredentialState::Unusable("tokens are sent to https only".to_owned());
            }
        }
        findings
    }
}

/// True if the query of a URL authorizes the request.
fn is_signed(url: &Url) -> bool {
    const NAMES: [&str; 6] =
        ["x-amz-signature", "signature", "x-goog-signature", "sig", "authz", "access_token"];
    url.query_pairs().any(|(name, _)| NAMES.iter().any(|known| name.eq_ignore_ascii_case(known)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::fs;

    struct Places {
        root: PathBuf,
        variables: HashMap<String, String>,
    }

    impl Places {
        fn new(name: &str) -> Self {
            let root = std::env::temp_dir().join(format!("sapwood-token-{name}-{}", std::process::id()));
            fs::create_dir_all(&root).unwrap();
            Places { root, variables: HashMap::new() }
        }

        fn set(&mut self, name: &str, value: impl Into<String>) -> &mut Self {
            self.variables.insert(name.to_owned(), value.into());
            self
        }

        fn file(&self, name: &str, text: &str) -> String {
            let path = self.root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        }

        fn token(&self) -> Option<String> {
            let environment = Environment::new(self.variables.clone(), self.root.clone());
            discover(&environment).token.map(|token| token.reveal().to_owned())
        }
    }

    impl Drop for Places {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.root);
        }
    }

    #[test]
    fn the_order_is_the_one_of_the_specification() {
        let mut places = Places::new("order");
        assert_eq!(places.token(), None);
        places.file(&format!("bt_u{}", Environment::user()), "temporary\n");
        assert_eq!(places.token().as_deref(), Some("temporary"));
        places.file(&format!("run/bt_u{}", Environment::user()), " runtime\t\n");
        let run = places.root.join("run").to_str().unwrap().to_owned();
        places.set("XDG_RUNTIME_DIR", run);
        assert_eq!(places.token().as_deref(), Some("runtime"));
        let file = places.file("named", "named");
        places.set("BEARER_TOKEN_FILE", file);
        assert_eq!(places.token().as_deref(), Some("named"));
        places.set("BEARER_TOKEN", "variable");
        assert_eq!(places.token().as_deref(), Some("variable"));
        places.set("BEARER_TOKEN", " \n");
        assert_eq!(places.token().as_deref(), Some("named"));
        places.file("named", "");
        assert_eq!(places.token().as_deref(), Some("runtime"));
    }

    #[test]
    fn a_bad_token_ends_the_search() {
        let mut places = Places::new("bad");
        places.file(&format!("bt_u{}", Environment::user()), "temporary");
        for bad in ["two words", "line\r\nX-Header: 1", "é"] {
            places.set("BEARER_TOKEN", bad);
            assert_eq!(places.token(), None, "{bad:?}");
        }
    }

    #[test]
    fn expired_tokens_are_not_sent() {
        let mut places = Places::new("expired");
        let token = |exp: &str| {
            format!("e30.{}.c2ln", BASE64_URL_SAFE_NO_PAD.encode(format!(r#"{{"exp": {exp}, "sub": "me"}}"#)))
        };
        places.set("BEARER_TOKEN", token("1000000000"));
        assert_eq!(places.token(), None);
        places.set("BEARER_TOKEN", token("99999999999"));
        assert_eq!(places.token(), Some(token("99999999999")));
        for strange in ["1e300", "-5", "\"x\"", "null"] {
            assert_eq!(expiry(&token(strange)), None);
        }
        assert_eq!(expiry("no.json.here"), None);
    }

    #[test]
    fn signed_urls_need_no_token() {
        assert!(is_signed(&"https://h/f?X-Amz-Signature=1".parse().unwrap()));
        assert!(!is_signed(&"https://h/f?x=1".parse().unwrap()));
    }
}
