//! The objects that versions refer to: the stripe lists of a snapshot, and the objects in these.

use super::Dataset;
use super::storage::Storage;
use crate::record::url_of;
use crate::{Id, ObjectRef, Product, Segment, Snapshot, StripeList, keys};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use sapwood_core::{ByteRange, Deadline, Error, Result};
use std::collections::{BTreeMap, BTreeSet, HashSet};

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

impl Dataset {
    /// The stripe list of a product in a segment; `None` if it has none.
    ///
    /// # Errors
    /// Those of the store, and of damaged lists, with their URL.
    pub async fn list(
        &self,
        product: &Product,
        segment: &Segment,
        deadline: Deadline,
    ) -> Result<Option<StripeList>> {
        self.storage.list(&self.snapshot, product, segment, deadline).await
    }
}

/// Indices of a product and a segment in a snapshot. References would keep futures from being `Send`.
pub(super) type Pair = (usize, usize);

/// Stripe lists, by the object (base and name) that holds them.
pub(super) type Sections = BTreeMap<(u32, Id), Vec<Pair>>;

/// The wanted stripe lists of a snapshot.
pub(super) fn sections(snapshot: &Snapshot, mut wanted: impl FnMut(Pair, &ObjectRef) -> bool) -> Sections {
    let mut sections = Sections::new();
    for (index, segment) in snapshot.segments.iter().enumerate() {
        for (number, product) in snapshot.products.iter().enumerate() {
            let pair = (number, index);
            if let Some(list) = segment.lists.get(&product.id).filter(|list| wanted(pair, list)) {
                sections.entry((list.base, list.id)).or_default().push(pair);
            }
        }
    }
    sections
}

/// A stripe list within bytes that begin at `start` in its object.
fn decode(
    bytes: &Bytes,
    start: u64,
    list: &ObjectRef,
    product: &Product,
    segment: &Segment,
) -> Result<StripeList> {
    let index = |number: u64| usize::try_from(number).ok().filter(|index| *index <= bytes.len());
    let begin = list.offset.checked_sub(start);
    let end = begin.and_then(|begin| begin.checked_add(list.len)).and_then(index);
    let section = begin.and_then(index).zip(end).map(|(begin, end)| bytes.slice(begin..end));
    let decoded = section
        .ok_or_else(|| Error::corrupt("a stripe list is shorter than it should be"))
        .and_then(|section| list.verify(&section).map(|()| section))
        .and_then(|section| StripeList::decode(&section, product.branches.len(), segment.entries));
    decoded.map_err(|error| error.inside(list.offset))
}

impl Storage {
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
        let decoded = decode(&section, list.offset, list, product, segment);
        decoded.map(Some).map_err(|error| error.url(url_of(&*store, &key)))
    }

    /// Stripe lists of one object, which are read with one request.
    pub(super) async fn lists(
        &self,
        snapshot: &Snapshot,
        (base, id): (u32, Id),
        wanted: Vec<Pair>,
        deadline: Deadline,
    ) -> Result<Vec<(Pair, Result<StripeList>)>> {
        let known = wanted.into_iter().filter_map(|(number, index)| {
            let (product, segment) = (snapshot.products.get(number)?, snapshot.segments.get(index)?);
            Some(((number, index), product, segment, segment.lists.get(&product.id)?))
        });
        let known: Vec<_> = known.collect();
        let start = known.iter().map(|(.., list)| list.offset).min().unwrap_or_default();
        let end = known.iter().map(|(.., list)| list.offset.saturating_add(list.len)).max().unwrap_or(start);
        let (store, key) = (self.base(snapshot, base)?, keys::list(id));
        let bytes = store.get(&key, Some(ByteRange::new(start, end - start)?), deadline).await?;
        let url = url_of(&*store, &key);
        let lists = known.into_iter().map(|(pair, product, segment, list)| {
            (pair, decode(&bytes, start, list, product, segment).map_err(|error| error.url(url.clone())))
        });
        Ok(lists.collect())
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
            let sections = sections(&snapshot, |_, list| seen.insert((list.base, list.id, list.offset)));
            let snapshot = &snapshot;
            let mut lists = stream::iter(sections)
                .map(|(object, wanted)| self.lists(snapshot, object, wanted, deadline))
                .buffer_unordered(TOGETHER);
            while let Some(lists) = lists.try_next().await? {
                for (_, list) in lists {
                    let list = list?;
                    let own = list.objects().iter().filter(|name| name.base == 0);
                    reached.data.extend(own.map(|name| name.id));
                }
            }
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
