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
use std::time::Duration;

/// Longest wait for an answer: pages of lists and credentials are short.
const PATIENCE: Duration = Duration::from_secs(15);

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
        let body = body.as_bytes().cloned().unwrap_or_default();
        let request = client
            .request(parts.method, parts.uri.to_string())
            .headers(parts.headers)
            .body(body)
            .timeout(PATIENCE);
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
