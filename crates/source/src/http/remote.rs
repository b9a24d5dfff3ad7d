//! One object on a server: one request and its answer, following redirects.

use super::answer::{self, AnswerHead, Failure, HttpAnswer, PartialAnswer, Status, Validators, WholeObject};
use super::exchange::{Exchange, FirstByteTime, MOST_REDIRECTS, Message, endless, redirect};
use super::header::range_value;
use super::limits::CONCURRENCY_OF_SINGLE_RANGES;
use super::server::{Limits, Server};
use super::spare::{self, Route};
use crate::SourceOptions;
use crate::admission::admit_to;
use crate::retry::Retries;
use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderValue, IF_MATCH, RANGE};
use reqwest::{Method, Response, Url};
use sapwood_core::{ByteRange, Deadline};
use sapwood_credentials::Access;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Bytes that the lines around one part of a multipart body may take.
const PART_OVERHEAD: u64 = 1 << 10;

/// Requests that can use the connections of the first contact: head, tail and probe.
const AT_FIRST: usize = 3;

/// The same at an object store, where there is no probe.
const AT_FIRST_IN_STORES: usize = 2;

/// One request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask<'a> {
    /// The ranges to read.
    pub(super) ranges: &'a [ByteRange],
    /// Number of bytes to read from the end of the object.
    pub(super) suffix: Option<u64>,
    /// The version to read.
    pub(super) version: Option<&'a Validators>,
}

impl Ask<'_> {
    fn range_count(&self) -> usize {
        self.ranges.len() + usize::from(self.suffix.is_some())
    }

    fn message(&self) -> Message {
        let mut headers = HeaderMap::new();
        if let Ok(ranges) = HeaderValue::try_from(range_value(self.ranges, self.suffix)) {
            headers.insert(RANGE, ranges);
        }
        // Not If-Range: if the object changed, the server would then send all of it.
        let etag = self.version.and_then(Validators::strong_etag).map(HeaderValue::from_str);
        if let Some(Ok(etag)) = etag {
            headers.insert(IF_MATCH, etag);
        }
        Message { method: Method::GET, headers, body: Bytes::new(), ranges: self.range_count() }
    }

    /// Most bytes that the body of an answer may have.
    fn most_bytes(&self) -> u64 {
        let wanted: u64 = self.ranges.iter().map(|range| range.len).sum();
        wanted
            .saturating_add(self.suffix.unwrap_or(0))
            .saturating_add(PART_OVERHEAD * (self.range_count() as u64 + 1))
    }
}

/// One object, and how to request it.
pub(super) struct Remote {
    original: Target,
    /// The latest target of the original's redirects.
    target: Mutex<Option<Target>>,
    exchange: Exchange,
    /// Requests that may be in flight together.
    pub(super) concurrency: usize,
    slots: Semaphore,
    /// How long the first answer took to begin.
    first_answer: OnceLock<Duration>,
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
    /// URLs may hold secrets; they are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("server", &self.server())
            .field("access", &self.exchange.access)
            .finish_non_exhaustive()
    }
}

impl Remote {
    pub(super) fn new(
        access: Access,
        server: Option<String>,
        concurrency: usize,
        options: &SourceOptions,
    ) -> Self {
        Remote {
            original: Target::new(access.original().clone()),
            target: Mutex::new(None),
            exchange: Exchange::new(access, server, options),
            concurrency,
            slots: Semaphore::new(concurrency),
            first_answer: OnceLock::new(),
        }
    }

    /// True if the object is in a store, which is many machines.
    pub(super) fn is_in_store(&self) -> bool {
        self.concurrency > CONCURRENCY_OF_SINGLE_RANGES
    }

    /// How long the first answer took to begin: connection, TLS and one round trip.
    pub(super) fn first_answer(&self) -> Option<Duration> {
        self.first_answer.get().copied()
    }

    /// The retries of a call; `name` names the object in messages.
    pub(super) fn retries(&self, name: &str, deadline: Deadline) -> Retries {
        self.exchange.retries(name, deadline)
    }

    /// What is remembered about the server that answers now.
    pub(super) fn server(&self) -> Arc<Server> {
        self.target().server
    }

    /// The limits of one request.
    pub(super) fn limits(&self) -> Limits {
        self.server().limits()
    }

    /// Remembers something about the server that answers, and about the one that redirects to it: the next file is
    /// requested there, and its request must suit both.
    pub(super) fn learn(&self, lesson: impl Fn(&Server)) {
        lesson(&self.server());
        lesson(&self.original.server);
    }

    /// The object as a route to the server, for connections that are made ahead of need.
    pub(super) fn way(&self) -> Route<'_> {
        let (Target { url, server }, is_store) = (self.target(), self.is_in_store());
        Route { exchange: &self.exchange, url, server, is_store, concurrency: self.concurrency }
    }

    /// Sends a request and reads the answer (but not the body of a whole object).
    pub(super) async fn ask(&self, ask: Ask<'_>) -> Result<HttpAnswer, Failure> {
        // The semaphore is never closed.
        let _slot = self.slots.acquire().await.ok();
        let at_first = if self.is_in_store() { AT_FIRST_IN_STORES } else { AT_FIRST };
        if self.concurrency.saturating_sub(self.slots.available_permits()) > at_first {
            // A round trip is estimated as a third of the first answer.
            let server = self.server();
            spare::made(&server, 3 * server.round_trip()).await;
        }
        let target = self.target();
        let answer = self.ask_at(target.url.clone(), ask).await;
        let stale = matches!(
            answer,
            Err(Failure::Unreachable(_)
                | Failure::Network(_)
                | Failure::Status(Status { code: 401 | 403 | 404 | 410 | 500.., .. }))
        );
        if stale && target.url != self.original.url {
            // The target of a redirect may be down or its signature expired; the original has a fresh one.
            *self.lock_target() = None;
            return self.ask_at(self.original.url.clone(), ask).await;
        }
        answer
    }

    async fn ask_at(&self, mut url: Url, ask: Ask<'_>) -> Result<HttpAnswer, Failure> {
        let message = ask.message();
        for _ in 0..=MOST_REDIRECTS {
            let _place = admit_to(url.as_str()).await;
            let response = self.exchange.send(&url, &message).await?;
            if !response.status().is_redirection() {
                // Only the first one counts: later ones reuse a connection.
                let _ = response.extensions().get().map(|&FirstByteTime(time)| self.first_answer.set(time));
                if url != self.target().url {
                    *self.lock_target() = Some(Target::new(url));
                }
                return self.receive(response, ask.most_bytes()).await;
            }
            url = redirect(&url, &response)?;
        }
        Err(endless())
    }

    /// The headers of the object.
    pub(super) async fn head(&self, headers: HeaderMap) -> Result<HeaderMap, Failure> {
        let message = Message { method: Method::HEAD, headers, body: Bytes::new(), ranges: 0 };
        let mut url = self.original.url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let _place = admit_to(url.as_str()).await;
            let response = self.exchange.send(&url, &message).await?;
            match response.status() {
                status if status.is_success() => return Ok(response.headers().clone()),
                status if status.is_redirection() => url = redirect(&url, &response)?,
                _ => return Err(self.exchange.failure(response).await),
            }
        }
        Err(endless())
    }

    async fn receive(&self, response: Response, most: u64) -> Result<HttpAnswer, Failure> {
        if response.status().is_client_error() || response.status().is_server_error() {
            return Err(self.exchange.failure(response).await);
        }
        match answer::sort(response)? {
            AnswerHead::Whole(whole) => Ok(HttpAnswer::Whole(whole)),
            AnswerHead::Parts { response, validators, content_range } => {
                let announced = content_range.and_then(|content| content.range).map_or(0, |range| range.len);
                if announced > most {
                    // Too many bytes: the caller sees that nothing useful came.
                    return Ok(HttpAnswer::Parts(PartialAnswer {
                        parts: Vec::new(),
                        validators,
                        broken: None,
                    }));
                }
                let begin = Instant::now();
                let (body, broken) = self.exchange.body(response, most).await?;
                self.server().learn_rate(body.len(), begin.elapsed());
                let parts = answer::parts(body, content_range);
                Ok(HttpAnswer::Parts(PartialAnswer { parts, validators, broken }))
            }
        }
    }

    /// The whole object, if it has at most `most` bytes.
    pub(super) async fn take_whole(&self, whole: WholeObject, most: u64) -> Result<Bytes, Failure> {
        let _place = admit_to(whole.response.url().as_str()).await;
        match self.exchange.body(whole.response, most).await? {
            (_, Some(broken)) => Err(Failure::Network(broken)),
            (body, None) => Ok(body),
        }
    }

    fn target(&self) -> Target {
        self.lock_target().clone().unwrap_or_else(|| self.original.clone())
    }

    fn lock_target(&self) -> std::sync::MutexGuard<'_, Option<Target>> {
        self.target.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
