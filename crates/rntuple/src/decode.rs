//! Decodes the elements of columns, list by list, to the buffers of a field; and finds the pages that they are in.

use crate::encoding::{Encoding, PageBytes};
use crate::node::{Node, Representations};
use crate::page_list::Page;
use crate::pages::Pages;
use crate::wire::uncompress;
use bytes::Bytes;
use sapwood_core::{Buffer, Error, ErrorKind, Primitive, Result};
use sapwood_table::{Chunk, ChunkBytes, ChunkContent, ChunkId, chunk_content};
use std::collections::HashMap;
use std::ops::Range;

/// More values that are not stored, of fields added after the first entries, are refused.
const MOST_ZEROS: u64 = 1 << 32;

/// Some elements of a column in a cluster.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) cluster: usize,
    pub(crate) range: Range<u64>,
}

/// As a part, with the places where the elements of each entry begin, and the last ends.
pub(crate) struct Bounds {
    pub(crate) part: Part,
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
}

/// What is needed to decode: the table and the bytes of its chunks.
pub(crate) struct Reader<'a> {
    pub(crate) pages: &'a Pages,
    pub(crate) chunks: ChunkBytes<'a>,
}

/// A page, and the elements wanted of it.
struct PagePart<'a> {
    page: &'a Page,
    wanted: Range<usize>,
    /// Where they are in the wanted elements of the column.
    at: usize,
}

impl<'a> Reader<'a> {
    /// The pages with the elements of a part, after the elements that are zero because the column was added later.
    fn pages(&self, columns: &Representations, part: &Part) -> Result<(u64, Vec<PagePart<'a>>)> {
        let Range { start, end } = part.range;
        if start >= end {
            return Ok((0, Vec::new()));
        }
        let late = columns.iter().any(|column| self.pages.deferred.get(*column).copied().unwrap_or(false));
        let active = self.pages.active(columns, part.cluster);
        let pages = active.map_or(&[][..], |(_, pages)| &pages.pages);
        let stored_from = pages.first().map_or(end, |page| page.first);
        let zeros = stored_from.min(end).saturating_sub(start);
        if (zeros > 0 && !late) || (!pages.is_empty() && active.is_some_and(|(_, pages)| pages.end() < end)) {
            return Err(Error::corrupt("a column has too few elements in a cluster"));
        }
        if zeros > MOST_ZEROS {
            return Err(Error::new(ErrorKind::Limit, format!("{zeros} values are not stored")));
        }
        let from = pages.partition_point(|page| page.end() <= start);
        let here = pages.iter().skip(from).take_while(|page| page.first < end);
        let here = here.filter(|page| page.elements > 0).map(|page| {
            let (first, last) = (start.max(page.first), end.min(page.end()));
            let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            PagePart {
                page,
                wanted: place(first - page.first)..place(last - page.first),
                at: place(first - start),
            }
        });
        Ok((zeros, here.collect()))
    }

    /// The bytes of a page, which are not compressed any more, or at least plausible.
    fn content(&self, columns: &Representations, part: &Part, page: &Page) -> Result<(ChunkContent, usize)> {
        let encoding = self.active(columns, part)?;
        let offset = page.range.map_or(0, |range| range.start);
        let len = usize::try_from(encoding.bytes(page.elements)).unwrap_or(usize::MAX);
        let content = match chunk_content(self.chunks, ChunkId { file: 0, offset })? {
            ChunkContent::Uncompressed(bytes) if bytes.len() != len => {
                return Err(Error::corrupt("a page is used with different lengths").at(offset));
            }
            ChunkContent::Stored(stored) => {
                let stored = self.pages.verified(offset, &stored)?;
                if stored.len() < len {
                    sapwood_codec::uncompressed_len(&stored, len).map_err(|error| error.at(offset))?;
                }
                ChunkContent::Stored(stored)
            }
            other => other,
        };
        Ok((content, len))
    }

    fn active(&self, columns: &Representations, part: &Part) -> Result<Encoding> {
        let found = self.pages.active(columns, part.cluster);
        found.map(|(encoding, _)| encoding).ok_or_else(|| Error::corrupt("a column is missing in a cluster"))
    }

    /// Calls `work` with each page of the parts, uncompressed, the elements wanted, and their place in the part.
    fn each_page(
        &self,
        columns: &Representations,
        part: &Part,
        mut work: impl FnMut(PageBytes<'_>, &PagePart<'_>) -> Result<()>,
    ) -> Result<()> {
        for piece in self.pages(columns, part)?.1 {
            let offset = piece.page.range.map_or(0, |range| range.start);
            let bytes = match self.content(columns, part, piece.page)? {
                (ChunkContent::Uncompressed(bytes), _) => bytes,
                (ChunkContent::Stored(stored), len) if stored.len() == len => stored,
                (ChunkContent::Stored(stored), len) => {
                    uncompress(&stored, len).map(Bytes::from).map_err(|error| error.at(offset))?
                }
            };
            let count = usize::try_from(piece.page.elements).unwrap_or(usize::MAX);
            let encoding = self.active(columns, part)?;
            work(PageBytes { encoding, count, bytes: &bytes }, &piece).map_err(|error| error.at(offset))?;
        }
        Ok(())
    }

    fn numbers(&self, columns: &Representations, primitive: Primitive, parts: &[Part]) -> Result<Buffer> {
        // Memory is taken when it is known that the pages can fill it.
        for part in parts {
            for piece in self.pages(columns, part)?.1 {
                self.content(columns, part, piece.page)?;
            }
        }
        let total: u64 = parts.iter().map(|part| part.range.end - part.range.start).sum();
        let bytes = usize::try_from(total).ok().and_then(|total| total.checked_mul(primitive.size()));
        let bytes = bytes.ok_or_else(|| Error::new(ErrorKind::Limit, "a column is too long"))?;
        let mut out = Buffer::zeroed(bytes);
        let mut base = 0;
        for part in parts {
            self.each_page(columns, part, |page, piece| {
                page.decode(&piece.wanted, &mut out, primitive, base + piece.at)
            })?;
            base += usize::try_from(part.range.end - part.range.start).unwrap_or(usize::MAX);
        }
        Ok(out)
    }

    /// Where the lists of a part begin and end: one more than there are lists.
    fn bounds(&self, ends: &Representations, part: &Part) -> Result<Vec<u64>> {
        let with_begin =
            Part { cluster: part.cluster, range: part.range.start.saturating_sub(1)..part.range.end };
        if part.range.is_empty() {
            return Ok(vec![0]);
        }
        let (zeros, _) = self.pages(ends, &with_begin)?;
        let mut found = Vec::new();
        if part.range.start == 0 {
            found.push(0);
        }
        found.extend((0..zeros).map(|_| 0));
        self.each_page(ends, &with_begin, |page, piece| page.ends(&piece.wanted, &mut found))?;
        match found.is_sorted() {
            true => Ok(found),
            false => Err(Error::corrupt("a list ends before it begins")),
        }
    }

    /// The tags of a part, and for each alternative the range of its values.
    fn switches(
        &self,
        switch: &Representations,
        part: &Part,
        count: usize,
    ) -> Result<(Vec<u32>, Vec<Range<u64>>)> {
        let (zeros, _) = self.pages(switch, part)?;
        let mut found: Vec<(u64, u32)> = (0..zeros).map(|_| (0, 0)).collect();
        self.each_page(switch, part, |page, piece| page.switches(&piece.wanted, &mut found))?;
        let mut ranges: Vec<Option<Range<u64>>> = vec![None; count];
        for (position, tag) in &found {
            let Some(alternative) = (*tag as usize).checked_sub(1) else { continue };
            let range = ranges.get_mut(alternative);
            let range = range.ok_or_else(|| Error::corrupt(format!("a variant has no alternative {tag}")))?;
            let after = position
                .checked_add(1)
                .ok_or_else(|| Error::corrupt("a variant has an impossible position"))?;
            match range {
                None => *range = Some(*position..after),
                Some(range) if range.end == *position => range.end = after,
                Some(_) => return Err(Error::corrupt("the values of a variant are not in order")),
            }
        }
        let tags = found.into_iter().map(|(_, tag)| tag).collect();
        Ok((tags, ranges.into_iter().map(Option::unwrap_or_default).collect()))
    }

    /// The buffers of a node.
    pub(crate) fn decode(&self, node: &Node, parts: &[Part], out: &mut Vec<Buffer>) -> Result<()> {
        match node {
            Node::Number { columns, primitive } => out.push(self.numbers(columns, *primitive, parts)?),
            Node::Count { ends, primitive } => out.push(self.counts(ends, *primitive, parts)?),
            Node::Text { ends, chars } => {
                let (offsets, items) = self.lists(ends, parts)?;
                out.push(Buffer::from_slice(&offsets));
                out.push(
                    self.numbers(chars, Primitive::U8, &items)
                        .or_else(|_| self.numbers(chars, Primitive::I8, &items))?,
                );
            }
            Node::List { ends, item } => {
                let (offsets, items) = self.lists(ends, parts)?;
                out.push(Buffer::from_slice(&offsets));
                self.decode(item, &items, out)?;
            }
            Node::Option { ends, item } => {
                let (offsets, items) = self.lists(ends, parts)?;
                let positions = offsets.windows(2).map(|pair| match pair[1] - pair[0] {
                    0 => Ok(-1),
                    1 => Ok(pair[0]),
                    more => Err(Error::corrupt(format!("an optional value has {more} values"))),
                });
                out.push(Buffer::from_slice(&positions.collect::<Result<Vec<i64>>>()?));
                self.decode(item, &items, out)?;
            }
            Node::Fixed { size, item } => {
                let items = parts.iter().map(|part| scaled(part, *size)).collect::<Result<Vec<Part>>>()?;
                self.decode(item, &items, out)?;
            }
            Node::Record { fields, .. } => {
                fields.iter().try_for_each(|field| self.decode(&field.node, parts, out))?;
            }
            Node::Tuple(items) => items.iter().try_for_each(|item| self.decode(item, parts, out))?,
            Node::Union { switch, items } => self.variants(switch, items, parts, out)?,
        }
        Ok(())
    }

    /// Offsets of lists from all parts, and the parts of their items.
    fn lists(&self, ends: &Representations, parts: &[Part]) -> Result<(Vec<i64>, Vec<Part>)> {
        let mut offsets = vec![0_i64];
        let mut items = Vec::new();
        let mut base = 0_i64;
        for part in parts.iter().filter(|part| !part.range.is_empty()) {
            let bounds = self.bounds(ends, part)?;
            let (first, last) = (bounds.first().copied().unwrap_or(0), bounds.last().copied().unwrap_or(0));
            let too_many = || Error::corrupt("a list has more items than can be");
            let len = i64::try_from(last - first)
                .ok()
                .and_then(|len| base.checked_add(len))
                .ok_or_else(too_many)?;
            offsets.extend(bounds.iter().skip(1).map(|end| base + (end - first).cast_signed()));
            base = len;
            items.push(Part { cluster: part.cluster, range: first..last });
        }
        Ok((offsets, items))
    }

    fn counts(&self, ends: &Representations, primitive: Primitive, parts: &[Part]) -> Result<Buffer> {
        let (offsets, _) = self.lists(ends, parts)?;
        let counts = offsets.windows(2).map(|pair| (pair[1] - pair[0]).cast_unsigned());
        if primitive == Primitive::U64 {
            return Ok(Buffer::from_slice(&counts.collect::<Vec<u64>>()));
        }
        let counts = counts.map(|count| {
            u32::try_from(count).map_err(|_| Error::corrupt("a list is too long for the type of its size"))
        });
        Ok(Buffer::from_slice(&counts.collect::<Result<Vec<u32>>>()?))
    }

    fn variants(
        &self,
        switch: &Representations,
        items: &[Node],
        parts: &[Part],
        out: &mut Vec<Buffer>,
    ) -> Result<()> {
        let (mut present, mut new_tags, mut positions) = (Vec::new(), Vec::new(), Vec::new());
        let mut next = vec![0_i64; items.len()];
        let mut below: Vec<Vec<Part>> = vec![Vec::new(); items.len()];
        for part in parts {
            let (tags, ranges) = self.switches(switch, part, items.len())?;
            for tag in tags {
                let Some(alternative) = (tag as usize).checked_sub(1) else {
                    present.push(-1_i64);
                    continue;
                };
                present.push(i64::try_from(positions.len()).unwrap_or(i64::MAX));
                new_tags.push(i8::try_from(alternative).unwrap_or(i8::MAX));
                if let Some(next) = next.get_mut(alternative) {
                    positions.push(*next);
                    *next += 1;
                }
            }
            for (below, range) in below.iter_mut().zip(ranges) {
                below.push(Part { cluster: part.cluster, range });
            }
        }
        out.push(Buffer::from_slice(&present));
        out.push(Buffer::from_slice(&new_tags));
        out.push(Buffer::from_slice(&positions));
        items.iter().zip(&below).try_for_each(|(item, parts)| self.decode(item, parts, out))
    }

    /// Adds the chunks with the values of a node, given where those of each entry are.
    pub(crate) fn needed(
        &self,
        node: &Node,
        bounds: &Bounds,
        entries: &Range<u64>,
        list: &mut ChunkList,
    ) -> Result<()> {
        let part = &bounds.part;
        match node {
            Node::Number { columns, .. } => self.add_needed(columns, bounds, entries, list)?,
            Node::Count { .. } => {}
            Node::Text { ends, chars } => {
                self.add_needed(chars, &self.below(ends, bounds)?, entries, list)?;
            }
            Node::List { ends, item } | Node::Option { ends, item } => {
                self.needed(item, &self.below(ends, bounds)?, entries, list)?;
            }
            Node::Fixed { size, item } => {
                let of_entries = bounds.of_entries.iter().map(|bound| bound.saturating_mul(*size)).collect();
                self.needed(item, &Bounds { part: scaled(part, *size)?, of_entries }, entries, list)?;
            }
            Node::Record { fields, .. } => {
                fields.iter().try_for_each(|field| self.needed(&field.node, bounds, entries, list))?;
            }
            Node::Tuple(items) => {
                items.iter().try_for_each(|item| self.needed(item, bounds, entries, list))?;
            }
            Node::Union { switch, items } => {
                let (tags, ranges) = self.switches(switch, part, items.len())?;
                for (alternative, (item, range)) in items.iter().zip(ranges).enumerate() {
                    let is_own = |tag: &u32| *tag as usize == alternative + 1;
                    let mut counts = vec![range.start];
                    counts.extend(tags.iter().scan(range.start, |count, tag| {
                        *count += u64::from(is_own(tag));
                        Some(*count)
                    }));
                    let at =
                        |bound: &u64| counts.get(usize::try_from(bound - part.range.start).ok()?).copied();
                    let of_entries = bounds.of_entries.iter().filter_map(at).collect();
                    let below = Bounds { part: Part { cluster: part.cluster, range }, of_entries };
                    self.needed(item, &below, entries, list)?;
                }
            }
        }
        Ok(())
    }

    /// Where the items of lists are.
    fn below(&self, ends: &Representations, bounds: &Bounds) -> Result<Bounds> {
        let part = &bounds.part;
        let found = self.bounds(ends, part)?;
        let at = |bound: &u64| found.get(usize::try_from(bound - part.range.start).ok()?).copied();
        let of_entries = bounds.of_entries.iter().filter_map(at).collect();
        let range = found.first().copied().unwrap_or(0)..found.last().copied().unwrap_or(0);
        Ok(Bounds { part: Part { cluster: part.cluster, range }, of_entries })
    }

    fn add_needed(
        &self,
        columns: &Representations,
        bounds: &Bounds,
        entries: &Range<u64>,
        list: &mut ChunkList,
    ) -> Result<()> {
        let Bounds { part, of_entries } = bounds;
        let cluster = &self.pages.clusters[part.cluster];
        let mut pages: Vec<&Page> = self.pages(columns, part)?.1.iter().map(|piece| piece.page).collect();
        if part.range.is_empty() {
            // An empty list within a page counts as one of its entries: ranges of entries have no gaps.
            let at = part.range.start;
            let all = self.pages.active(columns, part.cluster).map_or(&[][..], |(_, column)| &column.pages);
            pages.extend(all.iter().find(|page| page.first < at && at < page.end()));
        }
        for page in pages {
            let place = |index: usize| entries.start + index as u64;
            let from = match of_entries.first() {
                Some(first) if *first <= page.first => {
                    place(of_entries.partition_point(|bound| *bound <= page.first)).saturating_sub(1)
                }
                _ => cluster.first_entry,
            };
            let to = match of_entries.last() {
                Some(last) if page.end() <= *last => {
                    place(of_entries.partition_point(|bound| *bound < page.end()))
                }
                _ => cluster.end(),
            };
            let encoding = self.active(columns, part)?;
            list.add(self.pages.chunk(page, encoding, from..to, false)?);
        }
        Ok(())
    }
}

fn scaled(part: &Part, size: u64) -> Result<Part> {
    let (start, end) = (part.range.start.checked_mul(size), part.range.end.checked_mul(size));
    let range = start.zip(end).map(|(start, end)| start..end);
    let range = range.ok_or_else(|| Error::corrupt("an array has more items than can be"))?;
    Ok(Part { cluster: part.cluster, range })
}
