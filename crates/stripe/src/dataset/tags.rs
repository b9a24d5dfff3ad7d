//! Tags: names of versions, given once and kept. What a tag names does not expire.

use super::{Dataset, Home};
use crate::log;
use crate::record;
use crate::{Id, keys};
use futures::future::try_join;
use futures::{StreamExt, TryStreamExt, stream};
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

/// Tags that are read at once.
pub(super) const TOGETHER: usize = 16;
/// Longest name.
const LONGEST: usize = 100;

/// A name of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// The name.
    pub name: String,
    /// Number of the version.
    pub version: u64,
    /// By which who wrote it knows it.
    pub commit: Id,
}

/// That a tag may have this name.
pub(super) fn check(name: &str) -> Result<()> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._=+-".contains(&byte));
    let number = name.strip_prefix('v').is_some_and(|digits| digits.parse::<u64>().is_ok());
    let legal = plain && !name.is_empty() && name.len() <= LONGEST && !name.starts_with('.');
    match legal && !number && name != "latest" {
        true => Ok(()),
        false => Err(Error::usage(format!("'{}' cannot be the name of a tag", name.escape_debug()))
            .hint("letters, digits and ._=+- are good, unless they are like v12, which means version 12")),
    }
}

impl Dataset {
    /// Names this version. The name cannot be given again, not even after the tag was removed.
    ///
    /// # Errors
    /// `Usage` if the name is taken, or was, or is none; `Missing` if the version has expired; those of the store.
    pub async fn tag(&self, name: &str, deadline: Deadline) -> Result<Tag> {
        check(name)?;
        let store = &*self.place.store;
        let taken = |what: &str| {
            Err(Error::usage(format!("the tag '{name}' {what}")).url(store.url()).hint("choose another name"))
        };
        self.be_sure(deadline).await?;
        let tag = Tag { name: name.to_owned(), version: self.entry.n, commit: Id::random() };
        if !record::create(store, &keys::tag(name), &tag, deadline).await? {
            return match self.place.tag(name, deadline).await? {
                Some(other) if other.version == tag.version => Ok(other),
                Some(other) => taken(&format!("is that of version {}", other.version)),
                None => taken("was removed, and is not given again"),
            };
        }
        // Who expires versions looks for tags after it has said so: either sees the other.
        if self.entry.n < self.place.tip(deadline).await?.oldest && !self.held_by_tag(name, deadline).await? {
            self.untag(name, deadline).await?;
            let message = format!("version {} has expired and cannot be given a tag", self.entry.n);
            return Err(Error::new(ErrorKind::Missing, message).url(store.url()));
        }
        Ok(tag)
    }

    /// Whether another tag than `name` is of this version, too.
    pub(super) async fn held_by_tag(&self, name: &str, deadline: Deadline) -> Result<bool> {
        let tags = self.tags(deadline).await?;
        Ok(tags.iter().any(|tag| tag.version == self.entry.n && tag.name != name))
    }

    /// Removes a tag; its name is not given again.
    ///
    /// # Errors
    /// `Missing` if there is no such tag; those of the store.
    pub async fn untag(&self, name: &str, deadline: Deadline) -> Result<()> {
        check(name)?;
        let tag = self.place.tag(name, deadline).await?;
        let tag = tag.ok_or_else(|| {
            let message = format!("the dataset has no tag '{name}'");
            Error::new(ErrorKind::Missing, message).url(self.place.url())
        })?;
        record::create(&*self.place.store, &keys::gone(name), &tag, deadline).await.map(drop)
    }

    /// All tags, by name.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn tags(&self, deadline: Deadline) -> Result<Vec<Tag>> {
        self.place.tags_since(None, deadline).await
    }
}

impl Home {
    /// A tag, unless it was removed.
    pub(super) async fn tag(&self, name: &str, deadline: Deadline) -> Result<Option<Tag>> {
        check(name)?;
        let (tag, gone) = (keys::tag(name), keys::gone(name));
        let store = &*self.store;
        let (tag, gone) =
            try_join(record::read::<Tag>(store, &tag, deadline), record::read::<Tag>(store, &gone, deadline))
                .await?;
        Ok(tag.filter(|_| gone.is_none()))
    }

    /// All tags, and those that were removed after a moment.
    pub(super) async fn tags_since(
        &self,
        moment: Option<SystemTime>,
        deadline: Deadline,
    ) -> Result<Vec<Tag>> {
        let store = &*self.store;
        let (tags, gone) =
            try_join(store.list(keys::TAGS, deadline), store.list(keys::GONE, deadline)).await?;
        let old = |removed: SystemTime| moment.is_none_or(|moment| removed < moment);
        let gone: BTreeSet<&str> = (gone.iter().filter(|one| old(one.modified)))
            .filter_map(|one| one.key.strip_prefix(keys::GONE))
            .collect();
        let keys: Vec<String> = (tags.iter().map(|one| one.key.clone()))
            .filter(|key| key.strip_prefix(keys::TAGS).is_some_and(|name| !gone.contains(name)))
            .collect();
        let read = stream::iter(keys).map(|key| async move {
            let tag = record::read::<Tag>(store, &key, deadline).await?;
            tag.ok_or_else(|| {
                Error::corrupt("a tag is in the list, and not in the store").url(record::url_of(store, &key))
            })
        });
        read.buffered(TOGETHER).try_collect().await
    }

    /// The snapshots of versions.
    pub(super) async fn snapshots_of(
        &self,
        versions: BTreeSet<u64>,
        deadline: Deadline,
    ) -> Result<BTreeMap<u64, Id>> {
        let read = stream::iter(versions).map(|n| async move {
            let entry = log::range(&*self.log, n, n, deadline).await?.pop();
            let missing = || Error::corrupt(format!("entry {n} of the log is missing")).url(self.log.url());
            entry.map(|entry| (n, entry.snapshot)).ok_or_else(missing)
        });
        read.buffered(TOGETHER).try_collect().await
    }
}
