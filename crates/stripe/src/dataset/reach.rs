//! The objects that versions refer to: the stripe lists of a snapshot, and the objects in these.

use super::objects::list_sections;
use super::storage::Storage;
use crate::{Id, ListIndex, ListSections, ObjectRef, Snapshot, StripeList, keys, read_lists};
use futures::{StreamExt, TryStreamExt, stream};
use sapwood_core::{Deadline, Result};
use std::collections::{BTreeSet, HashSet};

/// Objects to read at once.
const TOGETHER: usize = 16;

/// Objects below the dataset itself, by name.
#[derive(Debug, Default)]
pub(super) struct ReachableObjects {
    pub(super) snapshots: HashSet<Id>,
    pub(super) lists: HashSet<Id>,
    pub(super) data: HashSet<Id>,
}

impl ReachableObjects {
    pub(super) fn has(&self, key: &str) -> bool {
        let kept = if key.starts_with(keys::SNAPSHOTS) {
            &self.snapshots
        } else if key.starts_with(keys::LISTS) {
            &self.lists
        } else {
            &self.data
        };
        // An object whose name is not ours must not be deleted.
        keys::id_in(key).is_none_or(|id| kept.contains(&id))
    }
}

impl Storage {
    /// Reads stripe lists, with one request for each object that holds some, and passes them to `each`.
    pub(super) async fn each_list(
        &self,
        snapshot: &Snapshot,
        sections: ListSections,
        deadline: Deadline,
        each: &mut (dyn FnMut(ListIndex, Result<StripeList>) -> Result<()> + Send),
    ) -> Result<()> {
        let mut read = stream::iter(sections)
            .map(|((base, _), wanted)| async move {
                read_lists(&*self.base(snapshot, base)?, snapshot, wanted, deadline).await
            })
            .buffer_unordered(TOGETHER);
        while let Some(lists) = read.try_next().await? {
            lists.into_iter().try_for_each(|(index, list)| each(index, list))?;
        }
        Ok(())
    }

    /// Everything that these snapshots refer to. Snapshots in `must` have to exist, others may be missing.
    ///
    /// # Errors
    /// `Unsupported` if one has unknown features, and so may refer to more; those of the store.
    pub(super) async fn reach(
        &self,
        snapshots: &BTreeSet<Id>,
        must: &BTreeSet<Id>,
        deadline: Deadline,
    ) -> Result<ReachableObjects> {
        let mut reached = ReachableObjects {
            snapshots: snapshots.iter().copied().collect(),
            ..ReachableObjects::default()
        };
        let mut seen = HashSet::new();
        let ids: Vec<Id> = snapshots.iter().copied().collect();
        let mut each = stream::iter(ids)
            .map(|id| async move { (id, self.snapshot(id, deadline).await) })
            .buffer_unordered(TOGETHER);
        while let Some((id, read)) = each.next().await {
            let read = if must.contains(&id) { Some(read?) } else { crate::record::found(read)? };
            let Some(snapshot) = read else { continue };
            snapshot.check_writable().map_err(|error| error.url(self.url()))?;
            reached.note(&snapshot);
            let sections = list_sections(&snapshot, |_, list| seen.insert((list.base, list.id, list.offset)));
            let data = &mut reached.data;
            self.each_list(&snapshot, sections, deadline, &mut |_, list| {
                data.extend(list?.objects().iter().filter(|name| name.base == 0).map(|name| name.id));
                Ok(())
            })
            .await?;
        }
        Ok(reached)
    }
}

impl ReachableObjects {
    /// Adds what a snapshot refers to directly.
    fn note(&mut self, snapshot: &Snapshot) {
        let own = |object: &&ObjectRef| object.base == 0;
        for segment in &snapshot.segments {
            let parts = segment.events.iter().chain(&segment.auxiliary);
            self.data.extend(parts.filter(own).map(|part| part.id));
            self.lists.extend(segment.lists.values().filter(own).map(|list| list.id));
        }
    }
}
