//! Which entries of a tree are those of a dataset: by the events that they are, or by their places.

use super::cutting::Order;
use super::identity;
use super::options::{AddOptions, WriteOptions};
use bytes::Bytes;
use sapwood_core::{Call, Error, Result};
use sapwood_rewrite::repack::input::InputTree;
use sapwood_stripe::{Dataset, EventIndex, ObjectRef, Snapshot, keys};
use sapwood_table::pool::wait;

/// For each segment, which entries of the tree are its events.
pub(super) fn orders(
    dataset: &Dataset,
    tree: &InputTree,
    path: &str,
    what: &AddOptions,
    options: &WriteOptions,
    call: &mut Call<'_>,
) -> Result<Vec<Order>> {
    let snapshot = dataset.snapshot();
    let (entries, url) = (tree.meta.entries, tree.file.url());
    let total: u64 = snapshot.segments.iter().map(|segment| segment.entries).sum();
    if what.by_position {
        if entries != total {
            let message = format!("the tree has {entries} entries, the dataset {total}");
            return Err(Error::usage(message).url(url));
        }
        return Ok(consecutive(snapshot));
    }
    let unknown = |whose: &str| {
        Error::usage(format!("nothing says which events {whose} has"))
            .url(url)
            .hint("if its entries are those of the dataset, in the same order, say so: --by-position")
    };
    let read = tree.file.tree(path, None, call)?;
    let events = identity::events(&read, &options.read(), call)?.ok_or_else(|| unknown("the tree"))?;
    let known = events_of(dataset, call)?.ok_or_else(|| unknown("the dataset"))?;
    let Some(order) = events.order_of(&known).map_err(|error| error.url(url))? else {
        return Ok(consecutive(snapshot));
    };
    let mut order = order.into_iter().map(u64::from);
    let orders = snapshot.segments.iter().map(|segment| {
        let own: Vec<u64> =
            order.by_ref().take(usize::try_from(segment.entries).unwrap_or(usize::MAX)).collect();
        let first = own.first().copied().unwrap_or(0);
        let consecutive = own.iter().zip(first..).all(|(&place, next)| place == next);
        if consecutive { Order::From(first) } else { Order::Each(own.into()) }
    });
    Ok(orders.collect())
}

/// The entries of the segments one after the other.
fn consecutive(snapshot: &Snapshot) -> Vec<Order> {
    let mut next = 0;
    let orders = snapshot.segments.iter().map(|segment| {
        let first = next;
        next += segment.entries;
        Order::From(first)
    });
    orders.collect()
}

/// The events of all entries of a dataset; none if it is not known of some.
pub(super) fn events_of(dataset: &Dataset, call: &mut Call<'_>) -> Result<Option<EventIndex>> {
    let (mut runs, mut blocks, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for segment in &dataset.snapshot().segments {
        let Some(place) = &segment.events else { return Ok(None) };
        let object = object(dataset, place, call)?;
        for event in EventIndex::decode(&object, segment.entries)?.iter() {
            runs.push(event.run);
            blocks.push(event.lumi);
            events.push(event.event);
        }
    }
    EventIndex::new(runs, blocks, events).map(Some)
}

/// A whole object of a dataset, as it was written.
///
/// # Errors
/// Those of the store; `Truncated` or `Checksum` if it is another one now.
fn object(dataset: &Dataset, place: &ObjectRef, call: &mut Call<'_>) -> Result<Bytes> {
    let (store, key) = (dataset.base(place.base)?, keys::data(place.id));
    let object = wait(store.get(&key, None, call.deadline()), call)?;
    place.verify(&object).map_err(|error| error.url(format!("{}/{key}", store.url())))?;
    Ok(object)
}
