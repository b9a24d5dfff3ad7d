//! Matches the entries of a tree with those of a dataset, by event or by position.

use super::cutting::EntryOrder;
use super::identity;
use super::options::{AddOptions, WriteOptions};
use sapwood_core::{Call, Error, Result};
use sapwood_rewrite::repack::input::InputTree;
use sapwood_stripe::{Dataset, EventIndex, Snapshot};
use sapwood_table::pool::wait;

/// For each segment, the entries of the tree that are its events.
pub(super) fn orders(
    dataset: &Dataset,
    tree: &InputTree,
    path: &str,
    what: &AddOptions,
    options: &WriteOptions,
    call: &mut Call<'_>,
) -> Result<Vec<EntryOrder>> {
    let snapshot = dataset.snapshot();
    let (entries, url) = (tree.record().entries, tree.file.url());
    let total: u64 = snapshot.segments.iter().map(|segment| segment.entries).sum();
    if what.by_position {
        if entries != total {
            let message = format!("the tree has {entries} entries, but the dataset has {total}");
            return Err(Error::usage(message).url(url));
        }
        return Ok(consecutive(snapshot));
    }
    let unknown = |whose: &str| {
        Error::usage(format!("the events of {whose} are unknown"))
            .url(url)
            .hint("use --by-position if the entries are the same, in the same order")
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
        if consecutive { EntryOrder::From(first) } else { EntryOrder::Each(own.into()) }
    });
    Ok(orders.collect())
}

/// The segments in the order of the tree.
fn consecutive(snapshot: &Snapshot) -> Vec<EntryOrder> {
    let mut next = 0;
    let orders = snapshot.segments.iter().map(|segment| {
        let first = next;
        next += segment.entries;
        EntryOrder::From(first)
    });
    orders.collect()
}

/// The events of all entries of a dataset; `None` if those of a segment are unknown.
pub(super) fn events_of(dataset: &Dataset, call: &mut Call<'_>) -> Result<Option<EventIndex>> {
    let (mut runs, mut blocks, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for segment in &dataset.snapshot().segments {
        let Some(index) = &segment.events else { return Ok(None) };
        let store = dataset.base(index.base)?;
        let object = wait(index.read_whole(&*store, call.deadline()), call)?;
        for event in EventIndex::decode(&object, segment.entries)?.iter() {
            runs.push(event.run);
            blocks.push(event.lumi);
            events.push(event.event);
        }
    }
    EventIndex::new(runs, blocks, events).map(Some)
}
