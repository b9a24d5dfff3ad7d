//! The credentials for one object: which servers see which, and what to try after a refusal.

use super::{CredentialFinding, CredentialState, Environment, Secret, x509};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Method, Url};
use sapwood_core::{BoxFuture, Error, ErrorKind, Result};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Distinguishes credentials without revealing them; the default is that of no credential.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CredentialId(Option<u64>);

impl CredentialId {
    /// The identity of a credential whose [`Secret::fingerprint`](crate::Secret::fingerprint) is `number`.
    pub fn of(number: u64) -> Self {
        CredentialId(Some(number))
    }

    fn is_none(self) -> bool {
        self.0.is_none()
    }
}

/// An authorized request.
pub struct SignedRequest {
    /// The URL; some stores sign in its query.
    pub url: Url,
    /// All headers of the request.
    pub headers: HeaderMap,
    /// The credential that it shows.
    pub credential: CredentialId,
}

impl SignedRequest {
    /// A request that shows no credential.
    pub fn unsigned(url: &Url, headers: HeaderMap) -> Self {
        SignedRequest { url: url.clone(), headers, credential: CredentialId::default() }
    }

    /// A request that shows a bearer token; `None` if a header cannot hold the token.
    pub fn bearer(url: &Url, mut headers: HeaderMap, token: &Secret) -> Option<Self> {
        let mut value = HeaderValue::try_from(format!("Bearer {}", token.reveal())).ok()?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
        Some(SignedRequest { url: url.clone(), headers, credential: CredentialId::of(token.fingerprint()) })
    }
}

/// Finds credentials of one kind and puts them on requests.
pub trait Signer: fmt::Debug + Send + Sync {
    /// A request for a URL with these headers, authorized if there is a credential for it.
    fn sign<'a>(
        &'a self,
        method: &'a Method,
        url: &'a Url,
        headers: HeaderMap,
    ) -> BoxFuture<'a, Result<SignedRequest>>;

    /// Forgets the credentials that were found, so that they are searched again.
    fn renew(&self);

    /// Where credentials for a URL were searched.
    fn findings(&self, url: &Url) -> Vec<CredentialFinding>;

    /// True if these credentials are also for `url`, to which `original` redirects.
    fn follows(&self, original: &Url, url: &Url) -> bool {
        original.origin() == url.origin()
    }

    /// True if the credentials were found rather than given for this file: the file may not need any.
    fn may_go_without(&self) -> bool {
        true
    }

    /// True if such servers answer 400 to expired credentials.
    fn expires_by_400(&self) -> bool {
        false
    }

    /// Learns from the headers of an answer.
    fn learn(&self, _answer: &HeaderMap) {}

    /// What the user can do about a refusal.
    fn advice(&self) -> &'static str {
        "put a token in BEARER_TOKEN or BEARER_TOKEN_FILE, make a proxy (voms-proxy-init), or give \
         the credentials that the server wants as a header or in the URL"
    }
}

/// Credentials that the user gave for one file. Only the server of the original URL sees them.
#[derive(Default)]
pub struct UserCredentials {
    /// Further headers, such as `Authorization`.
    pub headers: HeaderMap,
    /// The value of `Authorization` for the user in the URL.
    pub user: Option<HeaderValue>,
}

/// The credentials for the servers of one object: those that the user gave, else those that the chain finds.
pub struct Access {
    original: Url,
    given: UserCredentials,
    chain: Arc<dyn Signer>,
    environment: Environment,
    /// The server accepted a credential of the chain.
    proven: AtomicBool,
    /// The server refused the credential of the chain, and answered without it.
    without: AtomicBool,
}

impl Access {
    /// The credentials for the object at `original`, which has no user name in it.
    pub fn new(
        original: Url,
        given: UserCredentials,
        chain: Arc<dyn Signer>,
        environment: Environment,
    ) -> Self {
        let (proven, without) = (AtomicBool::new(false), AtomicBool::new(false));
        Access { original, given, chain, environment, proven, without }
    }

    /// The URL of the object, without the user.
    pub fn original(&self) -> &Url {
        &self.original
    }

    /// Where credentials are searched.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// A request with everything that its server may see.
    pub async fn sign(&self, method: &Method, url: &Url, headers: &HeaderMap) -> Result<SignedRequest> {
        let plain = self.plain(url, headers);
        let chained = !self.without.load(Ordering::Relaxed) && self.chain.follows(&self.original, url);
        if chained && !plain.headers.contains_key(AUTHORIZATION) {
            return self.chain.sign(method, url, plain.headers).await;
        }
        Ok(plain)
    }

    /// The request once more, if there is a credential other than the refused one.
    pub async fn sign_again(
        &self,
        method: &Method,
        url: &Url,
        headers: &HeaderMap,
        refused: CredentialId,
    ) -> Result<Option<SignedRequest>> {
        self.chain.renew();
        let again = self.sign(method, url, headers).await?;
        if again.credential != refused {
            return Ok(Some(again));
        }
        let bare = !refused.is_none() && self.chain.may_go_without();
        Ok(bare.then(|| self.plain(url, headers)))
    }

    fn plain(&self, url: &Url, headers: &HeaderMap) -> SignedRequest {
        let mut headers = headers.clone();
        if url.origin() == self.original.origin() {
            if let Some(user) = &self.given.user {
                headers.insert(AUTHORIZATION, user.clone());
            }
            headers.extend(self.given.headers.clone());
        }
        SignedRequest::unsigned(url, headers)
    }

    /// True if a status may be due to the credential of the request.
    pub fn is_refusal(&self, status: u16, shown: CredentialId) -> bool {
        match status {
            401 | 403 => true,
            400 => {
                let proven = self.proven.load(Ordering::Relaxed) && !self.chain.expires_by_400();
                !shown.is_none() && !proven
            }
            _ => false,
        }
    }

    /// Learns from the headers of an answer.
    pub fn learn(&self, answer: &HeaderMap) {
        self.chain.learn(answer);
    }

    /// The server accepted the request.
    pub fn accepted(&self, shown: CredentialId) {
        if !shown.is_none() {
            self.proven.store(true, Ordering::Relaxed);
        }
    }

    /// The server answered without the credential that it had refused: it does not see it again.
    pub fn accepted_without(&self) {
        self.without.store(true, Ordering::Relaxed);
    }

    /// Where credentials were searched. TLS shows certificates in any case.
    pub fn findings(&self) -> Vec<CredentialFinding> {
        let mut findings = self.chain.findings(&self.original);
        if self.original.scheme() == "https" {
            findings.extend(x509::findings(&self.environment));
        }
        findings
    }

    /// A hint for a server that ends TLS.
    pub fn certificate_hint(&self) -> String {
        let findings: Vec<_> =
            x509::findings(&self.environment).iter().map(CredentialFinding::to_string).collect();
        format!("the server may want another certificate; found: {}", findings.join("; "))
    }

    /// The error for a server that refuses to let us read.
    pub fn refused(&self, answer: &str) -> Error {
        let given = self.given.user.is_some() || self.given.headers.contains_key(AUTHORIZATION);
        let there: Vec<_> = self.findings().into_iter().filter(CredentialFinding::is_there).collect();
        let expired = there.iter().any(|finding| matches!(finding.state, CredentialState::Expired(_)));
        let tried: Vec<_> = there.iter().map(CredentialFinding::to_string).collect();
        let shown = match (given, tried.is_empty()) {
            (true, _) => "the given credentials do not suffice".to_owned(),
            (false, true) => "no credentials were found for it".to_owned(),
            (false, false) => format!("found: {}", tried.join("; ")),
        };
        let error = Error::new(ErrorKind::Permission, format!("the server answered {answer}; {shown}"));
        match expired && !given {
            true => error.hint("renew the expired credentials"),
            false => error.hint(self.chain.advice()),
        }
    }
}

impl fmt::Debug for Access {
    /// URL and headers may hold secrets; they are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.original.host_str().unwrap_or_default();
        f.debug_struct("Access").field("host", &host).field("chain", &self.chain).finish_non_exhaustive()
    }
}
