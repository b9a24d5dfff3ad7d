//! The connections that `object_store` uses: those of all other reads.

use crate::Environment;
use crate::http::client;
use async_trait::async_trait;
use bytes::Bytes;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use reqwest::{Body, Method};
use std::time::Duration;

/// Longest wait for an answer: pages of lists and credentials are short.
const PATIENCE: Duration = Duration::from_secs(15);
/// The same for the end of an upload, which puts its parts together.
const END_OF_UPLOAD: Duration = Duration::from_secs(300);
/// A connection that takes less, in bytes per second, is taken for broken.
const SLOWEST: u64 = 100_000;

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
        let client =
            client::shared(&self.0).map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        let (parts, body) = request.into_parts();
        let ends_upload =
            parts.method == Method::POST && parts.uri.query().is_some_and(|q| q.contains("uploadId="));
        let patience = if ends_upload { END_OF_UPLOAD } else { PATIENCE };
        let patience = patience + Duration::from_secs(body.content_length() as u64 / SLOWEST);
        let body = match body.as_bytes() {
            Some(bytes) => Body::from(bytes.clone()),
            None => Body::wrap(body),
        };
        let request = client
            .request(parts.method, parts.uri.to_string())
            .headers(parts.headers)
            .body(body)
            .timeout(patience);
        let response = request.send().await.map_err(failure)?;
        let mut answer = HttpResponse::new(HttpResponseBody::from(Bytes::new()));
        *answer.status_mut() = response.status();
        *answer.headers_mut() = response.headers().clone();
        *answer.body_mut() = HttpResponseBody::from(response.bytes().await.map_err(failure)?);
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
