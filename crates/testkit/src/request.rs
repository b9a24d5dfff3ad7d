//! Reads requests from a connection.

use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Longest request that is read.
const LONGEST: usize = 1 << 20;

/// Most headers of a request.
const MOST_HEADERS: usize = 100;

/// A request without a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// `GET`, `HEAD`, …
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names, in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// Bytes of the request line and the headers.
    pub header_bytes: usize,
}

impl HttpRequest {
    /// The value of a header, whose name is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// Reads the next request; `None` if the client closed the connection. `buffer` keeps bytes after the request.
    ///
    /// # Errors
    /// Those of the connection; `InvalidData` if the bytes are not a request.
    pub async fn read(
        stream: &mut (impl AsyncRead + Unpin),
        buffer: &mut Vec<u8>,
    ) -> io::Result<Option<HttpRequest>> {
        loop {
            if let Some(request) = HttpRequest::parse(buffer)? {
                buffer.drain(..request.header_bytes);
                return Ok(Some(request));
            }
            if buffer.len() > LONGEST {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the request does not end"));
            }
            if stream.read_buf(buffer).await? == 0 {
                return Ok(None);
            }
        }
    }

    fn parse(text: &[u8]) -> io::Result<Option<HttpRequest>> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let httparse::Status::Complete(header_bytes) = request.parse(text).map_err(invalid)? else {
            return Ok(None);
        };
        let value = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        Ok(Some(HttpRequest {
            method: request.method.unwrap_or_default().to_owned(),
            path: path_of(request.path.unwrap_or_default()).to_owned(),
            headers: request.headers.iter().map(|h| (h.name.to_ascii_lowercase(), value(h.value))).collect(),
            header_bytes,
        }))
    }
}

/// The path of a request's target, which may be a full URL (RFC 9112 §3.2.2), as from ROOT's client.
fn path_of(target: &str) -> &str {
    let Some((_, rest)) = target.split_once("://") else { return target };
    rest.find('/').map_or("/", |slash| &rest[slash..])
}
