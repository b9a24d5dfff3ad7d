//! Creates datasets.

use super::storage::Storage;
use super::time::now_ms;
use super::{Dataset, Format, Version, probe};
use crate::log::{self, ClaimOutcome, Log, LogEntry};
use crate::record::found;
use crate::{HighestIds, Id, Provenance, Snapshot, keys};
use sapwood_core::{Deadline, Error, Result};
use sapwood_store::Store;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Dataset {
    /// Creates a dataset without products and entries: version 1. Resumes an interrupted creation.
    ///
    /// # Errors
    /// `Usage` if one exists already; `Unsupported` if the store cannot hold one ([`probe`]); those of the
    /// store.
    pub async fn create(
        store: Arc<dyn Store>,
        log: Option<Arc<dyn Log>>,
        tree: &str,
        made: Provenance,
        deadline: Deadline,
    ) -> Result<Dataset> {
        let exists = |url: &str| {
            Err(Error::usage("a dataset already exists here")
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
        let storage = Arc::new(Storage::new(store, log));
        let made = Provenance { operation: "create".into(), time_ms: now_ms(), ..made };
        let snapshot = Snapshot {
            id: Id::random(),
            parent: None,
            tree: tree.to_owned(),
            schemas: Vec::new(),
            products: Vec::new(),
            segments: Vec::new(),
            bases: Vec::new(),
            used: HighestIds::default(),
            jobs: BTreeMap::new(),
            made: made.clone(),
            unknown: 0,
        };
        storage.store.put(&keys::snapshot(snapshot.id), snapshot.encode()?, deadline).await?;
        let entry = LogEntry::new((1, snapshot.id), made, tree.to_owned(), Id::random(), 1);
        match log::claim(&*storage.log, &entry, deadline).await? {
            ClaimOutcome::Theirs(_) => exists(storage.url()),
            ClaimOutcome::Ours => {
                storage.advise(&entry, deadline).await;
                Ok(Dataset { storage, entry, snapshot: Arc::new(snapshot), sure: true })
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

    /// The same; if there is none, it gets a name before it is created. Its log will be elsewhere, and may
    /// find it by this name.
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
    /// As [`Dataset::open`] and [`Dataset::create`]; `Usage` if the existing one has another tree.
    pub async fn open_or_create(
        store: Arc<dyn Store>,
        log: Option<Arc<dyn Log>>,
        tree: &str,
        made: Provenance,
        deadline: Deadline,
    ) -> Result<Dataset> {
        let there = Dataset::open(Arc::clone(&store), log.clone(), &Version::Latest, deadline).await;
        match found(there)? {
            None => Dataset::create(store, log, tree, made, deadline).await,
            Some(dataset) if dataset.snapshot.tree == tree => Ok(dataset),
            Some(dataset) => {
                let message = format!("the dataset is of the tree '{}', not '{tree}'", dataset.snapshot.tree);
                Err(Error::usage(message).url(dataset.storage.url()))
            }
        }
    }
}

fn log_of(store: &Arc<dyn Store>, log: Option<&Arc<dyn Log>>) -> Arc<dyn Log> {
    log.map_or_else(|| Arc::new(log::ObjectLog::new(Arc::clone(store))) as Arc<dyn Log>, Arc::clone)
}
