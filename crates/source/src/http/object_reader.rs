//! Reads many objects of one server, each by a request or two, without opening them first.

use super::answer::{self, AnswerHead, Failure, Status};
use super::client;
use super::exchange::{Exchange, FirstByteTime, MOST_REDIRECTS, Message, endless, redirect};
use super::header::range_value;
use super::server::Server;
use super::spare::{self, Route};
use crate::SourceOptions;
use crate::admission::admit_to;
use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderValue, RANGE};
use reqwest::{Method, Response, Url};
use sapwood_core::{ByteRange, Deadline, Error, ErrorKind, Result};
use sapwood_credentials::Access;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Largest object that is read at once: a size that a server announces must not take all memory.
const LARGEST_WHOLE: u64 = 2 << 30;

/// Requests that can use the connections of the first contact.
const AT_FIRST: usize = 1;

/// The objects of one server.
pub struct ObjectReader {
    exchange: Exchange,
    slots: Semaphore,
    /// Most connections.
    most: usize,
    /// The shortest time until an answer began, in microseconds.
    nearest: AtomicU64,
}

impl fmt::Debug for ObjectReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectReader").field("access", &self.exchange.access).finish_non_exhaustive()
    }
}

impl ObjectReader {
    /// The objects on the server that `access` is for. Requests are counted for `server`.
    pub fn new(access: Access, server: Option<String>, options: &SourceOptions) -> Self {
        let (exchange, most) = (Exchange::new(access, server, options), client::most_connections());
        ObjectReader { exchange, slots: Semaphore::new(most), most, nearest: AtomicU64::new(u64::MAX) }
    }

    /// How many requests are worth having in flight together, at the round trip measured so far.
    pub fn concurrency(&self) -> usize {
        client::connections_at(self.round_trip().unwrap_or_default(), self.most)
    }

    /// The shortest time until an answer began; `None` before the first answer.
    pub fn round_trip(&self) -> Option<Duration> {
        Some(self.nearest.load(Ordering::Relaxed))
            .filter(|micros| *micros < u64::MAX)
            .map(Duration::from_micros)
    }

    /// The server, for connections that are made ahead of need.
    fn route(&self, url: &Url) -> Route<'_> {
        let (exchange, url, server) = (&self.exchange, url.clone(), Server::of(url));
        Route { exchange, url, server, is_store: true, concurrency: self.most }
    }

    /// The bytes of an object, or of a range that is not empty; `name` names it in the log.
    pub async fn get(
        &self,
        url: &Url,
        range: Option<ByteRange>,
        name: &str,
        deadline: Deadline,
    ) -> Result<Bytes> {
        let mut headers = HeaderMap::new();
        if let Some(range) = range
            && let Ok(value) = HeaderValue::try_from(range_value(&[range], None))
        {
            headers.insert(RANGE, value);
        }
        self.get_by(url, headers, range, name, deadline).await
    }

    /// All bytes of an object of known size. The same as that range, but the server sees that it is a whole file,
    /// which some send with a third of the work.
    pub async fn get_whole(&self, url: &Url, size: u64, name: &str, deadline: Deadline) -> Result<Bytes> {
        let all = ByteRange { start: 0, len: size };
        self.get_by(url, HeaderMap::new(), Some(all), name, deadline).await
    }

    async fn get_by(
        &self,
        url: &Url,
        headers: HeaderMap,
        range: Option<ByteRange>,
        name: &str,
        deadline: Deadline,
    ) -> Result<Bytes> {
        let message = Message { method: Method::GET, headers, body: Bytes::new(), ranges: 1 };
        // The semaphore is never closed.
        let _slot = self.slots.acquire().await.ok();
        let others = self.most.saturating_sub(self.slots.available_permits()) > AT_FIRST;
        if let Some(first_answer) = self.round_trip().filter(|_| others) {
            spare::made(&Server::of(url), first_answer).await;
        }
        let attempt = || async {
            let answer = self.try_get(url, &message, range);
            match self.round_trip() {
                Some(_) => answer.await,
                None => spare::beside(self.route(url), answer).await,
            }
        };
        self.exchange.repeat(name, deadline, attempt).await
    }

    async fn try_get(
        &self,
        url: &Url,
        message: &Message,
        range: Option<ByteRange>,
    ) -> Result<Bytes, Failure> {
        let _place = admit_to(url.as_str()).await;
        let response = self.ask(url, message).await?;
        let status = response.status();
        if status.is_client_error() || status.is_server_error() {
            return Err(match (self.exchange.failure(response).await, range) {
                (Failure::Status(Status { code: 416, total, .. }), Some(range)) => {
                    Failure::Fatal(range.beyond(total.unwrap_or(range.start)))
                }
                (failure, _) => failure,
            });
        }
        match (answer::sort(response)?, range) {
            (AnswerHead::Parts { response, content_range, .. }, Some(range)) => {
                match content_range.and_then(|content| content.range) {
                    Some(part) if part == range => self.body(response, range.len).await,
                    Some(part) if part.start == range.start && part.len < range.len => {
                        Err(Failure::Fatal(range.beyond(part.end())))
                    }
                    _ => Err(Failure::Fatal(other_bytes())),
                }
            }
            (AnswerHead::Whole(whole), None) => {
                let len = whole.size.filter(|size| *size <= LARGEST_WHOLE).ok_or_else(|| {
                    let message =
                        "the object is too large to be read at once, or the server does not say its size";
                    Failure::Fatal(Error::new(ErrorKind::Limit, message))
                })?;
                self.body(whole.response, len).await
            }
            // Some servers answer this way if the range is the whole object, or empty.
            (AnswerHead::Whole(whole), Some(range)) => match whole.size {
                Some(size) if size < range.end() => Err(Failure::Fatal(range.beyond(size))),
                Some(size) if size == range.len => self.body(whole.response, size).await,
                _ => Err(Failure::Fatal(other_bytes())),
            },
            (AnswerHead::Parts { .. }, None) => Err(Failure::Fatal(other_bytes())),
        }
    }

    /// The headers of an object, without its bytes.
    pub async fn head(&self, url: &Url, name: &str, deadline: Deadline) -> Result<HeaderMap> {
        self.exchange.repeat(name, deadline, || self.try_head(url)).await
    }

    async fn try_head(&self, url: &Url) -> Result<HeaderMap, Failure> {
        let _place = admit_to(url.as_str()).await;
        let response = self.ask(url, &head()).await?;
        match response.status().is_success() {
            true => Ok(response.headers().clone()),
            false => Err(self.exchange.failure(response).await),
        }
    }

    /// The headers of any answer, which state the time of the server.
    pub async fn date(&self, url: &Url, name: &str, deadline: Deadline) -> Result<HeaderMap> {
        let message = head();
        let answer = self.exchange.repeat(name, deadline, || self.ask(url, &message)).await?;
        Ok(answer.headers().clone())
    }

    async fn ask(&self, url: &Url, message: &Message) -> Result<Response, Failure> {
        let mut url = url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let response = self.exchange.send(&url, message).await?;
            if let Some(&FirstByteTime(time)) = response.extensions().get() {
                let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
                self.nearest.fetch_min(micros, Ordering::Relaxed);
            }
            if !response.status().is_redirection() {
                return Ok(response);
            }
            url = redirect(&url, &response)?;
        }
        Err(endless())
    }

    /// A body of `len` bytes.
    async fn body(&self, response: Response, len: u64) -> Result<Bytes, Failure> {
        match self.exchange.body(response, len).await? {
            (body, None) if body.len() as u64 == len => Ok(body),
            (_, Some(broken)) => Err(Failure::Network(broken)),
            (_, None) => {
                let message = "the server sent fewer bytes than it had announced";
                Err(Failure::Network(Error::new(ErrorKind::Network, message)))
            }
        }
    }
}

fn head() -> Message {
    Message { method: Method::HEAD, headers: HeaderMap::new(), body: Bytes::new(), ranges: 0 }
}

fn other_bytes() -> Error {
    Error::new(ErrorKind::Server, "the server did not send the requested bytes")
}
