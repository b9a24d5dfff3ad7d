//! The connections of `object_store`: those of all other reads.

use crate::admission::admit_to;
use crate::http::{client, error_word};
use async_trait::async_trait;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use reqwest::header::HeaderMap;
use reqwest::{Body, Method, StatusCode, Url};
use sapwood_credentials::Environment;
use std::cell::RefCell;
use std::future::Future;
use std::time::Duration;

/// Longest wait for an answer: pages of lists and credentials are short.
const PATIENCE: Duration = Duration::from_secs(15);
/// The same for the end of an upload, which puts its parts together.
const END_OF_UPLOAD: Duration = Duration::from_secs(300);
/// A connection that carries fewer bytes per second is considered broken.
const SLOWEST: u64 = 100_000;

tokio::task_local! {
    /// Which messages of a task are watched.
    static WATCHED: MessageWatch;
}

/// Which messages are watched, and what became of the last one.
struct MessageWatch {
    method: Option<Method>,
    authority: String,
    last: RefCell<MessageOutcome>,
}

/// What became of a message. The errors of `object_store` are not exact enough for messages that must not be repeated.
#[derive(Debug, Default)]
pub enum MessageOutcome {
    /// No message was sent.
    #[default]
    Unsent,
    /// It may have reached the server, but no complete answer came.
    Unanswered,
    /// It was answered.
    Answered {
        /// The status of the answer.
        status: StatusCode,
        /// Its headers.
        headers: HeaderMap,
        /// The error code in its body, such as `NoSuchKey`.
        word: Option<String>,
    },
}

/// Does work, and returns what became of its last message with this method (`None`: with any) to the server of `url`.
pub async fn watched<T>(
    url: &Url,
    method: Option<Method>,
    work: impl Future<Output = T>,
) -> (T, MessageOutcome) {
    let watch = MessageWatch { method, authority: url.authority().to_owned(), last: RefCell::default() };
    WATCHED.scope(watch, async { (work.await, WATCHED.with(|watch| watch.last.take())) }).await
}

/// Notes what became of a message, if it is watched.
fn note(request: &HttpRequest, last: impl FnOnce() -> MessageOutcome) {
    // Fails in tasks that watch nothing.
    let _ = WATCHED.try_with(|watch| {
        let method = watch.method.as_ref().is_none_or(|method| method == request.method());
        let authority = request.uri().authority().is_some_and(|a| a.as_str() == watch.authority);
        if method && authority {
            watch.last.replace(last());
        }
    });
}

/// Connects `object_store` to the servers.
#[derive(Debug, Clone)]
pub(super) struct Connector(pub(super) Environment);

impl HttpConnector for Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Connector {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let client = client::shared(&self.0, request.uri().scheme_str().unwrap_or_default())
            .map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        let (method, uri, body) = (request.method().clone(), request.uri().to_string(), request.body());
        let ends_upload =
            method == Method::POST && request.uri().query().is_some_and(|q| q.contains("uploadId="));
        let patience = if ends_upload { END_OF_UPLOAD } else { PATIENCE };
        let patience = patience + Duration::from_secs(body.content_length() as u64 / SLOWEST);
        let body = match body.as_bytes() {
            Some(bytes) => Body::from(bytes.clone()),
            None => Body::wrap(body.clone()),
        };
        let message =
            client.request(method, uri).headers(request.headers().clone()).body(body).timeout(patience);
        let _place = admit_to(&request.uri().to_string()).await;
        let answered = async {
            let response = message.send().await?;
            let (status, headers) = (response.status(), response.headers().clone());
            Ok((status, headers, response.bytes().await?))
        };
        let (status, headers, body) = answered.await.map_err(|error: reqwest::Error| {
            note(&request, || {
                if error.is_connect() { MessageOutcome::Unsent } else { MessageOutcome::Unanswered }
            });
            failure(error)
        })?;
        note(&request, || {
            let word = error_word(&body).filter(|_| !status.is_success()).map(str::to_owned);
            MessageOutcome::Answered { status, headers: headers.clone(), word }
        });
        let mut answer = HttpResponse::new(HttpResponseBody::from(body));
        (*answer.status_mut(), *answer.headers_mut()) = (status, headers);
        Ok(answer)
    }
}

fn failure(error: reqwest::Error) -> HttpError {
    let kind = match (error.is_connect(), error.is_timeout()) {
        (_, true) => HttpErrorKind::Timeout,
        (true, _) => HttpErrorKind::Connect,
        _ => HttpErrorKind::Interrupted,
    };
    HttpError::new(kind, error.without_url())
}
