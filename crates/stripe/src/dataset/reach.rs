//! What versions refer to: the stripe lists of a snapshot, and the objects of these.

use super::{Dataset, Home};
use crate::record::url_of;
use crate::{Id, ObjectRef, Product, Segment, Snapshot, StripeList, keys};
use futures::{StreamExt, TryStreamExt, stream};
use sapwood_core::{ByteRange, Deadline, Result};
use std::collections::{BTreeSet, HashSet};

/// Objects that are read at once.
const TOGETHER: usize = 16;

/// Objects below the dataset itself, by name.
#[derive(Debug, Default)]
pub(super) struct Reached {
    pub(super) snapshots: HashSet<Id>,
    pub(super) lists: HashSet<Id>,
    pub(super) data: HashSet<Id>,
}

impl Reached {
    pub(super) fn has(&self, key: &str) -> bool {
        let kept = if key.starts_with(keys::SNAPSHOTS) {
            &self.snapshots
        } else if key.starts_with(keys::LISTS) {
            &self.lists
        } else {
            &self.data
        };
        // What has no name of ours is not ours to delete.
        keys::id_in(key).is_none_or(|id| kept.contains(&id))
    }
}

impl Dataset {
    /// The stripe list of a product in a segment; None where it has none.
    ///
    /// # Errors
    /// Those of the store, and of lists that are damaged, with their URL.
    pub async fn list(
        &self,
        product: &Product,
        segment: &Segment,
        deadline: Deadline,
    ) -> Result<Option<StripeList>> {
        self.place.list(&self.snapshot, product, segment, deadline).await
    }
}

impl Home {
    pub(super) async fn list(
        &self,
        snapshot: &Snapshot,
        product: &Product,
        segment: &Segment,
        deadline: Deadline,
    ) -> Result<Option<StripeList>> {
        let Some(list) = segment.lists.get(&product.id) else { return Ok(None) };
        let (store, key) = (self.base(snapshot, list.base)?, keys::list(list.id));
        let range = ByteRange::new(list.offset, list.len)?;
        let section = store.get(&key, Some(range), deadline).await?;
        let decoded = list
            .verify(&section)
            .and_then(|()| StripeList::decode(&section, product.branches.len(), segment.entries));
        decoded.map(Some).map_err(|error| error.inside(list.offset).url(url_of(&*store, &key)))
    }

    /// All that these snapshots refer to. A snapshot of `must` has to be there, others may be missing.
    pub(super) async fn reach(
        &self,
        snapshots: &BTreeSet<Id>,
        must: &BTreeSet<Id>,
        deadline: Deadline,
    ) -> Result<Reached> {
        let mut reached = Reached { snapshots: snapshots.iter().copied().collect(), ..Reached::default() };
        let mut seen = HashSet::new();
        let ids: Vec<Id> = snapshots.iter().copied().collect();
        let mut each = stream::iter(ids)
            .map(|id| async move { (id, self.snapshot(id, deadline).await) })
            .buffer_unordered(TOGETHER);
        while let Some((id, read)) = each.next().await {
            let read = if must.contains(&id) { Some(read?) } else { crate::record::found(read)? };
            let Some(snapshot) = read else { continue };
            let wanted = wanted(&snapshot, &mut seen, &mut reached);
            let (snapshot, reached) = (&snapshot, &mut reached);
            // By their places: references in streams keep futures from being sent.
            stream::iter(wanted)
                .map(|(product, segment)| async move {
                    match snapshot.products.get(product).zip(snapshot.segments.get(segment)) {
                        Some((product, segment)) => self.list(snapshot, product, segment, deadline).await,
                        None => Ok(None),
                    }
                })
                .buffer_unordered(TOGETHER)
                .try_for_each(|list| {
                    let objects = list.iter().flat_map(|list| list.objects());
                    reached.data.extend(objects.filter(|name| name.base == 0).map(|name| name.id));
                    std::future::ready(Ok(()))
                })
                .await?;
        }
        Ok(reached)
    }
}

/// Notes what a snapshot names itself; its stripe lists that were not seen in another are to be read: places of product
/// and segment.
fn wanted(
    snapshot: &Snapshot,
    seen: &mut HashSet<(u32, Id, u64)>,
    reached: &mut Reached,
) -> Vec<(usize, usize)> {
    let own = |object: &&ObjectRef| object.base == 0;
    let mut wanted = Vec::new();
    for (place, segment) in snapshot.segments.iter().enumerate() {
        let parts = segment.events.iter().chain(&segment.auxiliary);
        reached.data.extend(parts.filter(own).map(|part| part.id));
        reached.lists.extend(segment.lists.values().filter(own).map(|list| list.id));
        for (number, product) in snapshot.products.iter().enumerate() {
            let list = segment.lists.get(&product.id);
            if list.is_some_and(|list| seen.insert((list.base, list.id, list.offset))) {
                wanted.push((number, place));
            }
        }
    }
    wanted
}
