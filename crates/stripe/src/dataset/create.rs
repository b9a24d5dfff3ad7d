//! How a dataset begins.

use super::commit::now_ms;
use super::{Dataset, Home, Version, probe};
use crate::log::{self, Claim, Entry, Log};
use crate::record::{self, found, from_json, to_json};
use crate::{Id, Kind, Made, Snapshot, Used, keys, seal, unseal};
use sapwood_core::{Deadline, Error, Result};
use sapwood_store::{CreateOutcome, Store};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a dataset says of itself, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Format {
    /// Its name, which no other dataset has; copies keep it.
    pub dataset: Id,
    /// Path of the tree.
    pub tree: String,
    /// The log is not in the store of the dataset.
    pub log_elsewhere: bool,
    /// Name and version of what created it.
    pub tool: String,
}

impl Format {
    /// That of the dataset in a store, if there is one.
    ///
    /// # Errors
    /// Those of the store, and of an object that is damaged.
    pub async fn read(store: &dyn Store, deadline: Deadline) -> Result<Option<Format>> {
        let Some(object) = found(store.get(keys::FORMAT, None, deadline).await)? else { return Ok(None) };
        let read =
            unseal(Kind::Format, &object).and_then(|json| from_json(&json, "a description of a dataset"));
        read.map(Some).map_err(|error| error.url(record::url_of(store, keys::FORMAT)))
    }

    /// Writes it; the one that is there, if there is one already.
    pub(super) async fn write(&self, store: &dyn Store, deadline: Deadline) -> Result<Format> {
        let object = seal(Kind::Format, &to_json(self)?);
        for _ in 0..4 {
            if let CreateOutcome::Done = store.create(keys::FORMAT, object.clone(), deadline).await? {
                return Ok(self.clone());
            }
            if let Some(format) = Format::read(store, deadline).await? {
                return Ok(format);
            }
        }
        Err(Error::unsupported("the description of the dataset was neither written nor refused")
            .url(store.url()))
    }
}

impl Dataset {
    /// Creates a dataset without products and entries: version 1. What a creation that was cut off left is taken up.
    ///
    /// # Errors
    /// `Usage` if there is one already; `Unsupported` if the store cannot hold one ([`probe`]); those of the store.
    pub async fn create(
        store: Arc<dyn Store>,
        log: Option<Arc<dyn Log>>,
        tree: &str,
        made: Made,
        deadline: Deadline,
    ) -> Result<Dataset> {
        let exists = |url: &str| {
            Err(Error::usage("there is a dataset already")
                .url(url.to_owned())
                .hint("add to it, or choose another place"))
        };
        if log::read(&*log_of(&store, log.as_ref()), 1, deadline).await?.is_some() {
            return exists(store.url());
        }
        probe(&*store, deadline).await?;
        let new = Format {
            dataset: Id::random(),
            tree: tree.to_owned(),
            log_elsewhere: log.is_some(),
            tool: made.tool.clone(),
        };
        let format = new.write(&*store, deadline).await?;
        if format.tree != tree || format.log_elsewhere != log.is_some() {
            return exists(store.url());
        }
        let place = Arc::new(Home::new(store, log));
        let made = Made { operation: "create".into(), time_ms: now_ms(), ..made };
        let snapshot = Snapshot {
            id: Id::random(),
            parent: None,
            tree: tree.to_owned(),
            schemas: Vec::new(),
            products: Vec::new(),
            segments: Vec::new(),
            bases: Vec::new(),
            used: Used::default(),
            jobs: BTreeMap::new(),
            made: made.clone(),
            unknown: 0,
        };
        place.store.put(&keys::snapshot(snapshot.id), snapshot.encode()?, deadline).await?;
        let entry = Entry {
            n: 1,
            snapshot: snapshot.id,
            parent: 0,
            operation: made.operation,
            what: Entry::words(tree.to_owned()),
            who: made.who,
            job: made.job,
            commit: Id::random(),
            time_ms: made.time_ms,
            oldest: 1,
        };
        match log::claim(&*place.log, &entry, deadline).await? {
            Claim::Theirs(_) => exists(place.url()),
            Claim::Ours => {
                place.advise(&entry, deadline).await;
                Ok(Dataset { place, entry, snapshot: Arc::new(snapshot), sure: true })
            }
        }
    }

    /// The name of the dataset in a store, if there is one.
    ///
    /// # Errors
    /// Those of the store, and of an object that is damaged.
    pub async fn name(store: &dyn Store, deadline: Deadline) -> Result<Option<Id>> {
        Ok(Format::read(store, deadline).await?.map(|format| format.dataset))
    }

    /// The same; where there is none, a name is given to one that is to be created, whose log will be elsewhere: it may
    /// be found there by this name.
    ///
    /// # Errors
    /// `Unsupported` if the store cannot hold a dataset; those of the store, and of an object that is damaged.
    pub async fn name_for(store: &dyn Store, tree: &str, tool: &str, deadline: Deadline) -> Result<Id> {
        if let Some(name) = Dataset::name(store, deadline).await? {
            return Ok(name);
        }
        probe(store, deadline).await?;
        let (dataset, tree, tool) = (Id::random(), tree.to_owned(), tool.to_owned());
        Ok(Format { dataset, tree, log_elsewhere: true, tool }.write(store, deadline).await?.dataset)
    }

    /// Opens the dataset in a store, or creates it where there is none.
    ///
    /// # Errors
    /// As [`Dataset::open`] and [`Dataset::create`]; `Usage` if the one there is of another tree.
    pub async fn open_or_create(
        store: Arc<dyn Store>,
        log: Option<Arc<dyn Log>>,
        tree: &str,
        made: Made,
        deadline: Deadline,
    ) -> Result<Dataset> {
        let there = Dataset::open(Arc::clone(&store), log.clone(), &Version::Latest, deadline).await;
        match found(there)? {
            None => Dataset::create(store, log, tree, made, deadline).await,
            Some(dataset) if dataset.snapshot.tree == tree => Ok(dataset),
            Some(dataset) => {
                let message = format!("the dataset is of the tree '{}', not '{tree}'", dataset.snapshot.tree);
                Err(Error::usage(message).url(dataset.place.url()))
            }
        }
    }
}

fn log_of(store: &Arc<dyn Store>, log: Option<&Arc<dyn Log>>) -> Arc<dyn Log> {
    log.map_or_else(|| Arc::new(log::ObjectLog::new(Arc::clone(store))) as Arc<dyn Log>, Arc::clone)
}
