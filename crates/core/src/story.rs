//! What happened at the sources of a file: a short list of events, for reports and for the error that ends a read.

use crate::printable::{Escaping, printable};
use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Events that are kept of the beginning, where a read went wrong first.
const FIRST: usize = 16;
/// Events that are kept in all: those of the beginning, and the last ones.
const MOST: usize = 64;
/// Characters that are kept of a text.
const LONGEST: usize = 300;

/// What can happen at a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event {
    /// It was opened.
    Opened,
    /// It could not be opened.
    Failed,
    /// It sent us elsewhere.
    Redirected,
    /// Something failed there, and was asked for again.
    Retried,
    /// Reading went on at this one instead of another.
    Switched,
    /// It was left because of what it did.
    Left,
    /// It was taken up again.
    Resumed,
    /// It has another file under the name: nothing is read from it.
    Refused,
    /// What another was slow with was asked for here, too.
    Duplicated,
}

impl Event {
    /// A stable, machine-readable word for it.
    pub fn name(self) -> &'static str {
        match self {
            Event::Opened => "opened",
            Event::Failed => "failed",
            Event::Redirected => "redirected",
            Event::Retried => "retried",
            Event::Switched => "switched",
            Event::Left => "left",
            Event::Resumed => "resumed",
            Event::Refused => "refused",
            Event::Duplicated => "duplicated",
        }
    }
}

/// One event of a [`Story`]. Shown, it is a line such as `2.5 s: h:1094 left: it was silent for 5 s`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// When it happened, for the last time if it was more than once; counted from the beginning of the story.
    pub when: Duration,
    /// The server, as `host:port`, if it is known.
    pub server: Option<String>,
    /// What happened.
    pub event: Event,
    /// The same in words, without secrets; may be empty.
    pub text: String,
    /// Times that it happened in a row.
    pub times: u64,
}

impl fmt::Display for Told {
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

/// What happened at the sources of one file, in the order in which it did. However much that is, only the first and
/// the last events are kept.
///
/// ```
/// use sapwood_core::{Event, Story};
/// let story = Story::default();
/// story.tell(Some("h:1094"), Event::Left, "root://me:pw@h:1094//f.root?authz=x is silent");
/// let told = story.told();
/// assert_eq!(told[0].text, "root://h:1094//f.root?… is silent");
/// assert!(told[0].to_string().ends_with("s: h:1094 left: root://h:1094//f.root?… is silent"));
/// ```
#[derive(Debug)]
pub struct Story {
    begin: Instant,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    events: VecDeque<Told>,
    dropped: u64,
}

impl Default for Story {
    fn default() -> Self {
        Story { begin: Instant::now(), kept: Mutex::default() }
    }
}

impl Story {
    /// Adds an event. Of the text, what is no secret is kept: URLs lose their user names and queries.
    pub fn tell(&self, server: Option<&str>, event: Event, text: impl AsRef<str>) {
        let (when, text) = (self.begin.elapsed(), presentable(text.as_ref()));
        let mut kept = self.lock();
        if let Some(last) = kept.events.back_mut()
            && last.server.as_deref() == server
            && (last.event, &last.text) == (event, &text)
        {
            // Several layers may say of one opening that it went well.
            if event != Event::Opened {
                (last.when, last.times) = (when, last.times.saturating_add(1));
            }
            return;
        }
        if kept.events.len() >= MOST {
            kept.events.remove(FIRST);
            kept.dropped += 1;
        }
        kept.events.push_back(Told { when, server: server.map(str::to_owned), event, text, times: 1 });
    }

    /// What is kept.
    pub fn told(&self) -> Vec<Told> {
        self.lock().events.iter().cloned().collect()
    }

    /// Events that are not kept any more; they were told after the first [`told`](Story::told) ones.
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
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
        let story = Story::default();
        for i in 0..1000 {
            story.tell(None, Event::Retried, i.to_string());
        }
        let texts: Vec<_> = story.told().into_iter().map(|told| told.text).collect();
        assert_eq!(texts.len(), MOST);
        assert_eq!(story.dropped(), 1000 - MOST as u64);
        assert_eq!(texts[FIRST - 1], (FIRST - 1).to_string());
        assert_eq!(texts[FIRST], (1000 - (MOST - FIRST)).to_string());
        assert_eq!(texts[MOST - 1], "999");
    }

    #[test]
    fn what_happens_again_is_counted() {
        let story = Story::default();
        for _ in 0..3 {
            story.tell(Some("h:1"), Event::Retried, "busy");
        }
        story.tell(Some("h:2"), Event::Opened, "");
        story.tell(Some("h:2"), Event::Opened, "");
        let told = story.told();
        assert_eq!(told.iter().map(|one| one.times).collect::<Vec<_>>(), [3, 1]);
        assert!(told[0].to_string().ends_with(" s: h:1 retried 3 times: busy"), "{}", told[0]);
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
