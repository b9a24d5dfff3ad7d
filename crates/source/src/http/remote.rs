//! One object on a server: one request and its answer, redirects followed.

use super::answer::{self, Answer, Failure, Parts, Sorted, Status, Validators, Whole};
use super::header::range_value;
use super::server::{Limits, Server};
use super::{CONCURRENCY_OF_SINGLE_RANGES, client};
use crate::OpenOptions;
use crate::accounting::Accounting;
use bytes::{Bytes, BytesMut};
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue, IF_MATCH, LOCATION, RANGE};
use reqwest::{Client, RequestBuilder, Response, Url};
use sapwood_core::{ByteRange, Error, ErrorKind, Result};
use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Redirects followed for one request.
const MOST_REDIRECTS: usize = 10;

/// Bytes that the lines around one part of a multipart body may take.
const PART_OVERHEAD: u64 = 1 << 10;

/// One request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask<'a> {
    /// The ranges wanted.
    pub(super) ranges: &'a [ByteRange],
    /// Number of bytes wanted from the end of the object.
    pub(super) suffix: Option<u64>,
    /// The version wanted.
    pub(super) version: Option<&'a Validators>,
}

impl Ask<'_> {
    fn range_count(&self) -> usize {
        self.ranges.len() + usize::from(self.suffix.is_some())
    }

    /// Bytes that the body of an answer may have.
    fn most_bytes(&self) -> u64 {
        let wanted: u64 = self.ranges.iter().map(|range| range.len).sum();
        wanted
            .saturating_add(self.suffix.unwrap_or(0))
            .saturating_add(PART_OVERHEAD * (self.range_count() as u64 + 1))
    }
}

/// One object, and how to ask for it.
pub(super) struct Remote {
    client: Client,
    original: Target,
    /// Where the original redirected to last.
    target: Mutex<Option<Target>>,
    /// Sent to the server of the original URL only.
    headers: HeaderMap,
    /// Sent to the server of the original URL only.
    user: Option<(String, Option<String>)>,
    stall: Duration,
    slots: Semaphore,
    pub(super) accounting: Accounting,
}

#[derive(Debug, Clone)]
struct Target {
    url: Url,
    server: Arc<Server>,
}

impl Target {
    fn new(url: Url) -> Self {
        Target { server: Server::of(&url), url }
    }
}

impl fmt::Debug for Remote {
    /// URL and headers may hold secrets; they are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("server", &self.server()).finish_non_exhaustive()
    }
}

impl Remote {
    pub(super) fn new(url: &str, options: &OpenOptions) -> Result<Self> {
        let mut url: Url =
            url.parse().map_err(|error| Error::usage(format!("this is not a URL: {error}")))?;
        let decode = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
        let user = (!url.username().is_empty() || url.password().is_some())
            .then(|| (decode(url.username()), url.password().map(decode)));
        // Both can only fail for URLs without a host; http URLs have one.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_fragment(None);
        Ok(Remote {
            client: client::shared()?,
            original: Target::new(url),
            target: Mutex::new(None),
            headers: header_map(&options.headers)?,
            user,
            stall: options.stall,
            slots: Semaphore::new(CONCURRENCY_OF_SINGLE_RANGES),
            accounting: Accounting::new(Arc::clone(&options.counters)),
        })
    }

    /// What is remembered about the server that answers now.
    pub(super) fn server(&self) -> Arc<Server> {
        self.target().server
    }

    /// What one request may hold.
    pub(super) fn limits(&self) -> Limits {
        self.server().limits()
    }

    /// Remembers something about the server that answers, and about the one that redirects to it: the
    /// next file is asked for there, and the request must suit both.
    pub(super) fn learn(&self, lesson: impl Fn(&Server)) {
        lesson(&self.server());
        lesson(&self.original.server);
    }

    /// Sends a request and reads the answer (but not the body of a whole object).
    pub(super) async fn ask(&self, ask: Ask<'_>) -> Result<Answer, Failure> {
        // The semaphore is never closed.
        let _slot = self.slots.acquire().await.ok();
        let target = self.target();
        let answer = self.ask_at(target.url.clone(), ask).await;
        let stale = matches!(
            answer,
            Err(Failure::Network(_) | Failure::Status(Status { code: 401 | 403 | 404 | 410 | 500.., .. }))
        );
        if stale && target.url != self.original.url {
            // Where it redirected to may be down or its signature old; the original knows better.
            *self.lock_target() = None;
            return self.ask_at(self.original.url.clone(), ask).await;
        }
        answer
    }

    async fn ask_at(&self, mut url: Url, ask: Ask<'_>) -> Result<Answer, Failure> {
        for _ in 0..=MOST_REDIRECTS {
            let response = self.send(&url, ask).await?;
            if !response.status().is_redirection() {
                if url != self.target().url {
                    *self.lock_target() = Some(Target::new(url));
                }
                return self.receive(response, ask.most_bytes()).await;
            }
            url = redirect(&url, &response)?;
        }
        Err(Failure::Fatal(Error::new(ErrorKind::Server, "the server redirects without end")))
    }

    async fn send(&self, url: &Url, ask: Ask<'_>) -> Result<Response, Failure> {
        let wait = self.accounting.request(ask.range_count());
        let response = self.in_time(self.request(url, ask).send()).await;
        self.accounting.answered(wait);
        response
    }

    fn request(&self, url: &Url, ask: Ask<'_>) -> RequestBuilder {
        let mut request = self
            .client
            .get(url.clone())
            .header(RANGE, range_value(ask.ranges, ask.suffix))
            .header(ACCEPT_ENCODING, "identity");
        // Not If-Range: where the object changed, that would make the server send all of it.
        if let Some(etag) = ask.version.and_then(Validators::strong_etag) {
            request = request.header(IF_MATCH, etag);
        }
        if url.origin() == self.original.url.origin() {
            if let Some((name, password)) = &self.user {
                request = request.basic_auth(name, password.as_deref());
            }
            request = request.headers(self.headers.clone());
        }
        request
    }

    async fn receive(&self, response: Response, most: u64) -> Result<Answer, Failure> {
        match answer::sort(response)? {
            Sorted::Whole(whole) => Ok(Answer::Whole(whole)),
            Sorted::Parts { response, validators, content_range } => {
                let announced = content_range.and_then(|content| content.range).map_or(0, |range| range.len);
                if announced > most {
                    // Not what was asked for: the caller sees that nothing useful came.
                    return Ok(Answer::Parts(Parts { parts: Vec::new(), validators, broken: None }));
                }
                let (body, broken) = self.body(response, most).await?;
                let parts = answer::parts(body, content_range);
                Ok(Answer::Parts(Parts { parts, validators, broken }))
            }
        }
    }

    /// The whole object, if it has at most `most` bytes.
    pub(super) async fn take_whole(&self, whole: Whole, most: u64) -> Result<Bytes, Failure> {
        match self.body(whole.response, most).await? {
            (_, Some(broken)) => Err(Failure::Network(broken)),
            (body, None) => Ok(body),
        }
    }

    /// The bytes of a body that came, and why there are not more if the connection broke.
    async fn body(&self, mut response: Response, most: u64) -> Result<(Bytes, Option<Error>), Failure> {
        let announced = response.content_length().unwrap_or(0).min(most);
        let mut body = BytesMut::with_capacity(usize::try_from(announced).unwrap_or(0));
        loop {
            match self.in_time(response.chunk()).await {
                Ok(Some(chunk)) => {
                    self.accounting.received(chunk.len());
                    if (body.len() + chunk.len()) as u64 > most {
                        let message = "the server sends more bytes than were asked for";
                        return Err(Failure::Fatal(Error::new(ErrorKind::Server, message)));
                    }
                    body.extend_from_slice(&chunk);
                }
                Ok(None) => return Ok((body.freeze(), None)),
                Err(Failure::Network(error)) => return Ok((body.freeze(), Some(error))),
                Err(other) => return Err(other),
            }
        }
    }

    /// Waits for the network, but not for ever.
    async fn in_time<T>(&self, wait: impl Future<Output = reqwest::Result<T>>) -> Result<T, Failure> {
        match timeout(self.stall, wait).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Failure::Network(network_error(error))),
            Err(_) => {
                let message = format!("the server was silent for {} s", self.stall.as_secs_f32());
                Err(Failure::Network(Error::new(ErrorKind::Timeout, message)))
            }
        }
    }

    fn target(&self) -> Target {
        self.lock_target().clone().unwrap_or_else(|| self.original.clone())
    }

    fn lock_target(&self) -> std::sync::MutexGuard<'_, Option<Target>> {
        self.target.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where an answer redirects to.
fn redirect(url: &Url, response: &Response) -> Result<Url, Failure> {
    response
        .headers()
        .get(LOCATION)
        .and_then(|location| location.to_str().ok())
        .and_then(|location| url.join(location).ok())
        .filter(|url| matches!(url.scheme(), "http" | "https"))
        .ok_or_else(|| {
            let message = format!("the server answered {} without saying where to go", response.status());
            Failure::Fatal(Error::new(ErrorKind::Server, message))
        })
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

fn network_error(error: reqwest::Error) -> Error {
    let error = error.without_url();
    if error.is_connect() && error.is_timeout() {
        return Error::new(ErrorKind::Timeout, "the server cannot be reached: no connection in time")
            .caused_by(error);
    }
    let mut root: &dyn StdError = &error;
    while let Some(deeper) = root.source() {
        root = deeper;
    }
    let what = if error.is_connect() { "the server cannot be reached" } else { "the connection failed" };
    Error::new(ErrorKind::Network, format!("{what}: {root}")).caused_by(error)
}
