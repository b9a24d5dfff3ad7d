//! The one error type: a kind that programs can match, and where the error happened.

use crate::printable::Escaping;
use crate::{EventLog, LoggedEvent, SourceEvent};
use std::error::Error as StdError;
use std::fmt::{self, Write};
use std::time::Duration;

/// The result of any fallible operation in sapwood.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error, for programs to match.
///
/// The [`code`](ErrorKind::code) of a kind never changes once released; Python's exceptions carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file or object does not exist.
    NotFound,
    /// The file or object exists, but may not be read with these credentials.
    Permission,
    /// An argument is invalid.
    Usage,
    /// The bytes are not a ROOT file.
    NotRoot,
    /// The bytes break a rule of the format.
    Corrupt,
    /// The file ends before something that it refers to.
    Truncated,
    /// A checksum does not match its data.
    Checksum,
    /// The file changed while it was read.
    Changed,
    /// The file is valid, but sapwood cannot read this part of it.
    Unsupported,
    /// The file has no such key, tree or branch.
    Missing,
    /// The deadline passed.
    Timeout,
    /// The connection failed.
    Network,
    /// The server answered with an error or against its protocol.
    Server,
    /// The operating system refused to read.
    Io,
    /// The request would take more memory than allowed.
    Limit,
    /// The file was closed.
    Closed,
    /// The caller interrupted the read.
    Cancelled,
    /// Another writer changed the same part of a dataset first; nothing was changed here.
    Conflict,
    /// It is unknown whether a change of a dataset was made: the answer was lost, and so was the answer to the
    /// question.
    CommitUnknown,
}

impl ErrorKind {
    /// Every kind, in the order of declaration.
    pub const ALL: [ErrorKind; 19] = [
        ErrorKind::NotFound,
        ErrorKind::Permission,
        ErrorKind::Usage,
        ErrorKind::NotRoot,
        ErrorKind::Corrupt,
        ErrorKind::Truncated,
        ErrorKind::Checksum,
        ErrorKind::Changed,
        ErrorKind::Unsupported,
        ErrorKind::Missing,
        ErrorKind::Timeout,
        ErrorKind::Network,
        ErrorKind::Server,
        ErrorKind::Io,
        ErrorKind::Limit,
        ErrorKind::Closed,
        ErrorKind::Cancelled,
        ErrorKind::Conflict,
        ErrorKind::CommitUnknown,
    ];

    /// A stable, machine-readable name of the kind.
    pub fn code(self) -> &'static str {
        match self {
            ErrorKind::NotFound => "not-found",
            ErrorKind::Permission => "permission",
            ErrorKind::Usage => "usage",
            ErrorKind::NotRoot => "not-root",
            ErrorKind::Corrupt => "corrupt",
            ErrorKind::Truncated => "truncated",
            ErrorKind::Checksum => "checksum",
            ErrorKind::Changed => "changed",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Missing => "missing",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Network => "network",
            ErrorKind::Server => "server",
            ErrorKind::Io => "io",
            ErrorKind::Limit => "limit",
            ErrorKind::Closed => "closed",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::Conflict => "conflict",
            ErrorKind::CommitUnknown => "commit-unknown",
        }
    }
}

/// An error of sapwood: its [`kind`](Error::kind), a sentence, and where it happened.
///
/// Layers add what they know on the way up: a parser knows the offset, the file knows the URL, the tree knows
/// the branch. The innermost value of each is kept.
///
/// Messages quote files and servers, which may say anything. Displayed, an error is therefore
/// [`printable`](crate::printable): one line without control characters. Its parts are exact.
///
/// ```
/// use sapwood_core::{Error, ErrorKind};
/// let error = Error::corrupt("the key is shorter than its header")
///     .at(1234)
///     .url("https://example.org/f.root")
///     .branch("Muon_pt");
/// assert_eq!(error.kind(), ErrorKind::Corrupt);
/// assert_eq!(
///     error.to_string(),
///     "the key is shorter than its header (branch 'Muon_pt', at byte 1234 of https://example.org/f.root)"
/// );
/// ```
pub struct Error(Box<ErrorDetails>);

struct ErrorDetails {
    kind: ErrorKind,
    message: String,
    url: Option<String>,
    offset: Option<u64>,
    branch: Option<String>,
    hint: Option<String>,
    pause: Option<Duration>,
    events: Vec<LoggedEvent>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of a kind, described by one sentence without a full stop.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(ErrorDetails {
            kind,
            message: message.into(),
            url: None,
            offset: None,
            branch: None,
            hint: None,
            pause: None,
            events: Vec::new(),
            source: None,
        }))
    }

    /// Bytes that break a rule of the format.
    pub fn corrupt(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Corrupt, message)
    }

    /// A part of a valid file that sapwood cannot read.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Unsupported, message)
    }

    /// An invalid argument.
    pub fn usage(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Usage, message)
    }

    /// Adds the URL (without secrets), unless a deeper layer did.
    #[must_use]
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.0.url.get_or_insert_with(|| url.into());
        self
    }

    /// Adds the byte offset in the file, unless a deeper layer did.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Converts an offset relative to `start` to one in the file; if no offset is known, adds `start`.
    #[must_use]
    pub fn inside(mut self, start: u64) -> Self {
        self.0.offset = Some(start.saturating_add(self.0.offset.unwrap_or_default()));
        self
    }

    /// Adds the branch, unless a deeper layer did.
    #[must_use]
    pub fn branch(mut self, branch: impl Into<String>) -> Self {
        self.0.branch.get_or_insert_with(|| branch.into());
        self
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// Adds how long the server asks to wait before the next request.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.0.pause.get_or_insert(pause);
        self
    }

    /// Adds what happened at the sources before, unless they were only found and opened. The last log added stands.
    #[must_use]
    pub fn with_events(mut self, log: &EventLog) -> Self {
        let events = log.entries();
        if events.iter().any(|one| !matches!(one.event, SourceEvent::Opened | SourceEvent::Redirected)) {
            self.0.events = events;
        }
        self
    }

    /// Replaces the sentence.
    #[must_use]
    pub(crate) fn with_message(mut self, message: String) -> Self {
        self.0.message = message;
        self
    }

    /// Adds the error of a library that caused this one.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source.get_or_insert_with(|| source.into());
        self
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The sentence, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The URL of the file, if known.
    pub fn url_str(&self) -> Option<&str> {
        self.0.url.as_deref()
    }

    /// The byte offset in the file, if known.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The branch, if known.
    pub fn branch_name(&self) -> Option<&str> {
        self.0.branch.as_deref()
    }

    /// What happened at the sources before, in order; empty if nothing did.
    pub fn events(&self) -> &[LoggedEvent] {
        &self.0.events
    }

    /// The same error without the library's error that caused it, which cannot be copied.
    #[must_use]
    pub fn copy(&self) -> Error {
        let ErrorDetails { kind, message, url, offset, branch, hint, pause, events, source: _ } = &*self.0;
        let (message, url, branch, hint) = (message.clone(), url.clone(), branch.clone(), hint.clone());
        let events = events.clone();
        Error(Box::new(ErrorDetails {
            kind: *kind,
            message,
            url,
            offset: *offset,
            branch,
            hint,
            pause: *pause,
            events,
            source: None,
        }))
    }

    /// How long the server wants clients to wait, if it said so.
    pub fn asked_pause(&self) -> Option<Duration> {
        self.0.pause
    }

    /// What the user can do about it, if known.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (inner, mut f) = (&*self.0, Escaping(f));
        f.write_str(&inner.message)?;
        let mut place = Vec::new();
        if let Some(branch) = &inner.branch {
            place.push(format!("branch '{branch}'"));
        }
        match (inner.offset, &inner.url) {
            (Some(offset), Some(url)) => place.push(format!("at byte {offset} of {url}")),
            (Some(offset), None) => place.push(format!("at byte {offset}")),
            (None, Some(url)) => place.push(format!("in {url}")),
            (None, None) => {}
        }
        if !place.is_empty() {
            write!(f, " ({})", place.join(", "))?;
        }
        if let Some(hint) = &inner.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)?;
        if let Some(source) = &self.0.source {
            write!(Escaping(f), ", caused by: {source}")?;
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_ref().map(|s| &**s as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_location_is_kept() {
        let error = Error::corrupt("x").at(1).at(2).url("a").url("b");
        assert_eq!(error.offset(), Some(1));
        assert_eq!(error.url_str(), Some("a"));
    }

    #[test]
    fn events_are_added_unless_sources_were_only_opened() {
        let log = EventLog::default();
        log.log(Some("a:1"), SourceEvent::Opened, "");
        assert!(Error::corrupt("x").with_events(&log).events().is_empty());
        log.log(Some("a:1"), SourceEvent::Left, "it is silent");
        let error = Error::corrupt("x").with_events(&log);
        assert_eq!(error.copy().events(), log.entries());
        assert_eq!(error.copy().to_string(), "x");
    }

    #[test]
    fn foreign_text_is_shown_on_one_line_without_control_characters() {
        let error = Error::corrupt("class 'T\u{1b}[2J'\nok")
            .at(7)
            .url("https://h/\u{7}.root")
            .branch("a\u{202e}b")
            .hint("not\rthis")
            .caused_by("it said \u{1b}c");
        let shown = r"class 'T\x1b[2J'\nok (branch 'a\u202eb', at byte 7 of https://h/\x07.root); not\rthis";
        assert_eq!(error.to_string(), shown);
        assert_eq!(format!("{error:?}"), format!(r"Corrupt: {shown}, caused by: it said \x1bc"));
        assert_eq!(error.branch_name(), Some("a\u{202e}b"));
    }

    #[test]
    fn codes_are_unique() {
        let mut codes: Vec<_> = ErrorKind::ALL.iter().map(|k| k.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), ErrorKind::ALL.len());
    }
}
