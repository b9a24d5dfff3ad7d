//! The ways of HTTP servers.

use std::time::Duration;

/// How a [`Server`](crate::Server) behaves. The default is a good one: several ranges, an ETag, keep-alive.
#[derive(Debug, Clone)]
pub struct Behaviour {
    /// What it does about ranges.
    pub ranges: Ranges,
    /// Most ranges that it answers in one request.
    pub max_ranges: usize,
    /// What it does about more.
    pub too_many: Refusal,
    /// Longest request, in bytes of its line and headers.
    pub max_header_bytes: usize,
    /// What it does about longer ones.
    pub header_too_long: Refusal,
    /// Whether it understands "the last n bytes".
    pub suffix: bool,
    /// How it writes multipart bodies.
    pub multipart: Multipart,
    /// The value of `Accept-Ranges`; `None` to send none.
    pub accept_ranges: Option<&'static str>,
    /// Where it redirects to.
    pub redirect: Option<Redirect>,
    /// Speed at which it sends bodies, per connection.
    pub bytes_per_second: Option<u64>,
    /// Time that it thinks before each answer.
    pub think: Duration,
    /// Where it closes the connection inside a body.
    pub cut_off: Option<CutOff>,
    /// Bytes that its `Content-Length` is too large (or too small).
    pub length_error: i64,
    /// The number of requests that it still answers with this status instead.
    pub failures: Option<(u16, u64)>,
    /// Sent with each failure, in seconds.
    pub retry_after: Option<u64>,
    /// The object's ETag, with its quotes.
    pub etag: Option<String>,
    /// The object's modification time, as an HTTP date.
    pub last_modified: Option<String>,
    /// Whether it honours `If-Match`.
    pub if_match: bool,
    /// A `Content-Encoding` that it claims.
    pub content_encoding: Option<&'static str>,
    /// Whether it sends bodies in chunks, without a `Content-Length`.
    pub chunked: bool,
    /// The `Authorization` header that it wants to see.
    pub authorization: Option<String>,
    /// Whether it closes the connection after each answer.
    pub close: bool,
}

impl Default for Behaviour {
    fn default() -> Self {
        Behaviour {
            ranges: Ranges::Several,
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
    /// The names that [`Behaviour::named`] knows.
    pub const NAMES: [&'static str; 6] = ["multi", "single", "single-first", "single-416", "ignore", "none"];

    /// The behaviour of this name: `multi` answers several ranges, `single` answers the whole object
    /// where several are asked for, `single-first` the first of them, `single-416` none; `ignore` and
    /// `none` always answer the whole object, the latter says so.
    pub fn named(name: &str) -> Option<Self> {
        let (ranges, accept_ranges) = match name {
            "multi" => (Ranges::Several, Some("bytes")),
            "single" => (Ranges::OneElseWhole, Some("bytes")),
            "single-first" => (Ranges::OneElseFirst, Some("bytes")),
            "single-416" => (Ranges::OneElseRefuse(Refusal::Status(416)), Some("bytes")),
            "ignore" => (Ranges::Ignored, None),
            "none" => (Ranges::Ignored, Some("none")),
            _ => return None,
        };
        Some(Behaviour { ranges, accept_ranges, ..Behaviour::default() })
    }
}

/// What a server does about ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranges {
    /// It answers as many as are asked for.
    Several,
    /// It answers one; if there are more, the whole object.
    OneElseWhole,
    /// It answers the first.
    OneElseFirst,
    /// It answers one; more are refused.
    OneElseRefuse(Refusal),
    /// It answers the whole object, always.
    Ignored,
}

/// How a server refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// By a status.
    Status(u16),
    /// By closing the connection.
    Close,
    /// By answering the whole object, as Apache does.
    Whole,
    /// By answering only the first ranges, as lighttpd does. (Where there is no range to begin with,
    /// the same as closing the connection.)
    First,
}

/// How a server writes multipart bodies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Multipart {
    /// The boundary stands in quotes in the `Content-Type`, and needs them.
    pub quoted: bool,
    /// Nothing follows the last boundary.
    pub no_final_line_end: bool,
    /// The last range comes first.
    pub reversed: bool,
    /// Ranges whose distance is at most this are sent as one part.
    pub merged_gap: Option<u64>,
}

/// Requests below `prefix` are sent on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// Beginning of the paths concerned.
    pub prefix: String,
    /// What replaces the prefix: a path, or a URL with host.
    pub to: String,
    /// The status, such as 302 or 307.
    pub status: u16,
}

/// The connection is closed inside a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutOff {
    /// Bytes of the body that are sent before.
    pub after: u64,
    /// Number of answers that this still happens to.
    pub times: u64,
}
