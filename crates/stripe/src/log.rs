//! The log: numbered entries, each written once, of which each makes a version.

use crate::record::{self, from_json, to_json};
use crate::{Id, Kind, keys, seal, unseal};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use sapwood_core::{BoxFuture, Deadline, Error, ErrorKind, Result};
use sapwood_store::{CreateOutcome, Store};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Longest entry, in bytes.
const LONGEST: usize = 4096;
/// Longest words in an entry, in bytes.
const LONGEST_WORDS: usize = 500;
/// Entries that are read at once.
const TOGETHER: usize = 16;

/// An entry of the log: a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Number of the version, from 1, without holes.
    pub n: u64,
    /// What the dataset is at this version.
    pub snapshot: Id,
    /// Number of the version that it was made from; 0 for the first.
    pub parent: u64,
    /// `create`, `append`, `add`, `replace`, `drop`, `restore`, `base`, `expire`.
    pub operation: String,
    /// What was changed, for people.
    #[serde(default)]
    pub what: String,
    /// Who, if that was said.
    #[serde(default)]
    pub who: Option<String>,
    /// Job and attempt, by which a job that runs again knows that it is done.
    #[serde(default)]
    pub job: Option<(String, u32)>,
    /// By which a writer knows its own entry, after an answer was lost.
    pub commit: Id,
    /// Milliseconds since 1970; never less than that of the entry before.
    pub time_ms: u64,
    /// Versions below this one are expired, unless a tag or a lease holds them.
    pub oldest: u64,
}

impl Entry {
    /// As JSON of less than 4 kB.
    ///
    /// # Errors
    /// `Usage` if names in it are longer.
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
    /// `Corrupt` if it is none, or that of another entry than `n`.
    pub fn decode(n: u64, json: &[u8]) -> Result<Entry> {
        let entry: Entry = from_json(json, "an entry of the log")?;
        match entry.n == n && n > 0 && entry.parent < n && entry.oldest <= n {
            true => Ok(entry),
            false => {
                Err(Error::corrupt(format!("entry {n} of the log has numbers that cannot be: {entry:?}")))
            }
        }
    }

    /// Words for people, cut to what an entry has room for.
    pub(crate) fn words(mut text: String) -> String {
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
/// - An entry is seen whole or not at all; once one is there, everybody sees it, and it never changes.
/// - Of all who create the same entry, one is told [`CreateOutcome::Done`]; `create` is tried once.
/// - Entries are JSON of less than 4 kB. Who creates entry *n + 1* has seen entry *n*.
pub trait Log: fmt::Debug + Send + Sync + 'static {
    /// Where it is, without secrets.
    fn url(&self) -> &str;

    /// Number and content of an entry that is there: the newest, as far as can be said with one request. None if there
    /// is no entry, or nobody knows.
    ///
    /// # Errors
    /// Those of the store.
    fn hint(&self, deadline: Deadline) -> BoxFuture<'_, Result<Option<(u64, Bytes)>>>;

    /// An entry, if it is there.
    ///
    /// # Errors
    /// Those of the store.
    fn read(&self, n: u64, deadline: Deadline) -> BoxFuture<'_, Result<Option<Bytes>>>;

    /// Writes an entry, if it is not there.
    ///
    /// # Errors
    /// Those of the store; the entry was not written then.
    fn create(&self, n: u64, content: Bytes, deadline: Deadline) -> BoxFuture<'_, Result<CreateOutcome>>;

    /// Remembers an entry for [`hint`](Log::hint), where that needs it.
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
    /// That of the dataset in a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        ObjectLog { store }
    }

    async fn content(&self, key: &str, deadline: Deadline) -> Result<Option<Bytes>> {
        match record::found(self.store.get(key, None, deadline).await)? {
            Some(object) => unseal(Kind::Record, &object)
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
            /// All that is read of a hint here: it is an entry.
            #[derive(Deserialize)]
            struct Number {
                n: u64,
            }
            // A hint is overwritten, and may be lost: a damaged one is none.
            let Ok(content) = self.content(keys::HINT, deadline).await else { return Ok(None) };
            Ok(content
                .and_then(|json| from_json::<Number>(&json, "the hint").ok().map(|hint| (hint.n, json))))
        })
    }

    fn read(&self, n: u64, deadline: Deadline) -> BoxFuture<'_, Result<Option<Bytes>>> {
        Box::pin(async move { self.content(&keys::log(n), deadline).await })
    }

    fn create(&self, n: u64, content: Bytes, deadline: Deadline) -> BoxFuture<'_, Result<CreateOutcome>> {
        Box::pin(
            async move { self.store.create(&keys::log(n), seal(Kind::Record, &content), deadline).await },
        )
    }

    fn advise(&self, _: u64, content: Bytes, deadline: Deadline) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { self.store.put(keys::HINT, seal(Kind::Record, &content), deadline).await })
    }
}

/// An entry, if it is there.
pub(crate) async fn read(log: &dyn Log, n: u64, deadline: Deadline) -> Result<Option<Entry>> {
    let content = log.read(n, deadline).await?;
    content.map(|json| Entry::decode(n, &json)).transpose().map_err(|error| error.url(log.url()))
}

/// The entry of the hint, if there is one that can be read.
pub(crate) async fn hint(log: &dyn Log, deadline: Deadline) -> Result<Option<Entry>> {
    let hint = log.hint(deadline).await?;
    Ok(hint.and_then(|(n, json)| Entry::decode(n, &json).ok()))
}

/// The newest entry after number `from`, which is there (or 0); None if there is none.
///
/// Steps double, so that who is far behind needs few requests; entries have no holes, so that halves find the end.
pub(crate) async fn newest_after(log: &dyn Log, from: u64, deadline: Deadline) -> Result<Option<Entry>> {
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

/// Entries `from..=to`, all of which are there.
pub(crate) async fn range(log: &dyn Log, from: u64, to: u64, deadline: Deadline) -> Result<Vec<Entry>> {
    let entries = stream::iter(from..=to).map(|n| async move {
        read(log, n, deadline).await?.ok_or_else(|| {
            let message = format!("entry {n} of the log is missing, and later ones are there");
            Error::corrupt(message).url(log.url())
        })
    });
    entries.buffered(TOGETHER).try_collect().await
}

/// The last entry in `from..=to` for which `early` holds: it holds for all before that one, and for none after.
pub(crate) async fn last_where(
    log: &dyn Log,
    (mut from, mut to): (u64, u64),
    early: impl Fn(&Entry) -> bool,
    deadline: Deadline,
) -> Result<Option<Entry>> {
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

/// Whose an entry is.
#[derive(Debug)]
pub(crate) enum Claim {
    Ours,
    Theirs(Entry),
}

/// Times that an entry is written again when nobody can say whether it was.
const TRIES: u32 = 4;

/// Writes an entry. After an answer that does not say it, the entry is read; where it is not there (yet), it is written
/// again, with the same content: whichever of them comes first, it is ours.
///
/// # Errors
/// `CommitUnknown` if that cannot be found out.
pub(crate) async fn claim(log: &dyn Log, entry: &Entry, deadline: Deadline) -> Result<Claim> {
    let content = entry.encode()?;
    let mut unclear: Option<Error> = None;
    let unknown = |error: Error| {
        let message = format!("nobody can say whether commit {} is version {} now", entry.commit, entry.n);
        Error::new(ErrorKind::CommitUnknown, message).url(log.url()).caused_by(error).hint(
            "nothing was deleted; look at the log later, or run the same job again: it is done at most once",
        )
    };
    for _ in 0..TRIES {
        match log.create(entry.n, content.clone(), deadline).await {
            Ok(CreateOutcome::Done) => return Ok(Claim::Ours),
            Ok(CreateOutcome::Exists) => {}
            Ok(CreateOutcome::Unclear(error)) => unclear = Some(error),
            Err(error) => return Err(unclear.map_or(error, unknown)),
        }
        match read(log, entry.n, deadline).await {
            Ok(Some(found)) if found.commit == entry.commit => return Ok(Claim::Ours),
            Ok(Some(found)) => return Ok(Claim::Theirs(found)),
            Ok(None) => {}
            Err(error) => return Err(unclear.map_or(error, unknown)),
        }
    }
    let silent = || Error::new(ErrorKind::Server, "an entry of the log is there, and cannot be read");
    Err(unclear.map_or_else(silent, unknown))
}
