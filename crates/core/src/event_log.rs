//! The log of what happened at the sources of a file, for reports and for the error that ends a read.

use crate::printable::{Escaping, printable};
use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// First events that are kept: those that show where a read went wrong first.
const FIRST: usize = 16;
/// Events that are kept in all, the first and the last ones.
const MOST: usize = 64;
/// Characters that are kept of a text.
const LONGEST: usize = 300;

/// A kind of event at a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SourceEvent {
    /// It was opened.
    Opened,
    /// It could not be opened.
    Failed,
    /// It redirected to another server.
    Redirected,
    /// A request to it failed, and was repeated.
    Retried,
    /// Reading continued here, from another source.
    Switched,
    /// It was dropped because of a failure.
    Left,
    /// It is used again.
    Resumed,
    /// It has another file of the same name: nothing is read from it.
    Refused,
    /// It was asked for bytes that another source is slow with.
    Duplicated,
}

impl SourceEvent {
    /// A stable, machine-readable word for the kind.
    pub fn name(self) -> &'static str {
        match self {
            SourceEvent::Opened => "opened",
            SourceEvent::Failed => "failed",
            SourceEvent::Redirected => "redirected",
            SourceEvent::Retried => "retried",
            SourceEvent::Switched => "switched",
            SourceEvent::Left => "left",
            SourceEvent::Resumed => "resumed",
            SourceEvent::Refused => "refused",
            SourceEvent::Duplicated => "duplicated",
        }
    }
}

/// An event in an [`EventLog`]. Displayed, it is a line such as `2.5 s: h:1094 left: it was silent for 5 s`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedEvent {
    /// When it happened, for the last time if more than once; counted from the beginning of the log.
    pub when: Duration,
    /// The server, as `host:port`, if it is known.
    pub server: Option<String>,
    /// What happened.
    pub event: SourceEvent,
    /// Details in words, without secrets; may be empty.
    pub text: String,
    /// How many times it happened in a row.
    pub times: u64,
}

impl fmt::Display for LoggedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = Escaping(f);
        write!(f, "{:.1} s: ", self.when.as_secs_f64())?;
        if let Some(server) = &self.server {
            write!(f, "{server} ")?;
        }
        f.write_str(self.event.name())?;
        if self.times > 1 {
            write!(f, " {} times", self.times)?;
        }
        if self.text.is_empty() { Ok(()) } else { write!(f, ": {}", self.text) }
    }
}

/// What happened at the sources of one file, in order. It keeps only the first 16 and the last 48 events.
///
/// ```
/// use sapwood_core::{SourceEvent, EventLog};
/// let log = EventLog::default();
/// log.log(Some("h:1094"), SourceEvent::Left, "root://me:pw@h:1094//f.root?authz=x is silent");
/// let events = log.entries();
/// assert_eq!(events[0].text, "root://h:1094//f.root?… is silent");
/// assert!(events[0].to_string().ends_with("s: h:1094 left: root://h:1094//f.root?… is silent"));
/// ```
#[derive(Debug)]
pub struct EventLog {
    begin: Instant,
    kept: Mutex<KeptEvents>,
}

#[derive(Debug, Default)]
struct KeptEvents {
    events: VecDeque<LoggedEvent>,
    dropped: u64,
}

impl Default for EventLog {
    fn default() -> Self {
        EventLog { begin: Instant::now(), kept: Mutex::default() }
    }
}

impl EventLog {
    /// Adds an event. URLs in the text lose their user names and queries.
    pub fn log(&self, server: Option<&str>, event: SourceEvent, text: impl AsRef<str>) {
        let (when, text) = (self.begin.elapsed(), presentable(text.as_ref()));
        let mut kept = self.lock();
        if let Some(last) = kept.events.back_mut()
            && last.server.as_deref() == server
            && (last.event, &last.text) == (event, &text)
        {
            // Several layers may log one opening.
            if event != SourceEvent::Opened {
                (last.when, last.times) = (when, last.times.saturating_add(1));
            }
            return;
        }
        if kept.events.len() >= MOST {
            kept.events.remove(FIRST);
            kept.dropped += 1;
        }
        kept.events.push_back(LoggedEvent { when, server: server.map(str::to_owned), event, text, times: 1 });
    }

    /// The events that are kept.
    pub fn entries(&self) -> Vec<LoggedEvent> {
        self.lock().events.iter().cloned().collect()
    }

    /// Why each server is not read from, as far as its last events say: that of its last failure, or of its refusal.
    pub(crate) fn complaints(&self) -> Vec<(String, String)> {
        let mut complaints: Vec<(String, String)> = Vec::new();
        for LoggedEvent { server, event, text, .. } in &self.lock().events {
            let Some(server) = server else { continue };
            match event {
                SourceEvent::Failed | SourceEvent::Retried | SourceEvent::Left | SourceEvent::Refused => {
                    complaints.retain(|(other, _)| other != server);
                    complaints.push((server.clone(), text.clone()));
                }
                SourceEvent::Resumed => complaints.retain(|(other, _)| other != server),
                SourceEvent::Opened
                | SourceEvent::Redirected
                | SourceEvent::Switched
                | SourceEvent::Duplicated => {}
            }
        }
        complaints
    }

    /// How many events are not kept; they followed the first ones of [`entries`](EventLog::entries).
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    fn lock(&self) -> MutexGuard<'_, KeptEvents> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A text as one line that is not too long, with URLs that have lost user names, passwords and queries.
fn presentable(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).map(without_secrets).collect();
    let line = printable(&words.join(" ")).into_owned();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

fn without_secrets(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return word.to_owned() };
    let (rest, end) = rest.split_once('?').map_or((rest, ""), |(rest, _)| (rest, "?…"));
    let (authority, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_events_are_kept() {
        let log = EventLog::default();
        for i in 0..1000 {
            log.log(None, SourceEvent::Retried, i.to_string());
        }
        let texts: Vec<_> = log.entries().into_iter().map(|event| event.text).collect();
        assert_eq!(texts.len(), MOST);
        assert_eq!(log.dropped(), 1000 - MOST as u64);
        assert_eq!(texts[FIRST - 1], (FIRST - 1).to_string());
        assert_eq!(texts[FIRST], (1000 - (MOST - FIRST)).to_string());
        assert_eq!(texts[MOST - 1], "999");
    }

    #[test]
    fn repeated_events_are_counted() {
        let log = EventLog::default();
        for _ in 0..3 {
            log.log(Some("h:1"), SourceEvent::Retried, "busy");
        }
        log.log(Some("h:2"), SourceEvent::Opened, "");
        log.log(Some("h:2"), SourceEvent::Opened, "");
        let events = log.entries();
        assert_eq!(events.iter().map(|one| one.times).collect::<Vec<_>>(), [3, 1]);
        assert!(events[0].to_string().ends_with(" s: h:1 retried 3 times: busy"), "{}", events[0]);
    }

    #[test]
    fn the_last_complaint_about_each_server_counts() {
        let log = EventLog::default();
        let of = |server| move |event, text: &str| (Some(server), event, text.to_owned());
        let (a, b) = (of("a:1"), of("b:2"));
        for (server, event, text) in [
            a(SourceEvent::Retried, "busy"),
            b(SourceEvent::Opened, ""),
            b(SourceEvent::Refused, "a different file"),
            a(SourceEvent::Retried, "reset"),
        ] {
            log.log(server, event, text);
        }
        let complaints = [("b:2", "a different file"), ("a:1", "reset")].map(|(a, b)| (a.into(), b.into()));
        assert_eq!(log.complaints(), complaints);
        log.log(Some("a:1"), SourceEvent::Resumed, "it answers again");
        assert_eq!(log.complaints(), complaints[..1]);
    }

    #[test]
    fn texts_are_one_short_line_without_secrets() {
        assert_eq!(presentable("a\n b\u{1b}[2J\tc"), "a b [2J c");
        assert_eq!(presentable("a\u{202e}b"), r"a\u202eb");
        assert_eq!(presentable("(https://u:p@h?x=1&y=2)"), "(https://h?…");
        assert_eq!(presentable("what? s3://b/k@2 no"), "what? s3://b/k@2 no");
        assert_eq!(presentable(&"é".repeat(2 * LONGEST)).chars().count(), LONGEST + 1);
    }
}
