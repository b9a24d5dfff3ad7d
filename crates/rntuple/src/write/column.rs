//! A column of the open cluster: its elements become pages, which are compressed.

use super::elements::Elements;
use super::feed::Feed;
use crate::wire::CHECKSUM;
use bytes::Bytes;
use rayon::prelude::*;
use sapwood_codec::{Compression, Search, with_encoder};
use sapwood_core::Result;
use sapwood_table::write::Offsets;
use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// Pages after which the best search is learned again.
const SEARCH_LASTS: usize = 256;
/// Bytes of a page from which the search is learned.
const SAMPLE: usize = 24_000;

thread_local! {
    /// Memory for an encoded page and a compressed one, for the next page.
    static ROOM: RefCell<(Vec<u8>, Vec<u8>)> = RefCell::default();
}

/// A page before it is placed.
#[derive(Debug)]
pub(super) struct SealedPage {
    pub(super) elements: u32,
    /// Its stored bytes, then its checksum.
    pub(super) bytes: Bytes,
    /// Of the stored bytes.
    pub(super) checksum: u64,
}

/// How pages are made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sealing {
    pub(super) elements: Elements,
    pub(super) compression: Compression,
    pub(super) checksums: bool,
}

/// A column of the open cluster.
#[derive(Debug)]
pub(super) struct Column {
    sealing: Sealing,
    /// Elements of a full page.
    page: usize,
    /// Elements of the page that is not full yet.
    open: Vec<u8>,
    sealed: Vec<SealedPage>,
    /// How to compress its pages, and for how many of them.
    search: Search,
    known_for: usize,
    /// The end of the last list in the cluster, or the next position of each alternative.
    ends: Vec<u64>,
    /// Bytes of sealed pages of the cluster: elements, and as stored.
    before: u64,
    after: u64,
}

impl Column {
    /// An empty column with pages of at most `page_bytes` bytes before they are encoded.
    pub(super) fn new(sealing: Sealing, page_bytes: usize) -> Column {
        Column {
            sealing,
            page: (page_bytes / sealing.elements.size()).max(1),
            open: Vec::new(),
            sealed: Vec::new(),
            search: Search::default(),
            known_for: 0,
            ends: Vec::new(),
            before: 0,
            after: 0,
        }
    }

    /// Bytes in the open page.
    pub(super) fn open_bytes(&self) -> u64 {
        self.open.len() as u64
    }

    /// Bytes of the sealed pages of the cluster: elements, and as stored.
    pub(super) fn sealed_bytes(&self) -> (u64, u64) {
        (self.before, self.after)
    }

    /// Adds elements; seals full pages.
    pub(super) fn append(&mut self, feed: Feed<'_>) -> Result<()> {
        let mut full: Vec<Cow<'_, [u8]>> = Vec::new();
        match feed {
            Feed::Values(values) => self.values(values, &mut full),
            Feed::Lists(offsets, lists) => self.lists(offsets, lists, &mut full),
            Feed::Options(positions, items) => {
                let mut end = self.last_end();
                let ends = positions.slice(items).map(|position| {
                    end += u64::from(position >= 0);
                    end.to_le_bytes()
                });
                self.computed(ends, &mut full);
                self.ends = vec![end];
            }
            Feed::Tags(tags, items) => self.tags(tags, items, &mut full),
        }
        self.seal(full)
    }

    /// Seals the open page, if it has elements.
    pub(super) fn flush(&mut self) -> Result<()> {
        if self.open.is_empty() {
            return Ok(());
        }
        let open = std::mem::take(&mut self.open);
        self.seal(vec![open.into()])
    }

    /// Ends the cluster; its pages.
    pub(super) fn end_cluster(&mut self) -> Result<Vec<SealedPage>> {
        self.flush()?;
        self.ends.clear();
        (self.before, self.after) = (0, 0);
        Ok(std::mem::take(&mut self.sealed))
    }

    /// Adds elements that are as they will be in pages: full pages of them are not copied.
    fn values<'a>(&mut self, values: &'a [u8], full: &mut Vec<Cow<'a, [u8]>>) {
        let page = self.page * self.sealing.elements.size();
        let mut rest = values;
        while !rest.is_empty() {
            let room = page - self.open.len();
            let (now, behind) = rest.split_at(rest.len().min(room));
            rest = behind;
            match (self.open.is_empty(), now.len() == room) {
                (true, true) => full.push(now.into()),
                (false, true) => {
                    self.open.extend_from_slice(now);
                    full.push(std::mem::take(&mut self.open).into());
                }
                _ => self.open.extend_from_slice(now),
            }
        }
    }

    /// Adds elements one by one.
    fn computed<const SIZE: usize>(
        &mut self,
        elements: impl Iterator<Item = [u8; SIZE]>,
        full: &mut Vec<Cow<'_, [u8]>>,
    ) {
        let page = self.page * SIZE;
        for element in elements {
            self.open.extend_from_slice(&element);
            if self.open.len() == page {
                full.push(std::mem::replace(&mut self.open, Vec::with_capacity(page)).into());
            }
        }
    }

    fn last_end(&self) -> u64 {
        self.ends.first().copied().unwrap_or(0)
    }

    fn lists(&mut self, offsets: Offsets<'_>, lists: Range<usize>, full: &mut Vec<Cow<'_, [u8]>>) {
        let base = self.last_end().wrapping_sub(offsets.get(lists.start) as u64);
        let ends = offsets.slice(lists.start + 1..lists.end + 1);
        self.computed(ends.map(|end| base.wrapping_add(end.cast_unsigned()).to_le_bytes()), full);
        self.ends = vec![base.wrapping_add(offsets.get(lists.end) as u64)];
    }

    fn tags(
        &mut self,
        tags: &[u8],
        items: Option<(Offsets<'_>, Range<usize>)>,
        full: &mut Vec<Cow<'_, [u8]>>,
    ) {
        let mut next = std::mem::take(&mut self.ends);
        let mut element = |tag: u8| {
            let place = usize::from(tag);
            if next.len() <= place {
                next.resize(place + 1, 0);
            }
            let position = next[place];
            next[place] += 1;
            switch(position, u32::from(tag) + 1)
        };
        match items {
            None => self.computed(tags.iter().map(|tag| element(*tag)), full),
            Some((positions, items)) => {
                let mut tags = tags.iter();
                let elements = positions.slice(items).map(|position| match position {
                    0.. => tags.next().map_or_else(|| switch(0, 0), |tag| element(*tag)),
                    _ => switch(0, 0),
                });
                self.computed(elements, full);
            }
        }
        self.ends = next;
    }

    /// Compresses pages. The search is learned from the first one, and again after a fixed number of pages, so that the
    /// file does not depend on how many entries are filled at once.
    fn seal(&mut self, full: Vec<Cow<'_, [u8]>>) -> Result<()> {
        let sealing = self.sealing;
        let mut rest = full.as_slice();
        while let Some(first) = rest.first() {
            if self.known_for == 0 {
                (self.search, self.known_for) = (sealing.learn(first)?, SEARCH_LASTS);
            }
            let (like_it, behind) = rest.split_at(rest.len().min(self.known_for));
            rest = behind;
            self.known_for -= like_it.len();
            let search = self.search;
            let pages = like_it.par_iter().map(|page| sealing.seal(page, search));
            for (page, elements) in pages.collect::<Result<Vec<_>>>()?.into_iter().zip(like_it) {
                self.before += elements.len() as u64;
                self.after += page.bytes.len() as u64;
                self.sealed.push(page);
            }
        }
        Ok(())
    }
}

/// An element of a switch column.
fn switch(position: u64, tag: u32) -> [u8; 12] {
    let [a, b, c, d, e, f, g, h] = position.to_le_bytes();
    let [i, j, k, l] = tag.to_le_bytes();
    [a, b, c, d, e, f, g, h, i, j, k, l]
}

impl Sealing {
    /// The search that is enough for pages like this one. A part of it is encoded, so that it has all bytes of elements.
    fn learn(self, elements: &[u8]) -> Result<Search> {
        let size = self.elements.size();
        let sample = elements.get(..SAMPLE / size * size).unwrap_or(elements);
        ROOM.with_borrow_mut(|(encoded, _)| {
            let bytes = self.elements.encode(sample, encoded)?;
            with_encoder(|encoder| encoder.search_for(bytes, self.compression))
        })
    }

    fn seal(self, elements: &[u8], search: Search) -> Result<SealedPage> {
        ROOM.with_borrow_mut(|(encoded, compressed)| {
            let bytes = self.elements.encode(elements, encoded)?;
            compressed.clear();
            let smaller = with_encoder(|encoder| {
                encoder.compress_basket(search, bytes, bytes.len(), self.compression, compressed)
            })?;
            let stored = if smaller { compressed.as_slice() } else { bytes };
            let checksum = if self.checksums { xxh3_64(stored) } else { 0 };
            let mut bytes = Vec::with_capacity(stored.len() + if self.checksums { CHECKSUM } else { 0 });
            bytes.extend_from_slice(stored);
            if self.checksums {
                bytes.extend(checksum.to_le_bytes());
            }
            let elements = (elements.len() / self.elements.size()) as u32;
            Ok(SealedPage { elements, bytes: bytes.into(), checksum })
        })
    }
}
