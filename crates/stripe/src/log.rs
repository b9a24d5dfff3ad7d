//! The log: numbered entries, each written once, each making a version.

use crate::record::{self, from_json, to_json};
use crate::{Id, ObjectKind, Provenance, keys, seal, unseal};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use sapwood_core::{BoxFuture, Deadline, Error, ErrorKind, Result};
use sapwood_store::{CreateOutcome, Store};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Most bytes of an entry.
const LONGEST: usize = 4096;
/// Most bytes of the description in an entry.
const LONGEST_WORDS: usize = 500;
/// Most entries to read at once.
const TOGETHER: usize = 16;

/// A log entry: a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Number of the version, from 1, without gaps.
    pub n: u64,
    /// The snapshot of this version.
    pub snapshot: Id,
    /// Number of the version that it was derived from; 0 for the first.
    pub parent: u64,
    /// `create`, `append`, `add`, `replace`, `drop`, `restore`, `base`, `expire`.
    pub operation: String,
    /// A description of the change, for people.
    #[serde(default)]
    pub what: String,
    /// Who made it, if stated.
    #[serde(default)]
    pub who: Option<String>,
    /// Job and attempt, by which a job that runs again recognizes that it is done.
    #[serde(default)]
    pub job: Option<(String, u32)>,
    /// By which a writer recognizes its own entry after an answer was lost.
    pub commit: Id,
    /// Milliseconds since 1970; never less than in the previous entry.
    pub time_ms: u64,
    /// Versions below this one have expired, unless a tag or a lease holds them.
    pub oldest: u64,
}

impl LogEntry {
    /// The entry of version `n`, which `commit` identifies.
    pub(crate) fn new(
        (n, snapshot): (u64, Id),
        made: Provenance,
        what: String,
        commit: Id,
        oldest: u64,
    ) -> LogEntry {
        let Provenance { operation, who, job, time_ms, .. } = made;
        let (parent, what) = (n.saturating_sub(1), LogEntry::words(what));
        LogEntry { n, snapshot, parent, operation, what, who, job, commit, time_ms, oldest }
    }

    /// As JSON of less than 4 kB.
    ///
    /// # Errors
    /// `Usage` if names in it are too long.
    pub fn encode(&self) -> Result<Bytes> {
        let json = to_json(self)?;
        match json.len() < LONGEST {
            true => Ok(json),
            false => Err(Error::usage(format!("an entry of the log would have {} bytes", json.len()))
                .hint("choose shorter names of job and user")),
        }
    }

    /// From JSON.
    ///
    /// # Errors
    /// `Corrupt` if it is not an entry, or not entry `n`.
    pub fn decode(n: u64, json: &[u8]) -> Result<LogEntry> {
        let entry: LogEntry = from_json(json, "an entry of the log")?;
        match entry.n == n && n > 0 && entry.parent < n && entry.oldest <= n {
            true => Ok(entry),
            false => Err(Error::corrupt(format!("entry {n} of the log has invalid numbers: {entry:?}"))),
        }
    }

    /// A description for people, truncated to fit into an entry.
    fn words(mut text: String) -> String {
        if text.len() > LONGEST_WORDS {
            let end = (0..LONGEST_WORDS).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            text.truncate(end);
            text.push('…');
        }
        text
    }
}

/// Numbered entries, each written once: in the store of the dataset ([`ObjectLog`]), or in a database.
///
/// # Contract
/// - An entry is visible completely or not at all; once it is, it is visible to everyone, and never changes.
/// - Of all concurrent `create` calls for an entry, one returns [`CreateOutcome::Done`]; `create` tries once.
/// - Entries are JSON of less than 4 kB. The creator of entry *n + 1* has seen entry *n*.
pub trait Log: fmt::Debug + Send + Sync + 'static {
    /// Its URL, without secrets.
    fn url(&self) -> &str;

    /// Number and content of an existing entry: the newest, as far as one request can tell. `None` if there
    /// is no entry, or this is unknown.
    ///
    /// # Errors
    /// Those of the store.
    fn hint(&self, deadline: Deadline) -> BoxFuture<'_, Result<Option<(u64, Bytes)>>>;

    /// An entry, if it exists.
    ///
    /// # Errors
    /// Those of the store.
    fn read(&self, n: u64, deadline: Deadline) -> BoxFuture<'_, Result<Option<Bytes>>>;

    /// Creates an entry, if it does not exist.
    ///
    /// # Errors
    /// Those of the store; the entry was not written then.
    fn create(&self, n: u64, content: Bytes, deadline: Deadline) -> BoxFuture<'_, Result<CreateOutcome>>;

    /// Records an entry for [`hint`](Log::hint), where that needs it.
    ///
    /// # Errors
    /// Those of the store; they may be ignored.
    fn advise(&self, n: u64, content: Bytes, deadline: Deadline) -> BoxFuture<'_, Result<()>>;
}

/// The log as objects of the dataset.
#[derive(Debug)]
pub struct ObjectLog {
    store: Arc<dyn Store>,
}

impl ObjectLog {
    /// The log of the dataset in a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        ObjectLog { store }
    }

    async fn content(&self, key: &str, deadline: Deadline) -> Result<Option<Bytes>> {
        match record::found(self.store.get(key, None, deadline).await)? {
            Some(object) => unseal(ObjectKind::Record, &object)
                .map(Some)
                .map_err(|error| error.url(record::url_of(&*self.store, key))),
            None => Ok(None),
        }
    }
}

impl Log for ObjectLog {
    fn url(&self) -> &str {
        self.store.url()
    }

    fn hint(&self, deadline: Deadline) -> BoxFuture<'_, Result<Option<(u64, Bytes)>>> {
        Box::pin(async move {
            /// The part of a hint that is read here: it is an entry.
            #[derive(Deserialize)]
            struct Number {
                n: u64,
            }
            // A hint is overwritten, and may be lost: a damaged one counts as none.
            let Ok(content) = self.content(keys::HINT, deadline).await else { return Ok(None) };
            Ok(content
                .and_then(|json| from_json::<Number>(&json, "the hint").ok().map(|hint| (hint.n, json))))
        })
    }

    fn read(&self, n: u64, deadline: Deadline) -> BoxFuture<'_, Result<Option<Bytes>>> {
        Box::pin(async move { self.content(&keys::log(n), deadline).await })
    }

    fn create(&self, n: u64, content: Bytes, deadline: Deadline) -> BoxFuture<'_, Result<CreateOutcome>> {
        Box::pin(async move {
            self.store.create(&keys::log(n), seal(ObjectKind::Record, &content), deadline).await
        })
    }

    fn advise(&self, _: u64, content: Bytes, deadline: Deadline) -> BoxFuture<'_, Result<()>> {
        Box::pin(
            async move { self.store.put(keys::HINT, seal(ObjectKind::Record, &content), deadline).await },
        )
    }
}

/// An entry, if it exists.
pub(crate) async fn read(log: &dyn Log, n: u64, deadline: Deadline) -> Result<Option<LogEntry>> {
    let content = log.read(n, deadline).await?;
    content.map(|json| LogEntry::decode(n, &json)).transpose().map_err(|error| error.url(log.url()))
}

/// The entry of the hint, if there is one that can be read.
pub(crate) async fn hint(log: &dyn Log, deadline: Deadline) -> Result<Option<LogEntry>> {
    let hint = log.hint(deadline).await?;
    Ok(hint.and_then(|(n, json)| LogEntry::decode(n, &json).ok()))
}

/// The newest entry after number `from`, which exists (or is 0); `None` if there is none.
///
/// Steps double, so that few requests suffice even if `from` is old; entries have no gaps, so bisection finds
/// the end.
pub(crate) async fn newest_after(log: &dyn Log, from: u64, deadline: Deadline) -> Result<Option<LogEntry>> {
    let (mut newest, mut step) = (None, 1u64);
    let (mut known, mut absent) = (from, u64::MAX);
    while absent - known > 1 {
        let wanted = match absent {
            u64::MAX => known.saturating_add(step),
            _ => known + (absent - known) / 2,
        };
        match read(log, wanted, deadline).await? {
            Some(entry) => (known, newest, step) = (wanted, Some(entry), step.saturating_mul(2)),
            None => absent = wanted,
        }
    }
    Ok(newest)
}

/// Entries `from..=to`, all of which exist.
pub(crate) async fn range(log: &dyn Log, from: u64, to: u64, deadline: Deadline) -> Result<Vec<LogEntry>> {
    let entries = stream::iter(from..=to).map(|n| async move {
        read(log, n, deadline).await?.ok_or_else(|| {
            let message = format!("entry {n} of the log is missing, but later ones exist");
            Error::corrupt(message).url(log.url())
        })
    });
    entries.buffered(TOGETHER).try_collect().await
}

/// The last entry in `from..=to` for which `early` is true: it is true for all earlier ones, and for none
/// after.
pub(crate) async fn last_where(
    log: &dyn Log,
    (mut from, mut to): (u64, u64),
    early: impl Fn(&LogEntry) -> bool,
    deadline: Deadline,
) -> Result<Option<LogEntry>> {
    let mut last = None;
    while from <= to {
        let middle = from + (to - from) / 2;
        match range(log, middle, middle, deadline).await?.pop().filter(&early) {
            Some(entry) => (last, from) = (Some(entry), middle + 1),
            None => to = middle.saturating_sub(1),
        }
    }
    Ok(last)
}

/// Whose entry was created.
#[derive(Debug)]
pub(crate) enum ClaimOutcome {
    Ours,
    Theirs(LogEntry),
}

/// How often to write an entry again while it is unknown whether it was written.
const TRIES: u32 = 4;

/// Writes an entry. If the answer is lost or unclear, the entry is read; if it does not exist (yet), it is
/// written again, with the same content: whichever write succeeds, the entry is ours.
///
/// # Errors
/// `CommitUnknown` if the result cannot be determined.
pub(crate) async fn claim(log: &dyn Log, entry: &LogEntry, deadline: Deadline) -> Result<ClaimOutcome> {
    let content = entry.encode()?;
    let mut unclear: Option<Error> = None;
    let unknown = |error: Error| {
        let message = format!("it is unknown whether commit {} became version {}", entry.commit, entry.n);
        Error::new(ErrorKind::CommitUnknown, message).url(log.url()).caused_by(error).hint(
            "nothing was deleted; look at the log later, or run the same job again: it is done at most once",
        )
    };
    for _ in 0..TRIES {
        match log.create(entry.n, content.clone(), deadline).await {
            Ok(CreateOutcome::Done) => return Ok(ClaimOutcome::Ours),
            Ok(CreateOutcome::Exists) => {}
            Ok(CreateOutcome::Unclear(error)) => unclear = Some(error),
            Err(error) => return Err(unclear.map_or(error, unknown)),
        }
        match read(log, entry.n, deadline).await {
            Ok(Some(found)) if found.commit == entry.commit => return Ok(ClaimOutcome::Ours),
            Ok(Some(found)) => return Ok(ClaimOutcome::Theirs(found)),
            Ok(None) => {}
            Err(error) => return Err(unclear.map_or(error, unknown)),
        }
    }
    let silent = || Error::new(ErrorKind::Server, "an entry of the log exists but cannot be read");
    Err(unclear.map_or_else(silent, unknown))
}
