//! One message to a server and its answer: its credentials, the read timeout, what a refusal means.

use super::answer::{Failure, Status, error_word};
use super::buffers::Buffer;
use super::client;
use crate::SourceOptions;
use crate::accounting::RequestAccounting;
use crate::admission::admit_to;
use crate::retry::{Retries, RetryPolicy};
use bytes::Bytes;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Method, Response, Url};
use sapwood_core::{Deadline, Error, ErrorKind};
use sapwood_credentials::{Access, CredentialId, SignedRequest};
use std::error::Error as StdError;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Redirects followed for one request.
pub(super) const MOST_REDIRECTS: usize = 10;

/// Bytes of a refusal's body that are read, to find its error code.
const LONGEST_REFUSAL: u64 = 8 << 10;

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// Number of ranges that it requests.
    pub(super) ranges: usize,
}

/// How long the answer took to begin; an extension of the answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstByteTime(pub(super) Duration);

/// Exchanges messages with the servers of one object.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) access: Access,
    pub(super) accounting: RequestAccounting,
    read_timeout: Duration,
    retry: RetryPolicy,
}

impl Exchange {
    /// Exchanges messages that are counted for `server`, which may redirect them to others.
    pub(super) fn new(access: Access, server: Option<String>, options: &SourceOptions) -> Self {
        let accounting = RequestAccounting::new(Arc::clone(&options.counters), server);
        Exchange { access, accounting, read_timeout: options.read_timeout, retry: options.retry }
    }

    /// The retries of a call; `name` names the object in messages.
    pub(super) fn retries(&self, name: &str, deadline: Deadline) -> Retries {
        Retries::new(self.retry, self.accounting.counters(), name, deadline)
    }

    /// Does something until it succeeds or fails for good, with retries; `name` names the object in messages.
    pub(super) async fn repeat<T, F: Future<Output = Result<T, Failure>>>(
        &self,
        name: &str,
        deadline: Deadline,
        attempt: impl Fn() -> F,
    ) -> Result<T, Error> {
        let mut retries = self.retries(name, deadline);
        loop {
            match attempt().await {
                Ok(done) => return Ok(done),
                Err(failure) => {
                    let (error, pause) = failure.transient()?;
                    retries.pause(error, pause).await?;
                }
            }
        }
    }

    /// Sends a message. If the server refuses its credential, sends it once more: with a credential that is found
    /// now, or with none, in case everybody may read.
    pub(super) async fn send(&self, url: &Url, message: &Message) -> Result<Response, Failure> {
        let signed =
            self.access.sign(&message.method, url, &message.headers).await.map_err(Failure::Fatal)?;
        let shown = signed.credential;
        let response = self.dispatch(signed, message).await?;
        if !self.access.is_refusal(response.status().as_u16(), shown) {
            if response.status().is_success() {
                self.access.accepted(shown);
            }
            return Ok(response);
        }
        let again = self
            .access
            .sign_again(&message.method, url, &message.headers, shown)
            .await
            .map_err(Failure::Fatal)?;
        let Some(again) = again else { return Ok(response) };
        let bare = again.credential == CredentialId::default();
        let second = self.dispatch(again, message).await?;
        if matches!(second.status().as_u16(), 400 | 401 | 403) {
            // The first refusal says more than that of a request without credentials.
            return Ok(if bare { response } else { second });
        }
        if bare && second.status().is_success() {
            self.access.accepted_without();
        }
        Ok(second)
    }

    /// A message whose answer nothing waits for. It is counted, and ends by itself.
    pub(super) async fn knock(
        &self,
        url: &Url,
        message: &Message,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        let SignedRequest { url, headers, .. } =
            self.access.sign(&message.method, url, &message.headers).await.ok()?;
        let client = client::shared(self.access.environment(), url.scheme()).ok()?;
        let asked = url.to_string();
        let request = client.request(message.method.clone(), url).headers(headers);
        self.accounting.request(message.ranges);
        let (counters, read_timeout) = (Arc::clone(self.accounting.counters()), self.read_timeout);
        Some(async move {
            let _place = admit_to(&asked).await;
            let answer = async {
                let mut response = request.header(ACCEPT_ENCODING, "identity").send().await.ok()?;
                let mut left = LONGEST_REFUSAL;
                // A connection can only be reused once its answer was read to the end.
                while let Some(chunk) = response.chunk().await.ok()? {
                    counters.fetched_bytes.add(chunk.len() as u64);
                    left = left.checked_sub(chunk.len() as u64)?;
                }
                Some(())
            };
            // Nothing depends on the outcome.
            let _ = timeout(read_timeout, answer).await;
        })
    }

    async fn dispatch(&self, signed: SignedRequest, message: &Message) -> Result<Response, Failure> {
        let SignedRequest { url, headers, .. } = signed;
        let client = client::shared(self.access.environment(), url.scheme()).map_err(Failure::Fatal)?;
        let request = client
            .request(message.method.clone(), url.clone())
            .headers(headers)
            // Not signed: proxies may change it.
            .header(ACCEPT_ENCODING, "identity")
            .body(message.body.clone());
        let place = place(&url);
        let wait = self.accounting.request(message.ranges);
        let begin = Instant::now();
        let response = self.in_time(&place, request.send()).await;
        self.accounting.answered(wait);
        match response {
            Ok(mut response) => {
                response.extensions_mut().insert(FirstByteTime(begin.elapsed()));
                self.access.learn(response.headers());
                Ok(response)
            }
            // Servers end TLS this way if they reject our certificate, or require one.
            Err(Failure::Unreachable(error) | Failure::Network(error))
                if error.message().contains("fatal alert") =>
            {
                Err(Failure::Network(error.hint(self.access.certificate_hint())))
            }
            Err(other) => Err(other),
        }
    }

    /// The bytes of a body that arrived, and the error if the connection broke before the end.
    pub(super) async fn body(
        &self,
        mut response: Response,
        most: u64,
    ) -> Result<(Bytes, Option<Error>), Failure> {
        let announced = response.content_length().unwrap_or(0).min(most);
        let place = place(response.url());
        let mut body = Buffer::with_capacity(usize::try_from(announced).unwrap_or(0));
        loop {
            match self.in_time(&place, response.chunk()).await {
                Ok(Some(chunk)) => {
                    self.accounting.received(chunk.len());
                    if (body.len() + chunk.len()) as u64 > most {
                        let message = "the server sends more bytes than requested";
                        return Err(Failure::Fatal(Error::new(ErrorKind::Server, message)));
                    }
                    body.push(&chunk);
                }
                Ok(None) => return Ok((body.freeze(), None)),
                Err(Failure::Network(error)) => return Ok((body.freeze(), Some(error))),
                Err(other) => return Err(other),
            }
        }
    }

    /// What an answer other than success means.
    pub(super) async fn failure(&self, response: Response) -> Failure {
        let (status, headers) = (response.status(), response.headers().clone());
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let body = match kind.contains("xml") {
            true => self.body(response, LONGEST_REFUSAL).await.map(|(body, _)| body).unwrap_or_default(),
            false => Bytes::new(),
        };
        let word = error_word(&body);
        let answer = match word {
            Some(word) => format!("{status} ({word})"),
            None => status.to_string(),
        };
        let mut failure = Status::of(status, &headers, &answer);
        let expired =
            word.is_some_and(|word| matches!(word, "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired"));
        if matches!(failure.code, 401 | 403) || expired {
            failure.code = if expired { 403 } else { failure.code };
            failure.error = self.access.refused(&answer);
        }
        Failure::Status(failure)
    }

    /// Waits for a server, at most for the read timeout.
    async fn in_time<T>(
        &self,
        place: &str,
        wait: impl Future<Output = reqwest::Result<T>>,
    ) -> Result<T, Failure> {
        match timeout(self.read_timeout, wait).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(network_failure(error, place)),
            Err(_) => {
                let message =
                    format!("the server {place} was silent for {} s", self.read_timeout.as_secs_f32());
                Err(Failure::Network(Error::new(ErrorKind::Timeout, message)))
            }
        }
    }
}

/// The target of a redirect.
pub(super) fn redirect(url: &Url, response: &Response) -> Result<Url, Failure> {
    response
        .headers()
        .get(LOCATION)
        .and_then(|location| location.to_str().ok())
        .and_then(|location| url.join(location).ok())
        .filter(|url| matches!(url.scheme(), "http" | "https"))
        .ok_or_else(|| {
            let message = format!("the server answered {} without a target", response.status());
            Failure::Fatal(Error::new(ErrorKind::Server, message))
        })
}

/// The error for too many redirects.
pub(super) fn endless() -> Failure {
    Failure::Fatal(Error::new(ErrorKind::Server, "the server redirects in a loop"))
}

/// Host and port of a URL, which messages may show.
fn place(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn network_failure(error: reqwest::Error, place: &str) -> Failure {
    let error = error.without_url();
    if error.is_builder() {
        return Failure::Fatal(
            Error::usage("this is not a URL: a character is not allowed in it").caused_by(error),
        );
    }
    if error.is_connect() && error.is_timeout() {
        let message = format!("the server {place} cannot be reached: no connection in time");
        return Failure::Unreachable(Error::new(ErrorKind::Timeout, message).caused_by(error));
    }
    let mut root: &dyn StdError = &error;
    while let Some(deeper) = root.source() {
        root = deeper;
    }
    let root = root.to_string();
    if root.contains("InvalidContentType") {
        let message = format!("the server {place} answers without TLS");
        let hint = "does it speak http:// instead of https://, or is the port another one?";
        return Failure::Fatal(Error::new(ErrorKind::Network, message).caused_by(error).hint(hint));
    }
    if root.contains("invalid HTTP version") {
        let message = format!("the server {place} answers with something else than HTTP");
        let hint = "does it speak https:// instead of http://, or is the port another one?";
        return Failure::Fatal(Error::new(ErrorKind::Network, message).caused_by(error).hint(hint));
    }
    if !error.is_connect() {
        let message = format!("the connection to {place} failed: {root}");
        return Failure::Network(Error::new(ErrorKind::Network, message).caused_by(error));
    }
    let (hint, is_final) = match root.as_str() {
        // EAI_NONAME, in the words of Linux and of macOS. Other failures of name resolution may pass.
        root if root.contains("Name or service not known") || root.contains("nor servname") => {
            (Some("is the name of the host spelt right?"), true)
        }
        root if root.contains("invalid peer certificate") => (Some(client::certificate_hint(root)), true),
        root if root.contains("refused") => (Some("is the port right, and does the server run?"), false),
        _ => (None, false),
    };
    let failure = Error::new(ErrorKind::Network, format!("the server {place} cannot be reached: {root}"));
    let failure = hint.into_iter().fold(failure.caused_by(error), Error::hint);
    if is_final { Failure::Fatal(failure) } else { Failure::Unreachable(failure) }
}
