//! A store in a bucket: objects below one prefix, each written by one message.
//!
//! `object_store` signs writes, for S3 with a digest of the content that the server checks; it also lists and
//! removes. Reads use the same path as those of files.

use super::key;
use super::store::{CreateOutcome, ObjectInfo, Store};
use bytes::Bytes;
use chrono::DateTime;
use futures::{StreamExt, stream};
use object_store::list::PaginatedListOptions;
use object_store::path::Path;
use object_store::{PutMode, PutOptions, PutPayload};
use reqwest::header::{CONTENT_LENGTH, DATE, HeaderMap, HeaderName, LAST_MODIFIED, RETRY_AFTER};
use reqwest::{Method, Url};
use sapwood_core::{BoxFuture, ByteRange, Deadline, Error, ErrorKind, Result, redact, server_of};
use sapwood_source::cloud::{
    Bucket, MessageOutcome, ObjectClient, ObjectLocation, object_reader, open_bucket, watched,
};
use sapwood_source::http::ObjectReader;
use sapwood_source::{Retries, SourceOptions, is_transient_status};
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::time::timeout_at;

/// Objects below a prefix in a bucket.
pub(crate) struct CloudStore {
    /// The URL, without secrets.
    url: String,
    /// The server in the URL.
    server: Option<String>,
    /// The beginning of all keys in the bucket.
    prefix: String,
    options: SourceOptions,
    state: Mutex<Arc<State>>,
}

/// The bucket, as far as it is known, and its clients.
struct State {
    bucket: Arc<dyn Bucket>,
    objects: Arc<dyn ObjectClient>,
    reads: ObjectReader,
}

impl fmt::Debug for CloudStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CloudStore").field("url", &self.url).finish_non_exhaustive()
    }
}

impl State {
    fn new(bucket: Arc<dyn Bucket>, server: Option<String>, options: &SourceOptions) -> Result<Arc<State>> {
        let (objects, reads) = (bucket.client(None)?, object_reader(&bucket, server, options)?);
        Ok(Arc::new(State { bucket, objects, reads }))
    }
}

/// A failure of one try.
struct Failure {
    error: Error,
    /// A retry may help, after at least this pause.
    again: Option<Option<Duration>>,
    /// It is certain that nothing was done.
    definite: bool,
}

impl CloudStore {
    /// The store at a URL. Nothing is sent yet.
    ///
    /// # Errors
    /// `Usage` for a URL that names no bucket.
    pub(crate) fn new(url: &str, options: &SourceOptions) -> Result<Self> {
        let name = redact(url).trim_end_matches('/').to_owned();
        let server = server_of(&name);
        let place = || {
            let location = ObjectLocation::parse(url)?;
            let path = Path::parse(location.key.trim_end_matches('/')).map_err(|_| {
                Error::usage(
                    "the path has empty parts, or characters that are illegal in the names of objects",
                )
            })?;
            let prefix = if path.as_ref().is_empty() { String::new() } else { format!("{path}/") };
            Ok((prefix, State::new(open_bucket(&location, options)?, server.clone(), options)?))
        };
        let (prefix, state) = place().map_err(|error: Error| error.url(&name))?;
        Ok(CloudStore { url: name, server, prefix, options: options.clone(), state: Mutex::new(state) })
    }

    fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn name(&self, key: &str) -> String {
        format!("{}/{key}", self.url)
    }

    fn path(&self, key: &str) -> Result<Path> {
        Path::parse(format!("{}{key}", self.prefix)).map_err(|_| Error::usage("this is not a legal key"))
    }

    /// The bucket to try once more with after an error, if a different region or new credentials may help.
    fn revised(&self, state: &Arc<State>, error: &Error) -> Option<Arc<State>> {
        let bucket = match state.bucket.corrected() {
            Some(corrected) => corrected,
            None if error.kind() == ErrorKind::Permission => {
                state.bucket.renew();
                Arc::clone(&state.bucket)
            }
            None => return None,
        };
        let revised = State::new(bucket, self.server.clone(), &self.options).ok()?;
        let mut current = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current, state) {
            *current = revised;
        }
        Some(Arc::clone(&current))
    }

    /// Runs an operation within the deadline, and once more if the bucket turns out to be elsewhere; errors name the
    /// object.
    async fn act<T, F: Future<Output = Result<T>>>(
        &self,
        key: &str,
        legal: Result<()>,
        deadline: Deadline,
        act: impl Fn(Arc<State>) -> F,
    ) -> Result<T> {
        let acted = async {
            legal?;
            // The timeout below would not stop an operation that completes at once.
            if deadline.has_passed() {
                return Err(too_late());
            }
            let state = self.state();
            match act(Arc::clone(&state)).await {
                Ok(done) => Ok(done),
                Err(error) => match self.revised(&state, &error) {
                    Some(state) => act(state).await,
                    None => Err(error),
                },
            }
        };
        let acted = timeout_at(deadline.instant().into(), acted).await.unwrap_or_else(|_| Err(too_late()));
        acted.map_err(|error| error.url(self.name(key)))
    }

    /// Runs an operation of `object_store` until it is done or fails for good.
    async fn repeated<T, F: Future<Output = object_store::Result<T>>>(
        &self,
        state: &State,
        name: &str,
        deadline: Deadline,
        method: Option<Method>,
        act: impl Fn() -> F,
    ) -> Result<T> {
        let mut retries = Retries::new(self.options.retry, &self.options.counters, name, deadline);
        loop {
            match self.tried(state, method.clone(), act()).await {
                Ok(done) => return Ok(done),
                Err(Failure { error, again: None, .. }) => return Err(error),
                Err(Failure { error, again: Some(pause), .. }) => retries.pause(error, pause).await?,
            }
        }
    }

    async fn tried<T>(
        &self,
        state: &State,
        method: Option<Method>,
        act: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, Failure> {
        let place = state.bucket.url("").map_err(Failure::fatal)?;
        self.options.counters.asked(self.server.as_deref(), 1, 0);
        let (done, last) = watched(&place, method, act).await;
        done.map_err(|error| Failure::of(error, last, state.bucket.as_ref()))
    }

    /// Writes an object; `false` if it was to be created and there is one already.
    async fn write(&self, state: &State, key: &str, content: &Bytes, mode: PutMode) -> Result<bool, Failure> {
        let path = self.path(key).map_err(Failure::fatal)?;
        let place = state.bucket.url("").map_err(Failure::fatal)?;
        let payload = PutPayload::from(content.clone());
        let options = PutOptions { mode, ..PutOptions::default() };
        self.options.counters.asked(self.server.as_deref(), 1, 0);
        let put = state.objects.put_opts(&path, payload, options);
        match watched(&place, Some(Method::PUT), put).await {
            (Ok(_), _) => Ok(true),
            (Err(error), last) => match &last {
                // Some servers omit a header that `object_store` requires.
                MessageOutcome::Answered { status, .. } if status.is_success() => Ok(true),
                MessageOutcome::Answered { status, .. } if status.as_u16() == 412 => Ok(false),
                // This is the answer of Azure. Elsewhere, 409 may be due to a writer that then failed.
                MessageOutcome::Answered { word: Some(word), .. } if word == "BlobAlreadyExists" => Ok(false),
                _ => Err(Failure::of(error, last, state.bucket.as_ref())),
            },
        }
    }

    async fn list_in(&self, state: &State, prefix: &str, deadline: Deadline) -> Result<Vec<ObjectInfo>> {
        let (begin, name) = (format!("{}{prefix}", self.prefix), self.name(prefix));
        let mut listed = Vec::new();
        let mut token = None;
        loop {
            let page = || {
                let options =
                    PaginatedListOptions { page_token: token.clone(), ..PaginatedListOptions::default() };
                state.objects.list_paginated(Some(&begin), options)
            };
            let page = self.repeated(state, &name, deadline, Some(Method::GET), page).await?;
            for object in page.result.objects {
                // Objects that others put there are skipped.
                let key = object.location.as_ref().strip_prefix(&self.prefix).unwrap_or_default();
                if key::check(key).is_ok() && key.starts_with(prefix) {
                    let modified = object.last_modified.into();
                    listed.push(ObjectInfo { key: key.to_owned(), size: object.size, modified });
                }
            }
            match page.page_token {
                None => break,
                Some(next) if Some(&next) == token.as_ref() => {
                    return Err(Error::new(
                        ErrorKind::Server,
                        "the server returned the same page of the listing twice",
                    ));
                }
                next => token = next,
            }
        }
        listed.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        listed.dedup_by(|a, b| a.key == b.key);
        Ok(listed)
    }

    async fn delete_in(&self, state: &State, keys: &[String], deadline: Deadline) -> Result<()> {
        let paths = keys.iter().map(|key| self.path(key)).collect::<Result<Vec<_>>>()?;
        let delete = || async {
            let paths = stream::iter(paths.clone().into_iter().map(Ok)).boxed();
            let mut deleted = state.objects.delete_stream(paths);
            let mut failure = None;
            while let Some(one) = deleted.next().await {
                match one {
                    Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                    Err(error) => failure = Some(error),
                }
            }
            failure.map_or(Ok(()), Err)
        };
        self.repeated(state, &self.url, deadline, None, delete).await
    }
}

impl Failure {
    fn fatal(error: Error) -> Self {
        Failure { error, again: None, definite: true }
    }

    /// What a failure means. The text of `object_store` is not repeated, since it can hold a signed URL.
    fn of(error: object_store::Error, last: MessageOutcome, bucket: &dyn Bucket) -> Self {
        use object_store::Error as Cause;
        let unanswered = |definite| {
            let message = "the connection to the object store failed";
            let error = Error::new(ErrorKind::Network, message);
            Failure { error, again: Some(None), definite }
        };
        let (status, headers, word) = match last {
            MessageOutcome::Unanswered => return unanswered(false),
            // There were no credentials, or no connection.
            MessageOutcome::Unsent => match error {
                Cause::Unauthenticated { .. } | Cause::PermissionDenied { .. } => {
                    return Failure::fatal(refused(None, bucket));
                }
                _ => return unanswered(true),
            },
            MessageOutcome::Answered { status, headers, word } => (status, headers, word),
        };
        bucket.learn(&headers);
        // S3 reports a request that arrived too slowly by a status that is otherwise final.
        let slow = word.as_deref() == Some("RequestTimeout");
        let answer = word.map_or_else(|| status.to_string(), |word| format!("{status} ({word})"));
        let message = format!("the object store answered {answer}");
        match status.as_u16() {
            400 if slow => {
                Failure { error: Error::new(ErrorKind::Server, message), again: Some(None), definite: false }
            }
            401 | 403 => Failure::fatal(refused(Some(&answer), bucket)),
            404 => Failure::fatal(
                Error::new(ErrorKind::NotFound, format!("{message}: there is no such bucket"))
                    .hint("create the bucket, or correct its name"),
            ),
            code if matches!(code, 200..=299 | 409) || is_transient_status(code) => {
                let pause = text(&headers, &RETRY_AFTER).and_then(|seconds| seconds.parse().ok());
                let pause = pause.map(Duration::from_secs);
                let error = Error::new(ErrorKind::Server, message);
                Failure { error, again: Some(pause), definite: status.as_u16() == 429 }
            }
            _ => Failure::fatal(Error::new(ErrorKind::Server, message)),
        }
    }
}

/// The error for a refused operation, or for missing credentials if there was no answer.
fn refused(answer: Option<&str>, bucket: &dyn Bucket) -> Error {
    let message = match answer {
        None => "no credentials were found for the object store".to_owned(),
        Some(answer) => format!("the object store answered {answer}: it refuses this operation"),
    };
    Error::new(ErrorKind::Permission, message).hint(bucket.advice())
}

fn too_late() -> Error {
    Error::new(ErrorKind::Timeout, "the deadline passed before the object store had answered")
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// A time that a header states (RFC 9110, section 5.6.7).
fn time(headers: &HeaderMap, name: &HeaderName) -> Result<SystemTime> {
    let stated = text(headers, name).and_then(|text| DateTime::parse_from_rfc2822(text).ok());
    stated.map(SystemTime::from).ok_or_else(|| {
        Error::new(ErrorKind::Server, format!("the server's answer has no readable header '{name}'"))
    })
}

fn stored(key: &str, headers: &HeaderMap) -> Result<ObjectInfo> {
    let size = text(headers, &CONTENT_LENGTH).and_then(|size| size.parse().ok());
    let size = size
        .ok_or_else(|| Error::new(ErrorKind::Server, "the server does not state the size of the object"))?;
    Ok(ObjectInfo { key: key.to_owned(), size, modified: time(headers, &LAST_MODIFIED)? })
}

impl CloudStore {
    fn address(&self, state: &State, key: &str) -> Result<Url> {
        state.bucket.url(&format!("{}{key}", self.prefix))
    }

    async fn head(&self, state: &State, key: &str, deadline: Deadline) -> Result<HeaderMap> {
        state.reads.head(&self.address(state, key)?, &self.name(key), deadline).await
    }
}

impl Store for CloudStore {
    fn url(&self) -> &str {
        &self.url
    }

    fn concurrency(&self) -> usize {
        self.state().reads.concurrency()
    }

    fn round_trip(&self) -> Option<Duration> {
        self.state().reads.round_trip()
    }

    fn get<'a>(
        &'a self,
        key: &'a str,
        range: Option<ByteRange>,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Bytes>> {
        Box::pin(self.act(key, key::check(key), deadline, move |state| async move {
            if range.is_some_and(|range| range.len == 0) {
                return self.head(&state, key, deadline).await.map(|_| Bytes::new());
            }
            state.reads.get(&self.address(&state, key)?, range, &self.name(key), deadline).await
        }))
    }

    fn get_whole<'a>(&'a self, key: &'a str, size: u64, deadline: Deadline) -> BoxFuture<'a, Result<Bytes>> {
        Box::pin(self.act(key, key::check(key), deadline, move |state| async move {
            state.reads.get_whole(&self.address(&state, key)?, size, &self.name(key), deadline).await
        }))
    }

    fn put<'a>(&'a self, key: &'a str, content: Bytes, deadline: Deadline) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let content = &content;
            let put = move |state: Arc<State>| async move {
                let mut retries =
                    Retries::new(self.options.retry, &self.options.counters, &self.name(key), deadline);
                loop {
                    match self.write(&state, key, content, PutMode::Overwrite).await {
                        Ok(_) => return Ok(()),
                        Err(Failure { error, again: None, .. }) => return Err(error),
                        Err(Failure { error, again: Some(pause), .. }) => retries.pause(error, pause).await?,
                    }
                }
            };
            self.act(key, key::check(key), deadline, put).await
        })
    }

    fn create<'a>(
        &'a self,
        key: &'a str,
        content: Bytes,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<CreateOutcome>> {
        Box::pin(async move {
            let content = &content;
            let create = move |state: Arc<State>| async move {
                let write = self.write(&state, key, content, PutMode::Create);
                match timeout_at(deadline.instant().into(), write).await {
                    Ok(Ok(true)) => Ok(CreateOutcome::Done),
                    Ok(Ok(false)) => Ok(CreateOutcome::Exists),
                    Ok(Err(failure)) if failure.definite => Err(failure.error),
                    Ok(Err(failure)) => Ok(CreateOutcome::Unclear(failure.error.url(self.name(key)))),
                    Err(_) => Ok(CreateOutcome::Unclear(too_late().url(self.name(key)))),
                }
            };
            // `create` checks the deadline itself: only it knows what a passed deadline means.
            let legal = key::check(key).and_then(|()| match deadline.has_passed() {
                true => Err(too_late()),
                false => Ok(()),
            });
            self.act(key, legal, Deadline::default(), create).await
        })
    }

    fn list<'a>(&'a self, prefix: &'a str, deadline: Deadline) -> BoxFuture<'a, Result<Vec<ObjectInfo>>> {
        let legal = key::check_prefix(prefix);
        Box::pin(self.act(prefix, legal, deadline, move |state| async move {
            self.list_in(&state, prefix, deadline).await
        }))
    }

    fn stat<'a>(&'a self, key: &'a str, deadline: Deadline) -> BoxFuture<'a, Result<ObjectInfo>> {
        Box::pin(self.act(key, key::check(key), deadline, move |state| async move {
            stored(key, &self.head(&state, key, deadline).await?)
        }))
    }

    fn delete<'a>(&'a self, keys: &'a [String], deadline: Deadline) -> BoxFuture<'a, Result<()>> {
        let legal = keys.iter().try_for_each(|key| key::check(key));
        Box::pin(self.act("", legal, deadline, move |state| async move {
            match keys.is_empty() {
                true => Ok(()),
                false => self.delete_in(&state, keys, deadline).await,
            }
        }))
    }

    fn now(&self, deadline: Deadline) -> BoxFuture<'_, Result<SystemTime>> {
        Box::pin(self.act("", Ok(()), deadline, move |state| async move {
            // The object need not exist: any answer states the time.
            let address = self.address(&state, "fmt")?;
            time(&state.reads.date(&address, &self.url, deadline).await?, &DATE)
        }))
    }
}
