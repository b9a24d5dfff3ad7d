//! Tags: names of versions, given once and kept. A tagged version does not expire.

use super::Dataset;
use super::version::{Tag, check_tag};
use crate::record;
use crate::{Id, keys};
use sapwood_core::{Deadline, Error, ErrorKind, Result};

impl Dataset {
    /// Tags this version. A name cannot be used again, not even after the tag was removed.
    ///
    /// # Errors
    /// `Usage` if the name is taken, was used before, or is invalid; `Missing` if the version has expired;
    /// those of the store.
    pub async fn tag(&self, name: &str, deadline: Deadline) -> Result<Tag> {
        check_tag(name)?;
        let store = &*self.storage.store;
        let taken = |what: &str| {
            Err(Error::usage(format!("the tag '{name}' {what}")).url(store.url()).hint("choose another name"))
        };
        self.be_sure(deadline).await?;
        let tag = Tag { name: name.to_owned(), version: self.entry.n, commit: Id::random() };
        if !record::create(store, &keys::tag(name), &tag, deadline).await? {
            return match self.storage.tag(name, deadline).await? {
                Some(other) if other.version == tag.version => Ok(other),
                Some(other) => taken(&format!("is on version {} already", other.version)),
                None => taken("was removed, and its name cannot be used again"),
            };
        }
        // A process that expires versions checks the tags after it has announced that: one of the two sees
        // the other.
        if self.entry.n < self.storage.tip(deadline).await?.oldest
            && !self.held_by_tag(name, deadline).await?
        {
            self.untag(name, deadline).await?;
            let message = format!("version {} has expired and cannot be given a tag", self.entry.n);
            return Err(Error::new(ErrorKind::Missing, message).url(store.url()));
        }
        Ok(tag)
    }

    /// Whether a tag other than `name` is on this version, too.
    pub(super) async fn held_by_tag(&self, name: &str, deadline: Deadline) -> Result<bool> {
        let tags = self.tags(deadline).await?;
        Ok(tags.iter().any(|tag| tag.version == self.entry.n && tag.name != name))
    }

    /// Removes a tag; its name cannot be used again.
    ///
    /// # Errors
    /// `Missing` if there is no such tag; those of the store.
    pub async fn untag(&self, name: &str, deadline: Deadline) -> Result<()> {
        check_tag(name)?;
        let tag = self.storage.tag(name, deadline).await?;
        let tag = tag.ok_or_else(|| {
            let message = format!("the dataset has no tag '{name}'");
            Error::new(ErrorKind::Missing, message).url(self.storage.url())
        })?;
        record::create(&*self.storage.store, &keys::gone(name), &tag, deadline).await.map(drop)
    }

    /// All tags, by name.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn tags(&self, deadline: Deadline) -> Result<Vec<Tag>> {
        self.storage.tags_since(None, deadline).await
    }
}
