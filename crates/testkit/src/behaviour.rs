//! The behaviors of HTTP servers.

use std::time::Duration;

/// How a [`Server`](crate::Server) behaves. By default it is well-behaved: several ranges, an ETag, keep-alive.
#[derive(Debug, Clone)]
pub struct Behaviour {
    /// Which ranges it supports.
    pub ranges: RangeBehaviour,
    /// Most ranges in one request.
    pub max_ranges: usize,
    /// How it refuses more.
    pub too_many: Refusal,
    /// Longest request line and headers, in bytes.
    pub max_header_bytes: usize,
    /// How it refuses longer ones.
    pub header_too_long: Refusal,
    /// Whether it supports "the last n bytes".
    pub suffix: bool,
    /// How it writes multipart bodies.
    pub multipart: Multipart,
    /// The value of `Accept-Ranges`; `None` to omit the header.
    pub accept_ranges: Option<&'static str>,
    /// A redirect.
    pub redirect: Option<Redirect>,
    /// Bandwidth of bodies, per connection.
    pub bytes_per_second: Option<u64>,
    /// Delay before each answer.
    pub think: Duration,
    /// Closes the connection inside a body.
    pub cut_off: Option<CutOff>,
    /// Error of `Content-Length`, in bytes; negative if it is too small.
    pub length_error: i64,
    /// A status, and the number of further requests to answer with it.
    pub failures: Option<(u16, u64)>,
    /// The `Retry-After` of failures, in seconds.
    pub retry_after: Option<u64>,
    /// The object's ETag, with its quotes.
    pub etag: Option<String>,
    /// The object's modification time, as an HTTP date.
    pub last_modified: Option<String>,
    /// Whether it honors `If-Match`.
    pub if_match: bool,
    /// A false `Content-Encoding`.
    pub content_encoding: Option<&'static str>,
    /// Whether it sends bodies in chunks, without a `Content-Length`.
    pub chunked: bool,
    /// The required `Authorization` header.
    pub authorization: Option<String>,
    /// Whether it closes the connection after each answer.
    pub close: bool,
}

impl Default for Behaviour {
    fn default() -> Self {
        Behaviour {
            ranges: RangeBehaviour::Several,
            max_ranges: usize::MAX,
            too_many: Refusal::Status(400),
            max_header_bytes: 16 << 10,
            header_too_long: Refusal::Status(431),
            suffix: true,
            multipart: Multipart::default(),
            accept_ranges: Some("bytes"),
            redirect: None,
            bytes_per_second: None,
            think: Duration::ZERO,
            cut_off: None,
            length_error: 0,
            failures: None,
            retry_after: None,
            etag: Some("\"1\"".to_owned()),
            last_modified: None,
            if_match: true,
            content_encoding: None,
            chunked: false,
            authorization: None,
            close: false,
        }
    }
}

impl Behaviour {
    /// The names for [`Behaviour::named`].
    pub const NAMES: [&'static str; 6] = ["multi", "single", "single-first", "single-416", "ignore", "none"];

    /// The behavior of this name: `multi` answers several ranges; for several ranges, `single` answers the whole
    /// object, `single-first` the first range, and `single-416` status 416; `ignore` and `none` always answer the whole
    /// object, and `none` says so in `Accept-Ranges`.
    pub fn named(name: &str) -> Option<Self> {
        let (ranges, accept_ranges) = match name {
            "multi" => (RangeBehaviour::Several, Some("bytes")),
            "single" => (RangeBehaviour::OneElseWhole, Some("bytes")),
            "single-first" => (RangeBehaviour::OneElseFirst, Some("bytes")),
            "single-416" => (RangeBehaviour::OneElseRefuse(Refusal::Status(416)), Some("bytes")),
            "ignore" => (RangeBehaviour::Ignored, None),
            "none" => (RangeBehaviour::Ignored, Some("none")),
            _ => return None,
        };
        Some(Behaviour { ranges, accept_ranges, ..Behaviour::default() })
    }
}

/// Which ranges a server supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeBehaviour {
    /// Any number.
    Several,
    /// One; for more, it answers the whole object.
    OneElseWhole,
    /// One; for more, it answers the first.
    OneElseFirst,
    /// One; it refuses more.
    OneElseRefuse(Refusal),
    /// None: it always answers the whole object.
    Ignored,
}

/// How a server refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// With a status.
    Status(u16),
    /// By closing the connection.
    Close,
    /// By answering the whole object, as Apache does.
    Whole,
    /// By answering only the first ranges, as lighttpd does. (Without ranges, this closes the connection.)
    First,
}

/// How a server writes multipart bodies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Multipart {
    /// The boundary is quoted in the `Content-Type`, and needs the quotes.
    pub quoted: bool,
    /// Nothing follows the last boundary.
    pub no_final_line_end: bool,
    /// The last range comes first.
    pub reversed: bool,
    /// Ranges with at most this gap are sent as one part.
    pub merged_gap: Option<u64>,
}

/// A redirect of all paths below a prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// The prefix.
    pub prefix: String,
    /// The replacement of the prefix: a path, or a URL with host.
    pub to: String,
    /// The status, such as 302 or 307.
    pub status: u16,
}

/// Closes the connection inside a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutOff {
    /// Bytes of the body that are sent first.
    pub after: u64,
    /// Number of further answers to cut off.
    pub times: u64,
}
