//! Selects entries by their events: by luminosity blocks, or event numbers. Only the blocks of the indexes
//! that may contain them are read.

use super::Dataset;
use crate::record::url_of;
use crate::{EventBlock, EventHead, EventId, EventIndex, LumiMask, ObjectRef, Segment, keys};
use futures::{StreamExt, TryStreamExt, stream};
use sapwood_core::{ByteRange, Deadline, Error, ErrorKind, Result};
use sapwood_store::Store;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Blocks to read at once.
const TOGETHER: usize = 16;

/// The index of a segment with its decoded head.
struct SegmentIndex {
    store: Arc<dyn Store>,
    key: String,
    /// The first entry of the segment.
    first: u64,
    head: EventHead,
}

impl Dataset {
    /// The entries of this version whose luminosity blocks are in a mask, as ranges in order.
    ///
    /// # Errors
    /// `Missing` if a segment has no index of events; those of the store, and of damaged objects.
    pub async fn select(&self, mask: &LumiMask, deadline: Deadline) -> Result<Vec<Range<u64>>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let wanted = |block: &EventBlock| block.may_hold(mask);
        self.each_block(wanted, deadline, &mut |first, index| {
            for range in index.select(mask) {
                let range = first + range.start..first + range.end;
                match ranges.last_mut().filter(|last| last.end == range.start) {
                    Some(last) => last.end = range.end,
                    None => ranges.push(range),
                }
            }
        })
        .await?;
        Ok(ranges)
    }

    /// For each event, its entries in this version: one, or none; more, if the event occurs more than once.
    ///
    /// # Errors
    /// As [`Dataset::select`].
    pub async fn find(&self, events: &[EventId], deadline: Deadline) -> Result<Vec<Vec<u64>>> {
        let mut found: BTreeMap<EventId, Vec<u64>> =
            events.iter().map(|event| (*event, Vec::new())).collect();
        let keys: Vec<EventId> = found.keys().copied().collect();
        let wanted = |block: &EventBlock| keys.iter().any(|event| block.may_have(*event));
        self.each_block(wanted, deadline, &mut |first, index| {
            for (entry, event) in (first..).zip(index.iter()) {
                found.get_mut(&event).into_iter().for_each(|entries| entries.push(entry));
            }
        })
        .await?;
        Ok(events.iter().map(|event| found.get(event).cloned().unwrap_or_default()).collect())
    }

    /// Reads the wanted blocks in order, with the first entry of each.
    async fn each_block(
        &self,
        wanted: impl Fn(&EventBlock) -> bool,
        deadline: Deadline,
        each: &mut (dyn FnMut(u64, EventIndex) + Send),
    ) -> Result<()> {
        let mut first = 0;
        let segments = self.snapshot().segments.iter().map(|segment| {
            let start = first;
            first += segment.entries;
            self.open_events(segment, start, deadline)
        });
        let segments: Vec<_> = segments.collect();
        let opened: Vec<SegmentIndex> = stream::iter(segments).buffered(TOGETHER).try_collect().await?;
        let blocks =
            opened.iter().flat_map(|index| index.head.blocks.iter().map(move |block| (index, block)));
        let blocks: Vec<_> = blocks.filter(|(_, block)| wanted(block)).collect();
        let read = blocks.into_iter().map(|(index, block)| async move {
            let bytes = index.store.get(&index.key, Some(block.bytes), deadline).await?;
            let part = block.decode(&bytes).map_err(|error| error.url(url_of(&*index.store, &index.key)))?;
            Ok::<_, Error>((index.first + block.entries.start, part))
        });
        let mut read = stream::iter(read.collect::<Vec<_>>()).buffered(TOGETHER);
        while let Some((first, part)) = read.try_next().await? {
            each(first, part);
        }
        Ok(())
    }

    async fn open_events(&self, segment: &Segment, first: u64, deadline: Deadline) -> Result<SegmentIndex> {
        let Some(ObjectRef { base, id, offset: 0, len, .. }) = segment.events else {
            let message = format!("segment {} does not say which events its entries are", segment.id);
            return Err(Error::new(ErrorKind::Missing, message).url(self.store().url()));
        };
        let (store, key) = (self.base(base)?, keys::data(id));
        let needed = EventHead::bytes_needed(segment.entries).min(len);
        let head = store.get(&key, Some(ByteRange::new(0, needed)?), deadline).await?;
        let head = EventHead::parse(&head, segment.entries);
        let head = head.map_err(|error| error.url(url_of(&*store, &key)))?;
        Ok(SegmentIndex { store, key, first, head })
    }
}
