//! A server whose answers come from a test.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "tests fail loudly")]

use crate::HttpRequest;
use bytes::Bytes;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

type Script = dyn Fn(&HttpRequest) -> Vec<u8> + Send + Sync;

/// A server on a free port; it stops with the test's runtime.
#[derive(Debug)]
pub struct ScriptedServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<HttpRequest>>>,
}

impl ScriptedServer {
    /// Starts a server that answers each request with the result of the script.
    pub async fn start(script: impl Fn(&HttpRequest) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::start_over(None, script).await
    }

    /// The same, over TLS.
    pub async fn start_over(
        tls: Option<TlsAcceptor>,
        script: impl Fn(&HttpRequest) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::<Mutex<Vec<HttpRequest>>>::default();
        let (seen, script): (_, Arc<Script>) = (Arc::clone(&requests), Arc::new(script));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, script, seen) = (tls.clone(), Arc::clone(&script), Arc::clone(&seen));
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, &*script, &seen).await,
                        Some(tls) => serve(tls.accept(stream).await?, &*script, &seen).await,
                    }
                });
            }
        });
        ScriptedServer { address, requests }
    }

    /// The URL of the server, without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<HttpRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// The values of a header in the requests so far; empty for requests without it.
    pub fn headers(&self, name: &str) -> Vec<String> {
        let value = |request: &HttpRequest| request.header(name).unwrap_or_default().to_owned();
        self.requests().iter().map(value).collect()
    }
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    script: &Script,
    seen: &Mutex<Vec<HttpRequest>>,
) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(request) = HttpRequest::read(&mut stream, &mut buffer).await? {
        let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        while buffer.len() < length {
            stream.read_buf(&mut buffer).await?;
        }
        buffer.drain(..length);
        let answer = script(&request);
        seen.lock().unwrap().push(request);
        stream.write_all(&answer).await?;
    }
    Ok(())
}

/// An answer with a body.
pub fn answer(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut answer =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n", body.len()).into_bytes();
    answer.extend_from_slice(body);
    answer
}

/// An error in the format of S3.
pub fn refusal(status: &str, code: &str) -> Vec<u8> {
    let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>m</Message></Error>");
    answer(status, "Content-Type: application/xml\r\n", body)
}

/// The part of the content that a request wants: one range, or the last bytes.
pub fn part(content: &Bytes, request: &HttpRequest) -> Vec<u8> {
    let size = content.len();
    let range = request.header("range").unwrap_or_default().trim_start_matches("bytes=");
    let Some((first, last)) = range.split_once('-').filter(|_| !range.contains(',')) else {
        return answer("200 OK", "ETag: \"1\"\r\n", content);
    };
    let (first, last) = match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(first), Ok(last)) => (first, last.min(size - 1)),
        (Err(_), Ok(suffix)) => (size.saturating_sub(suffix), size - 1),
        _ => return refusal("416 Range Not Satisfiable", "InvalidRange"),
    };
    let headers = format!("Content-Range: bytes {first}-{last}/{size}\r\nETag: \"1\"\r\n");
    answer("206 Partial Content", &headers, &content[first..=last])
}
