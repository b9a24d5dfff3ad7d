//! Reads objects that a snapshot refers to: stripe lists, and whole objects.

use crate::record::url_of;
use crate::{Id, ObjectRef, Snapshot, StripeList, keys};
use bytes::Bytes;
use sapwood_core::{ByteRange, Deadline, Error, Result};
use sapwood_store::Store;
use std::collections::BTreeMap;

impl ObjectRef {
    /// Reads the whole data object, and verifies it.
    ///
    /// # Errors
    /// Those of the store; `Truncated` or `Checksum` if the object changed.
    pub async fn read_whole(&self, store: &dyn Store, deadline: Deadline) -> Result<Bytes> {
        let key = keys::data(self.id);
        let object = store.get(&key, None, deadline).await?;
        self.verify(&object).map_err(|error| error.url(url_of(store, &key)))?;
        Ok(object)
    }
}

/// Names a stripe list: the indices of a product and a segment in a snapshot. References would keep futures from being
/// `Send`.
pub type ListIndex = (usize, usize);

/// Stripe lists, by the object (base and name) that holds them.
pub type ListSections = BTreeMap<(u32, Id), Vec<ListIndex>>;

/// The wanted stripe lists of a snapshot, by object.
pub(super) fn list_sections(
    snapshot: &Snapshot,
    mut wanted: impl FnMut(ListIndex, &ObjectRef) -> bool,
) -> ListSections {
    let mut sections = ListSections::new();
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

/// Reads stripe lists of one object with one request; `store` is the base that holds it.
///
/// # Errors
/// Those of the store; those of single lists are in the result.
pub async fn read_lists(
    store: &dyn Store,
    snapshot: &Snapshot,
    wanted: Vec<ListIndex>,
    deadline: Deadline,
) -> Result<Vec<(ListIndex, Result<StripeList>)>> {
    let known = wanted.into_iter().filter_map(|(number, index)| {
        let (product, segment) = (snapshot.products.get(number)?, snapshot.segments.get(index)?);
        let list = segment.lists.get(&product.id)?;
        Some(((number, index), list, (product.branches.len(), segment.entries)))
    });
    let known: Vec<_> = known.collect();
    let Some((_, first, _)) = known.first() else { return Ok(Vec::new()) };
    let start = known.iter().map(|(_, list, _)| list.offset).min().unwrap_or_default();
    let end = known.iter().map(|(_, list, _)| list.offset.saturating_add(list.len)).max().unwrap_or(start);
    let key = keys::list(first.id);
    let bytes = store.get(&key, Some(ByteRange::new(start, end - start)?), deadline).await?;
    let url = url_of(store, &key);
    let lists = known.into_iter().map(|(pair, list, form)| {
        (pair, decode(&bytes, start, list, form).map_err(|error| error.url(url.clone())))
    });
    Ok(lists.collect())
}

/// A stripe list of a product with this many branches, in a segment with this many entries, within bytes that begin at
/// `start` in its object.
fn decode(
    bytes: &Bytes,
    start: u64,
    list: &ObjectRef,
    (branches, entries): (usize, u64),
) -> Result<StripeList> {
    let index = |number: u64| usize::try_from(number).ok().filter(|index| *index <= bytes.len());
    let begin = list.offset.checked_sub(start);
    let end = begin.and_then(|begin| begin.checked_add(list.len)).and_then(index);
    let section = begin.and_then(index).zip(end).map(|(begin, end)| bytes.slice(begin..end));
    let decoded = section
        .ok_or_else(|| Error::corrupt("a stripe list is shorter than it should be"))
        .and_then(|section| list.verify(&section).map(|()| section))
        .and_then(|section| StripeList::decode(&section, branches, entries));
    decoded.map_err(|error| error.inside(list.offset))
}
