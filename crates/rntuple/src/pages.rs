//! The pages of an RNTuple: which of them hold the elements of a column in a cluster.

use crate::blob::Split;
use crate::encoding::Encoding;
use crate::node::Representations;
use crate::page_list::{Cluster, ColumnPages, Page};
use crate::wire::CHECKSUM;
use sapwood_core::{ByteRange, Error, Result};
use sapwood_table::{Chunk, ClusterPart};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{PoisonError, RwLock};

/// A page, and the elements wanted of it.
#[derive(Debug)]
pub(crate) struct PagePart<'a> {
    pub(crate) page: &'a Page,
    pub(crate) encoding: Encoding,
    pub(crate) wanted: Range<usize>,
    /// Where they are in the wanted elements of the column.
    pub(crate) at: usize,
}

/// The pages of all columns.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) clusters: Vec<Cluster>,
    /// The first entry of each cluster, and the end of the last.
    pub(crate) starts: Vec<u64>,
    /// For each column; `None` if it is unknown.
    encodings: Vec<Option<Encoding>>,
    /// Whether each column may begin after the first entry.
    late: Vec<bool>,
    /// Offsets of pages without a checksum.
    unchecked: HashSet<u64>,
    /// Offsets of pages that are used more than once.
    repeated: HashSet<u64>,
    pub(crate) max_key_size: u64,
    /// Most stored bytes of a page.
    longest: u64,
    located: RwLock<PartRanges>,
}

/// Where the parts of long pages are, as far as it is known.
#[derive(Debug, Default)]
struct PartRanges {
    /// By the offset of the page.
    parts: HashMap<u64, Vec<ByteRange>>,
    /// Their offsets.
    offsets: HashSet<u64>,
}

impl Pages {
    pub(crate) fn new(
        clusters: Vec<Cluster>,
        encodings: Vec<Option<Encoding>>,
        late: Vec<bool>,
        max_key_size: u64,
    ) -> Pages {
        let (mut unchecked, mut repeated) = (HashSet::new(), HashSet::new());
        let (mut starts, mut longest) = (Vec::new(), 0);
        for page in clusters.iter().flat_map(|cluster| &cluster.columns).flat_map(|column| &column.pages) {
            let Some(range) = page.range else { continue };
            starts.push(range.start);
            longest = longest.max(range.len);
            if !page.has_checksum {
                unchecked.insert(range.start);
            }
        }
        starts.sort_unstable();
        repeated.extend(starts.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]));
        let firsts = clusters.iter().map(|cluster| cluster.first_entry);
        let starts = firsts.chain(clusters.last().map(Cluster::end)).collect();
        let located = RwLock::default();
        Pages { clusters, starts, encodings, late, unchecked, repeated, max_key_size, longest, located }
    }

    /// The bytes of the checksum behind the page at `offset`.
    pub(crate) fn checksum_len(&self, offset: u64) -> usize {
        if self.unchecked.contains(&offset) { 0 } else { CHECKSUM }
    }

    /// The column that holds the values in a cluster, and its pages; `None` if there were no values yet.
    ///
    /// # Errors
    /// `Unsupported` if the cluster cannot be read; `Corrupt` if several columns hold the same values.
    pub(crate) fn active(
        &self,
        columns: &Representations,
        cluster: usize,
    ) -> Result<Option<(usize, &ColumnPages)>> {
        let Some(cluster) = self.clusters.get(cluster) else { return Ok(None) };
        if let Some(why) = &cluster.unreadable {
            return Err(Error::unsupported(why.clone()));
        }
        let stored = |column: &usize| {
            let pages = cluster.columns.get(*column).filter(|pages| pages.offset.is_some())?;
            Some((*column, pages))
        };
        let mut found = columns.iter().filter_map(stored);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(Error::corrupt("several columns hold the values of a field in a cluster")),
            (one, None) => Ok(one),
        }
    }

    /// How the pages of a column are compressed, as ROOT codes it; `None` if it has none.
    pub(crate) fn compression(&self, columns: &Representations) -> Option<u32> {
        let in_cluster = |cluster| Some(self.active(columns, cluster).ok()??.1);
        let stored = (0..self.clusters.len()).filter_map(in_cluster);
        stored.filter(|pages| !pages.pages.is_empty()).map(|pages| pages.compression).next()
    }

    /// The pages with the elements of a part, after the elements that are zero because the column was added later.
    ///
    /// # Errors
    /// As [`active`](Pages::active); `Corrupt` if the column has too few elements.
    pub(crate) fn of_part(
        &self,
        columns: &Representations,
        part: &ClusterPart,
    ) -> Result<(u64, Vec<PagePart<'_>>)> {
        let Range { start, end } = part.range;
        if start >= end {
            return Ok((0, Vec::new()));
        }
        let is_late = |column: &usize| self.late.get(*column).copied().unwrap_or(false);
        let too_few = || Error::corrupt("a column has too few elements in a cluster");
        let Some((column, ColumnPages { pages, .. })) = self.active(columns, part.cluster)? else {
            return if columns.iter().all(is_late) { Ok((end - start, Vec::new())) } else { Err(too_few()) };
        };
        let stored = match (pages.first(), pages.last()) {
            (Some(first), Some(last)) => first.first..last.end(),
            _ => end..end,
        };
        let zeros = stored.start.min(end).saturating_sub(start);
        if (zeros > 0 && !is_late(&column)) || stored.end < end {
            return Err(too_few());
        }
        let encoding = self.encodings.get(column).copied().flatten().ok_or_else(too_few)?;
        let from = pages.partition_point(|page| page.end() <= start);
        let here = pages.iter().skip(from).take_while(|page| page.first < end);
        let here = here.filter(|page| page.elements > 0).map(|page| {
            let (first, last) = (start.max(page.first), end.min(page.end()));
            let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            let wanted = place(first - page.first)..place(last - page.first);
            PagePart { page, encoding, wanted, at: place(first - start) }
        });
        Ok((zeros, here.collect()))
    }

    /// The chunks of a page, one for each part that it is stored in. All its uncompressed bytes count for the first.
    ///
    /// # Errors
    /// `Unsupported` if the page is stored elsewhere.
    pub(crate) fn chunks(
        &self,
        page: &Page,
        column: usize,
        entries: &Range<u64>,
        index: bool,
    ) -> Result<Vec<Chunk>> {
        let range = page.stored()?;
        let encoding = self.encodings.get(column).copied().flatten();
        let uncompressed = encoding.map_or(0, |encoding| encoding.bytes(page.elements));
        let shared = index || self.repeated.contains(&range.start);
        let chunk = |range: ByteRange, uncompressed_bytes| Chunk {
            file: 0,
            range,
            entries: entries.clone(),
            uncompressed_bytes,
            index,
            shared,
        };
        Ok(match self.parts(range)? {
            None => vec![chunk(range, uncompressed)],
            Some(parts) => {
                let sizes = std::iter::once(uncompressed).chain(std::iter::repeat(0));
                parts.into_iter().zip(sizes).map(|(part, bytes)| chunk(part, bytes)).collect()
            }
        })
    }

    /// The parts that a page is stored in; `None` if it is in one.
    ///
    /// # Errors
    /// `Corrupt` if they were not [located](Pages::locate).
    pub(crate) fn parts(&self, page: ByteRange) -> Result<Option<Vec<ByteRange>>> {
        if Split::of(page, self.max_key_size)?.is_none() {
            return Ok(None);
        }
        let located = self.located.read().unwrap_or_else(PoisonError::into_inner);
        let parts = located.parts.get(&page.start).cloned();
        parts.map(Some).ok_or_else(|| Error::corrupt("the parts of a page were not located").at(page.start))
    }

    /// Whether any page may be stored in several parts.
    pub(crate) fn has_long_pages(&self) -> bool {
        self.longest > self.max_key_size && self.max_key_size > 0
    }

    /// The long pages of these columns whose parts are not known yet.
    ///
    /// # Errors
    /// `Corrupt` for impossible pages.
    pub(crate) fn unlocated(&self, columns: &[usize]) -> Result<Vec<Split>> {
        let pages = self.clusters.iter().flat_map(|cluster| {
            columns.iter().filter_map(|column| cluster.columns.get(*column)).flat_map(|column| &column.pages)
        });
        let located = self.located.read().unwrap_or_else(PoisonError::into_inner);
        let ranges = pages.filter_map(|page| page.range);
        let mut unknown = HashMap::new();
        for range in ranges.filter(|range| !located.parts.contains_key(&range.start)) {
            if let Some(split) = Split::of(range, self.max_key_size)? {
                unknown.insert(range.start, split);
            }
        }
        Ok(unknown.into_values().collect())
    }

    /// Learns the parts of a long page from the bytes of their positions.
    ///
    /// # Errors
    /// `Corrupt` for impossible positions.
    pub(crate) fn locate(&self, page: &Split, links: &[u8]) -> Result<()> {
        let parts = page.parts(links)?;
        let mut located = self.located.write().unwrap_or_else(PoisonError::into_inner);
        located.offsets.extend(parts.iter().map(|part| part.start));
        if let Some(first) = parts.first() {
            located.parts.insert(first.start, parts);
        }
        Ok(())
    }

    /// Whether a part of a long page is at `offset`.
    pub(crate) fn is_part(&self, offset: u64) -> bool {
        self.has_long_pages()
            && self.located.read().unwrap_or_else(PoisonError::into_inner).offsets.contains(&offset)
    }
}
