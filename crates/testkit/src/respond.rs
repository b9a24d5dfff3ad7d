//! Computes the answer to a request, given a behavior.

use crate::{Behaviour, HttpRequest, Multipart, RangeBehaviour, Refusal};
use bytes::Bytes;
use sapwood_core::ByteRange;
use std::fmt::Write;

/// The response to a request.
#[derive(Debug)]
pub(crate) enum Response {
    /// The connection is closed.
    Close,
    Answer(Answer),
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<BodyPiece>,
}

/// A piece of a body.
#[derive(Debug)]
pub(crate) enum BodyPiece {
    Text(Bytes),
    Object(ByteRange),
}

impl BodyPiece {
    pub(crate) fn len(&self) -> u64 {
        match self {
            BodyPiece::Text(text) => text.len() as u64,
            BodyPiece::Object(range) => range.len,
        }
    }
}

impl Response {
    /// An answer without a body.
    pub(crate) fn status(status: u16) -> Self {
        Response::Answer(Answer { status, headers: Vec::new(), body: Vec::new() })
    }

    pub(crate) fn refusal(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Status(status) => Response::status(status),
            Refusal::Close | Refusal::Whole | Refusal::First => Response::Close,
        }
    }

    fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Response::Answer(answer) = &mut self {
            answer.headers.push((name, value.into()));
        }
        self
    }
}

/// The answer that does not depend on the object: a refusal, a redirect, or a failure, which is then used up.
pub(crate) fn before_object(request: &HttpRequest, behaviour: &mut Behaviour) -> Option<Response> {
    if request.header_bytes > behaviour.max_header_bytes {
        return Some(Response::refusal(behaviour.header_too_long));
    }
    if !matches!(request.method.as_str(), "GET" | "HEAD") {
        return Some(Response::status(405));
    }
    if let Some(redirect) = &behaviour.redirect
        && let Some(rest) = request.path.strip_prefix(&redirect.prefix)
    {
        return Some(Response::status(redirect.status).header("Location", format!("{}{rest}", redirect.to)));
    }
    if behaviour
        .authorization
        .as_deref()
        .is_some_and(|wanted| request.header("authorization") != Some(wanted))
    {
        return Some(Response::status(401).header("WWW-Authenticate", "Basic realm=\"zoo\""));
    }
    if let Some((status, left @ 1..)) = &mut behaviour.failures {
        *left -= 1;
        let refused = Response::status(*status);
        return Some(match behaviour.retry_after {
            Some(seconds) => refused.header("Retry-After", seconds.to_string()),
            None => refused,
        });
    }
    None
}

/// The answer for an object of this size.
pub(crate) fn object(request: &HttpRequest, behaviour: &Behaviour, size: u64) -> Response {
    if let (true, Some(wanted), Some(etag)) =
        (behaviour.if_match, request.header("if-match"), &behaviour.etag)
        && wanted != etag
        && wanted != "*"
    {
        return Response::status(412);
    }
    let asked = request.header("range").and_then(|value| parse_ranges(value, size, behaviour.suffix));
    let response = match asked {
        None => whole(size),
        Some(ranges) => match behaviour.ranges {
            RangeBehaviour::Ignored => whole(size),
            RangeBehaviour::OneElseWhole if ranges.len() > 1 => whole(size),
            RangeBehaviour::OneElseRefuse(refusal) if ranges.len() > 1 => Response::refusal(refusal),
            RangeBehaviour::Several if ranges.len() > behaviour.max_ranges => match behaviour.too_many {
                Refusal::Whole => whole(size),
                Refusal::First => parts(ranges.into_iter().take(behaviour.max_ranges), behaviour, size),
                refusal => Response::refusal(refusal),
            },
            RangeBehaviour::OneElseFirst => parts(ranges.into_iter().take(1), behaviour, size),
            _ => parts(ranges.into_iter(), behaviour, size),
        },
    };
    let optional = [
        ("ETag", behaviour.etag.clone()),
        ("Last-Modified", behaviour.last_modified.clone()),
        ("Accept-Ranges", behaviour.accept_ranges.map(str::to_owned)),
        ("Content-Encoding", behaviour.content_encoding.map(str::to_owned)),
    ];
    let present = optional.into_iter().filter_map(|(name, value)| Some((name, value?)));
    present.fold(response, |response, (name, value)| response.header(name, value))
}

/// The number of ranges in a request.
pub(crate) fn count_ranges(request: &HttpRequest) -> usize {
    request.header("range").map_or(0, |value| value.split(',').count())
}

fn whole(size: u64) -> Response {
    let body = vec![BodyPiece::Object(ByteRange { start: 0, len: size })];
    Response::Answer(Answer { status: 200, headers: Vec::new(), body })
}

fn parts(ranges: impl Iterator<Item = Option<ByteRange>>, behaviour: &Behaviour, size: u64) -> Response {
    let mut ranges: Vec<ByteRange> = ranges.flatten().collect();
    if let Some(gap) = behaviour.multipart.merged_gap {
        ranges = merged(ranges, gap);
    }
    if behaviour.multipart.reversed {
        ranges.reverse();
    }
    match ranges.as_slice() {
        [] => Response::status(416).header("Content-Range", format!("bytes */{size}")),
        [range] => Response::Answer(Answer {
            status: 206,
            headers: Vec::new(),
            body: vec![BodyPiece::Object(*range)],
        })
        .header("Content-Range", content_range(*range, size)),
        ranges => multipart(ranges, behaviour.multipart, size),
    }
}

fn multipart(ranges: &[ByteRange], style: Multipart, size: u64) -> Response {
    let boundary = if style.quoted { "a boundary: (quoted)" } else { "3d6b6a416f9b5" };
    let mut body = Vec::new();
    for range in ranges {
        let head = format!(
            "\r\n--{boundary}\r\nContent-Type: application/octet-stream\r\nContent-Range: {}\r\n\r\n",
            content_range(*range, size)
        );
        body.push(BodyPiece::Text(head.into()));
        body.push(BodyPiece::Object(*range));
    }
    let line_end = if style.no_final_line_end { "" } else { "\r\n" };
    body.push(BodyPiece::Text(format!("\r\n--{boundary}--{line_end}").into()));
    let quote = if style.quoted { "\"" } else { "" };
    Response::Answer(Answer { status: 206, headers: Vec::new(), body })
        .header("Content-Type", format!("multipart/byteranges; boundary={quote}{boundary}{quote}"))
}

fn content_range(range: ByteRange, size: u64) -> String {
    format!("bytes {}-{}/{size}", range.start, range.end().saturating_sub(1))
}

fn merged(mut ranges: Vec<ByteRange>, gap: u64) -> Vec<ByteRange> {
    ranges.sort_unstable();
    let mut merged: Vec<ByteRange> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end() + gap => {
                last.len = last.end().max(range.end()) - last.start;
            }
            _ => merged.push(range),
        }
    }
    merged
}

/// The ranges of a `Range` header, each `None` if it is beyond the end. `None` for a header that cannot be parsed and is
/// therefore ignored.
fn parse_ranges(value: &str, size: u64, suffix: bool) -> Option<Vec<Option<ByteRange>>> {
    let parse = |text: &str| {
        let (first, last) = text.trim().split_once('-')?;
        if first.is_empty() {
            let len = last.parse::<u64>().ok().filter(|_| suffix)?.min(size);
            return Some((len > 0).then_some(ByteRange { start: size - len, len }));
        }
        let first: u64 = first.parse().ok()?;
        let last: u64 = if last.is_empty() { u64::MAX } else { last.parse().ok()? };
        let end = last.saturating_add(1).min(size);
        Some((first < end).then(|| ByteRange { start: first, len: end - first }))
    };
    value.strip_prefix("bytes=")?.split(',').map(parse).collect()
}

impl Answer {
    /// Status line and headers.
    pub(crate) fn head(&self, behaviour: &Behaviour) -> String {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let length =
            self.body.iter().map(BodyPiece::len).sum::<u64>().saturating_add_signed(behaviour.length_error);
        let _ = match behaviour.chunked && !self.body.is_empty() {
            true => write!(head, "Transfer-Encoding: chunked\r\n"),
            false => write!(head, "Content-Length: {length}\r\n"),
        };
        if behaviour.close {
            head.push_str("Connection: close\r\n");
        }
        head.push_str("\r\n");
        head
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        206 => "Partial Content",
        302 => "Found",
        307 => "Temporary Redirect",
        401 => "Unauthorized",
        404 => "Not Found",
        412 => "Precondition Failed",
        416 => "Range Not Satisfiable",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_a_header() {
        let range = |start, len| Some(ByteRange { start, len });
        assert_eq!(parse_ranges("bytes=0-9,-5", 100, true), Some(vec![range(0, 10), range(95, 5)]));
        assert_eq!(parse_ranges("bytes=90-999,100-", 100, true), Some(vec![range(90, 10), None]));
        assert_eq!(parse_ranges("bytes=-500", 100, true), Some(vec![range(0, 100)]));
        assert_eq!(parse_ranges("bytes=-500", 100, false), None);
        assert_eq!(parse_ranges("lines=1-2", 100, true), None);
    }
}
