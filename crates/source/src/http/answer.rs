//! What the answer of a server means: parts, the whole object, or a failure.

use super::header::ContentRange;
use super::multipart::{self, AnswerPart};
use crate::is_transient_status;
use bytes::Bytes;
use reqwest::header::{
    ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap,
    HeaderName, LAST_MODIFIED, RETRY_AFTER,
};
use reqwest::{Response, StatusCode};
use sapwood_core::{Error, ErrorKind};
use std::time::Duration;

/// Identifies a version of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Validators {
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
}

impl Validators {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        Validators { etag: text(headers, ETAG), last_modified: text(headers, LAST_MODIFIED) }
    }

    /// True if `other` is certainly another version. If both have an ETag, it decides.
    pub(super) fn differ(&self, other: &Validators) -> bool {
        let opaque = |etag: &str| etag.trim_start_matches("W/").to_owned();
        match (&self.etag, &other.etag) {
            (Some(mine), Some(theirs)) => opaque(mine) != opaque(theirs),
            _ => match (&self.last_modified, &other.last_modified) {
                (Some(mine), Some(theirs)) => mine != theirs,
                _ => false,
            },
        }
    }

    /// The ETag, if it guarantees that all bytes are equal.
    pub(super) fn strong_etag(&self) -> Option<&str> {
        self.etag.as_deref().filter(|etag| etag.starts_with('"'))
    }
}

/// A usable answer.
#[derive(Debug)]
pub(super) enum HttpAnswer {
    /// Parts of the object (206).
    Parts(PartialAnswer),
    /// The whole object (200); its body has not been read.
    Whole(WholeObject),
}

#[derive(Debug)]
pub(super) struct PartialAnswer {
    pub(super) parts: Vec<AnswerPart>,
    pub(super) validators: Validators,
    /// Why parts are missing, if the connection broke.
    pub(super) broken: Option<Error>,
}

#[derive(Debug)]
pub(super) struct WholeObject {
    pub(super) response: Response,
    pub(super) validators: Validators,
    /// Its size, if announced.
    pub(super) size: Option<u64>,
    /// True if the server states that it never sends parts.
    pub(super) refuses_ranges: bool,
}

/// Why there is no usable answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// There is no connection to the server.
    Unreachable(Error),
    /// The connection failed, or the server was silent too long.
    Network(Error),
    /// The server answered with a status that means failure.
    Status(Status),
    /// A retry would not help.
    Fatal(Error),
}

#[derive(Debug)]
pub(super) struct Status {
    pub(super) code: u16,
    pub(super) error: Error,
    /// The pause that the server requests before the next try.
    pub(super) pause: Option<Duration>,
    /// Size of the object, if the status is 416 and states it.
    pub(super) total: Option<u64>,
}

impl Failure {
    /// The error and a pause before the next try, if a retry may help; otherwise the final error.
    pub(super) fn transient(self) -> Result<(Error, Option<Duration>), Error> {
        match self {
            Failure::Unreachable(error) | Failure::Network(error) => Ok((error, None)),
            Failure::Status(Status { code, error, pause, .. }) if is_transient_status(code) => {
                Ok((error, pause))
            }
            Failure::Status(Status { error, .. }) | Failure::Fatal(error) => Err(error),
        }
    }

    /// True if the server refuses the form of the request, not the request.
    pub(super) fn refuses_form(&self) -> bool {
        matches!(self, Failure::Status(Status { code: 400 | 413 | 414 | 416 | 431 | 501, .. }))
    }

    /// True if this may be how a server refuses the form of the request.
    pub(super) fn may_refuse_form(&self) -> bool {
        matches!(self, Failure::Network(_) | Failure::Status(Status { code: 500 | 502 | 504, .. }))
    }
}

/// Classifies an answer by its status and headers, without reading its body.
pub(super) fn sort(response: Response) -> Result<AnswerHead, Failure> {
    let headers = response.headers();
    let encoding = text(headers, CONTENT_ENCODING);
    if let Some(encoding) = encoding.filter(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
        let message = format!("the server encodes the file as '{encoding}', although the request forbids it");
        return Err(Failure::Fatal(Error::new(ErrorKind::Server, message)));
    }
    let validators = Validators::of(headers);
    match response.status() {
        StatusCode::PARTIAL_CONTENT => {
            let multipart = text(headers, CONTENT_TYPE)
                .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("multipart/"));
            let content_range = text(headers, CONTENT_RANGE).and_then(|value| ContentRange::parse(&value));
            match content_range {
                None if !multipart => {
                    let message = "the server sent a part of the file without saying which";
                    Err(Failure::Fatal(Error::new(ErrorKind::Server, message)))
                }
                content_range => Ok(AnswerHead::Parts { response, validators, content_range }),
            }
        }
        StatusCode::OK => {
            let size = text(headers, CONTENT_LENGTH).and_then(|length| length.parse().ok());
            let refuses_ranges =
                text(headers, ACCEPT_RANGES).is_some_and(|units| units.eq_ignore_ascii_case("none"));
            Ok(AnswerHead::Whole(WholeObject { response, validators, size, refuses_ranges }))
        }
        status => Err(Failure::Status(Status::of(status, headers, &status.to_string()))),
    }
}

impl Status {
    /// What a status other than success means; `answer` names it in messages.
    pub(super) fn of(status: StatusCode, headers: &HeaderMap, answer: &str) -> Status {
        let seconds = text(headers, RETRY_AFTER).and_then(|seconds| seconds.parse().ok());
        let total = text(headers, CONTENT_RANGE).and_then(|value| ContentRange::parse(&value)?.total);
        Status {
            code: status.as_u16(),
            error: status_error(status, answer),
            pause: seconds.map(Duration::from_secs),
            total,
        }
    }
}

/// The error code in the body of an object store's answer, such as `NoSuchKey`.
pub(crate) fn error_word(body: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(body).ok()?;
    let (word, _) = text.split_once("<Code>")?.1.split_once("</Code>")?;
    let legal = !word.is_empty() && word.len() <= 60 && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    legal.then_some(word)
}

/// An answer whose body has not been read.
pub(super) enum AnswerHead {
    /// One part (`content_range` says which) or several (it is `None`).
    Parts {
        response: Response,
        validators: Validators,
        content_range: Option<ContentRange>,
    },
    Whole(WholeObject),
}

/// The parts in a body. A truncated part is skipped.
pub(super) fn parts(body: Bytes, content_range: Option<ContentRange>) -> Vec<AnswerPart> {
    match content_range {
        None => multipart::parse(&body),
        Some(ContentRange { range: Some(range), total }) if range.len == body.len() as u64 => {
            vec![AnswerPart { start: range.start, total, bytes: body }]
        }
        Some(_) => Vec::new(),
    }
}

fn status_error(status: StatusCode, answer: &str) -> Error {
    let kind = match status.as_u16() {
        401 | 403 => ErrorKind::Permission,
        404 | 410 => ErrorKind::NotFound,
        412 => return Error::new(ErrorKind::Changed, "the file on the server changed").hint("open it again"),
        _ => ErrorKind::Server,
    };
    Error::new(kind, format!("the server answered {answer}"))
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validators(etag: Option<&str>, last_modified: Option<&str>) -> Validators {
        Validators { etag: etag.map(str::to_owned), last_modified: last_modified.map(str::to_owned) }
    }

    #[test]
    fn an_etag_decides_where_both_have_one() {
        let opened = validators(Some("\"a\""), Some("Monday"));
        assert!(!opened.differ(&validators(Some("\"a\""), Some("Tuesday"))));
        assert!(!opened.differ(&validators(Some("W/\"a\""), None)));
        assert!(opened.differ(&validators(Some("\"b\""), Some("Monday"))));
        assert!(opened.differ(&validators(None, Some("Tuesday"))));
        assert!(!opened.differ(&Validators::default()));
    }
}
