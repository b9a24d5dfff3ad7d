//! A dataset at one of its versions.

mod bases;
mod commit;
mod copy;
mod create;
mod describe;
mod events;
mod expire;
mod fragments;
mod gc;
mod leases;
mod probe;
mod reach;
mod receive;
mod tags;
mod verify;

pub use commit::Committed;
pub use copy::Copied;
pub use create::Format;
pub use describe::{DescribedProduct, DescribedSegment, Description};
pub use expire::Keep;
pub use fragments::Fragments;
pub use gc::{Collected, GcOptions};
pub use leases::{Lease, LeaseKind, Leased};
pub use probe::probe;
pub use receive::RECEIPTS_LAST;
pub use tags::Tag;
pub use verify::{Verified, VerifyOptions, Wrong};

use crate::log::{self, Entry, Log, ObjectLog};
use crate::record::{self, found};
use crate::{Id, Snapshot, keys};
use bases::Bases;
use futures::future::join;
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use sapwood_source::OpenOptions;
use sapwood_store::Store;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// What to do about datasets that are there, and cannot be opened.
const NAME_LOG: &str = "say which database it is in: log=URL, or --log URL";
const CREATE_AGAIN: &str = "create it again";

/// Which version of a dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Version {
    /// The newest.
    #[default]
    Latest,
    /// The one of that number.
    Number(u64),
    /// The one of that tag.
    Tag(String),
    /// The newest one at a moment: milliseconds since 1970.
    Time(u64),
}

impl FromStr for Version {
    type Err = Error;

    /// `v12`, `latest`, or the name of a tag.
    fn from_str(text: &str) -> Result<Version> {
        let number = text.strip_prefix('v').and_then(|digits| digits.parse().ok());
        match (text, number) {
            (_, Some(number)) => Ok(Version::Number(number)),
            ("latest", _) => Ok(Version::Latest),
            _ => tags::check(text).map(|()| Version::Tag(text.to_owned())),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Version::Latest => f.write_str("latest"),
            Version::Number(number) => write!(f, "v{number}"),
            Version::Tag(name) => f.write_str(name),
            Version::Time(time) => write!(f, "the version of {time} ms"),
        }
    }
}

/// Where a dataset lies.
#[derive(Debug)]
struct Home {
    store: Arc<dyn Store>,
    log: Arc<dyn Log>,
    bases: Bases,
}

/// A dataset at one of its versions. What was committed since does not change it.
#[derive(Debug, Clone)]
pub struct Dataset {
    place: Arc<Home>,
    entry: Entry,
    snapshot: Arc<Snapshot>,
    /// The entry was read in the log, not only in the hint.
    sure: bool,
}

impl Dataset {
    /// Opens the dataset in a store. `log` is given where the log is not in that store.
    ///
    /// The newest version needs three small requests, in two turnarounds, if the hint is of it.
    ///
    /// # Errors
    /// `NotFound` if there is no dataset, `Missing` if it has no such version, or has it no more; those of the store,
    /// and of objects that are damaged.
    pub async fn open(
        store: Arc<dyn Store>,
        log: Option<Arc<dyn Log>>,
        version: &Version,
        deadline: Deadline,
    ) -> Result<Dataset> {
        let place = Arc::new(Home::new(store, log));
        match version {
            Version::Latest => Home::newest(&place, None, deadline).await,
            _ => Home::at(&place, version, deadline).await,
        }
    }

    /// The dataset at another version.
    ///
    /// # Errors
    /// As [`Dataset::open`].
    pub async fn at(&self, version: &Version, deadline: Deadline) -> Result<Dataset> {
        match version {
            Version::Latest => Home::newest(&self.place, Some(self.entry.clone()), deadline).await,
            _ => Home::at(&self.place, version, deadline).await,
        }
    }

    /// Whether the error of opening a dataset says that there is one, though it cannot be opened so.
    pub fn is_there(error: &Error) -> bool {
        error.hint_text().is_some_and(|hint| [NAME_LOG, CREATE_AGAIN].contains(&hint))
    }

    /// What this version holds.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Its entry in the log.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Its number.
    pub fn version(&self) -> u64 {
        self.entry.n
    }

    /// The store that it lies in.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.place.store
    }

    /// The store of a base, by its number in [`Snapshot::bases`]; number 0 is the dataset itself.
    ///
    /// # Errors
    /// `Corrupt` if there is no such base; those of [`sapwood_store::open_store`].
    pub fn base(&self, base: u32) -> Result<Arc<dyn Store>> {
        self.place.base(&self.snapshot, base)
    }

    /// Says which store a base is, in place of the one that its URL names.
    pub fn give_base(&self, url: &str, store: Arc<dyn Store>) {
        self.place.bases.give(url, store);
    }

    /// Says how the stores of bases are opened: by [`OpenOptions::for_base`]. Default: as the environment says.
    pub fn open_bases_with(&self, options: OpenOptions) {
        self.place.bases.open_with(options);
    }

    /// The entries of the log after number `after`, up to the newest.
    ///
    /// # Errors
    /// Those of the log.
    pub async fn log(&self, after: u64, deadline: Deadline) -> Result<Vec<Entry>> {
        let log = &*self.place.log;
        let newest = log::newest_after(log, self.entry.n, deadline).await?;
        let last = newest.map_or(self.entry.n, |entry| entry.n);
        log::range(log, after + 1, last, deadline).await
    }
}

impl Home {
    fn new(store: Arc<dyn Store>, log: Option<Arc<dyn Log>>) -> Home {
        let log = log.unwrap_or_else(|| Arc::new(ObjectLog::new(Arc::clone(&store))));
        Home { store, log, bases: Bases::default() }
    }

    fn url(&self) -> &str {
        self.store.url()
    }

    /// The newest version; `known` is one that is there.
    async fn newest(place: &Arc<Home>, known: Option<Entry>, deadline: Deadline) -> Result<Dataset> {
        let sure = known.is_some();
        let known = match known {
            Some(entry) => Some(entry),
            None => log::hint(&*place.log, deadline).await?,
        };
        let Some(known) = known else {
            let entry = place.search(deadline).await?;
            return Home::load(place, entry, deadline).await;
        };
        let newer = log::newest_after(&*place.log, known.n, deadline);
        match join(newer, place.snapshot(known.snapshot, deadline)).await {
            (Ok(Some(entry)), _) => Home::load(place, entry, deadline).await,
            (Ok(None), Ok(snapshot)) => {
                Ok(Dataset { place: Arc::clone(place), entry: known, snapshot: Arc::new(snapshot), sure })
            }
            // A hint may be of another time, or dataset.
            (Ok(None), Err(error)) if !sure && error.kind() == ErrorKind::NotFound => {
                let entry = place.search(deadline).await?;
                Home::load(place, entry, deadline).await
            }
            (Err(error), _) | (_, Err(error)) => Err(error),
        }
    }

    /// The newest entry, without a hint.
    async fn search(&self, deadline: Deadline) -> Result<Entry> {
        if let Some(entry) = log::newest_after(&*self.log, 0, deadline).await? {
            return Ok(entry);
        }
        let format = Format::read(&*self.store, deadline).await?;
        let missing = |message: &str| Error::new(ErrorKind::NotFound, message).url(self.url());
        let here = self.log.url() == self.store.url();
        Err(match format {
            None => missing("there is no dataset here"),
            Some(format) if format.log_elsewhere && here => {
                missing("the log of this dataset is not in its store").hint(NAME_LOG)
            }
            Some(format) if !format.log_elsewhere && !here => {
                missing("the log of this dataset is in its store").hint("open it without another log")
            }
            Some(_) => {
                missing("the dataset here has no version: it was not created to the end").hint(CREATE_AGAIN)
            }
        })
    }

    async fn at(place: &Arc<Home>, version: &Version, deadline: Deadline) -> Result<Dataset> {
        let missing = |message: String| Error::new(ErrorKind::Missing, message).url(place.url());
        let entry = match version {
            Version::Number(number) => log::read(&*place.log, (*number).max(1), deadline)
                .await?
                .filter(|entry| entry.n == *number)
                .ok_or_else(|| missing(format!("the dataset has no version {number}")))?,
            Version::Tag(name) => {
                let tag = place.tag(name, deadline).await?;
                let tag = tag.ok_or_else(|| missing(format!("the dataset has no tag '{name}'")))?;
                log::range(&*place.log, tag.version, tag.version, deadline)
                    .await?
                    .pop()
                    .ok_or_else(|| missing(format!("the tag '{name}' is of a version that is not there")))?
            }
            Version::Time(time) => {
                let tip = place.tip(deadline).await?;
                let early = |entry: &Entry| entry.time_ms <= *time;
                let last = log::last_where(&*place.log, (1, tip.n), early, deadline).await?;
                last.ok_or_else(|| missing("the dataset was not there at that time".to_owned()))?
            }
            Version::Latest => place.tip(deadline).await?,
        };
        Home::load(place, entry, deadline).await
    }

    /// The newest entry.
    async fn tip(&self, deadline: Deadline) -> Result<Entry> {
        // A hint that is wrong must not decide what is kept: the entry itself is read.
        let hint = log::hint(&*self.log, deadline).await?.map_or(0, |entry| entry.n);
        let known = match hint {
            0 => None,
            n => log::read(&*self.log, n, deadline).await?,
        };
        let Some(known) = known else { return self.search(deadline).await };
        Ok(log::newest_after(&*self.log, known.n, deadline).await?.unwrap_or(known))
    }

    /// The dataset at an entry that was read.
    async fn load(place: &Arc<Home>, entry: Entry, deadline: Deadline) -> Result<Dataset> {
        let Some(snapshot) = found(place.snapshot(entry.snapshot, deadline).await)? else {
            return Err(place.gone(&entry, deadline).await?);
        };
        Ok(Dataset { place: Arc::clone(place), entry, snapshot: Arc::new(snapshot), sure: true })
    }

    /// Why a version has no snapshot: it expired, or the object is lost.
    async fn gone(&self, entry: &Entry, deadline: Deadline) -> Result<Error> {
        let kept = entry.n >= self.tip(deadline).await?.oldest
            || self.tags_since(None, deadline).await?.iter().any(|tag| tag.version == entry.n);
        Ok(match kept {
            true => Error::corrupt(format!("the snapshot of version {} is lost", entry.n))
                .url(record::url_of(&*self.store, &keys::snapshot(entry.snapshot)))
                .hint("other versions can be read; nothing is deleted until it is there again"),
            false => Error::new(ErrorKind::Missing, format!("version {} is there no more", entry.n))
                .url(self.url())
                .hint("it expired; tags keep versions"),
        })
    }

    async fn snapshot(&self, id: Id, deadline: Deadline) -> Result<Snapshot> {
        let key = keys::snapshot(id);
        let object = self.store.get(&key, None, deadline).await?;
        let decoded = Snapshot::decode(&object).and_then(|snapshot| match snapshot.id == id {
            true => Ok(snapshot),
            false => Err(Error::corrupt(format!("the snapshot {id} says that it is {}", snapshot.id))),
        });
        decoded.map_err(|error| error.url(record::url_of(&*self.store, &key)))
    }
}
