//! Which pages are needed for some entries: known once the ends of their lists are.

use crate::node::{Node, Representations};
use crate::page_list::Page;
use crate::reader::Reader;
use sapwood_core::Result;
use sapwood_table::{Chunk, ClusterPart, entries_of_page};
use std::collections::HashMap;
use std::ops::Range;
use std::slice;

/// A part, with the places where the elements of each entry begin, and the last ends.
pub(crate) struct Bounds {
    pub(crate) part: ClusterPart,
    pub(crate) of_entries: Vec<u64>,
}

/// Chunks in order, each once.
#[derive(Default)]
pub(crate) struct ChunkList {
    pub(crate) chunks: Vec<Chunk>,
    places: HashMap<u64, usize>,
}

impl ChunkList {
    pub(crate) fn add(&mut self, chunk: Chunk) {
        match self.places.get(&chunk.range.start).and_then(|place| self.chunks.get_mut(*place)) {
            Some(known) => {
                known.index |= chunk.index;
                known.entries =
                    known.entries.start.min(chunk.entries.start)..known.entries.end.max(chunk.entries.end);
            }
            None => {
                self.places.insert(chunk.range.start, self.chunks.len());
                self.chunks.push(chunk);
            }
        }
    }

    /// The chunks in the order of entries: records have several columns.
    pub(crate) fn in_order(mut self) -> Vec<Chunk> {
        self.chunks.sort_by_key(|chunk| chunk.entries.start);
        self.chunks
    }
}

impl Reader<'_> {
    /// Adds the chunks with the values of a node, given where those of each entry are; the first entry is `first`. The
    /// `offsets` of its lists may be known.
    pub(crate) fn needed(
        &self,
        node: &Node,
        bounds: &Bounds,
        first: u64,
        offsets: Option<&[i64]>,
        list: &mut ChunkList,
    ) -> Result<()> {
        let part = &bounds.part;
        match node {
            Node::Number { columns, .. } => self.add_needed(columns, bounds, first, list)?,
            Node::Count { .. } => {}
            Node::Text { ends, chars } | Node::Object { ends, bytes: chars, .. } => {
                self.add_needed(chars, &self.below(ends, bounds, offsets)?, first, list)?;
            }
            Node::List { ends, item } | Node::Option { ends, item } => {
                self.needed(item, &self.below(ends, bounds, offsets)?, first, None, list)?;
            }
            Node::Fixed { size, item } => {
                let of_entries = bounds.of_entries.iter().map(|bound| bound.saturating_mul(*size)).collect();
                self.needed(item, &Bounds { part: part.scaled(*size)?, of_entries }, first, None, list)?;
            }
            Node::Record { fields, .. } => {
                fields.iter().try_for_each(|field| self.needed(&field.node, bounds, first, None, list))?;
            }
            Node::Tuple(items) => {
                items.iter().try_for_each(|item| self.needed(item, bounds, first, None, list))?;
            }
            Node::Union { switch, items } => {
                let (tags, ranges) = self.alternatives(switch, part, items.len())?;
                for (alternative, (item, range)) in items.iter().zip(ranges).enumerate() {
                    let is_own = |tag: &u32| *tag as usize == alternative + 1;
                    let range = match range.is_empty() {
                        true => self.next_of(switch, part, &is_own)?,
                        false => range,
                    };
                    let mut counts = vec![range.start];
                    counts.extend(tags.iter().scan(range.start, |count, tag| {
                        *count += u64::from(is_own(tag));
                        Some(*count)
                    }));
                    let at =
                        |bound: &u64| counts.get(usize::try_from(bound - part.range.start).ok()?).copied();
                    let of_entries = bounds.of_entries.iter().filter_map(at).collect();
                    let below = Bounds { part: ClusterPart { cluster: part.cluster, range }, of_entries };
                    self.needed(item, &below, first, None, list)?;
                }
            }
        }
        Ok(())
    }

    /// Where the values of an alternative continue, of which a part has none, as far as the pages of its tags tell.
    fn next_of(
        &self,
        switch: &Representations,
        part: &ClusterPart,
        is_own: &dyn Fn(&u32) -> bool,
    ) -> Result<Range<u64>> {
        let (_, pages) = self.pages.of_part(switch, part)?;
        let (Some(first), Some(last)) = (pages.first(), pages.last()) else { return Ok(0..0) };
        let here = |range| self.switches(switch, &ClusterPart { cluster: part.cluster, range });
        let Range { start, end } = part.range;
        let before = here(first.page.first.min(start)..start)?.into_iter().rev();
        let after = here(end..last.page.end().max(end))?.into_iter();
        let before = before.map(|(position, tag)| (position.saturating_add(1), tag));
        let next = before.chain(after).find(|(_, tag)| is_own(tag));
        Ok(next.map_or(0..0, |(position, _)| position..position))
    }

    /// Where the items of lists are, whose `offsets` may be known.
    fn below(&self, ends: &Representations, bounds: &Bounds, offsets: Option<&[i64]>) -> Result<Bounds> {
        let part = &bounds.part;
        let decoded;
        let (offsets, items) = match offsets {
            Some(offsets) => (offsets, self.items(ends, part, offsets)?),
            None => {
                let (buffer, items) = self.lists(ends, slice::from_ref(part), None)?;
                decoded = buffer;
                let none = ClusterPart { cluster: part.cluster, range: 0..0 };
                (decoded.view::<i64>(), items.into_iter().next().unwrap_or(none))
            }
        };
        let begin = offsets.first().copied().unwrap_or(0);
        let at = |bound: &u64| {
            let offset = offsets.get(usize::try_from(bound - part.range.start).ok()?)?;
            Some(items.range.start + (offset - begin).cast_unsigned())
        };
        let of_entries = bounds.of_entries.iter().filter_map(at).collect();
        Ok(Bounds { part: items, of_entries })
    }

    fn add_needed(
        &self,
        columns: &Representations,
        bounds: &Bounds,
        first: u64,
        list: &mut ChunkList,
    ) -> Result<()> {
        let Bounds { part, of_entries } = bounds;
        let cluster = &self.pages.clusters[part.cluster];
        let Some((column, stored)) = self.pages.active(columns, part.cluster)? else { return Ok(()) };
        let (_, pages) = self.pages.of_part(columns, part)?;
        let mut pages: Vec<&Page> = pages.iter().map(|piece| piece.page).collect();
        if part.range.is_empty() {
            // An empty list within a page counts as one of its entries: ranges of entries have no gaps.
            let at = part.range.start;
            pages.extend(stored.pages.iter().find(|page| page.first < at && at < page.end()));
        }
        for page in pages {
            let elements = page.first..page.end();
            let whole = cluster.first_entry..cluster.end();
            let entries = entries_of_page(&elements, of_entries, first, whole);
            self.pages.chunks(page, column, &entries, false)?.into_iter().for_each(|chunk| list.add(chunk));
        }
        Ok(())
    }
}
