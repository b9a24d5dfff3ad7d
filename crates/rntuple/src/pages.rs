//! The pages of an RNTuple: which hold the values of a column in a cluster, and their verified bytes.

use crate::encoding::Encoding;
use crate::node::Representations;
use crate::page_list::{Cluster, ColumnPages, Page};
use crate::wire::CHECKSUM;
use bytes::Bytes;
use sapwood_core::{Error, ErrorKind, Result};
use sapwood_table::Chunk;
use std::collections::HashSet;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// The pages of all columns.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) clusters: Vec<Cluster>,
    /// Of each column; `None` if it is unknown.
    pub(crate) encodings: Vec<Option<Encoding>>,
    /// Whether each column may begin after the first entry.
    pub(crate) deferred: Vec<bool>,
    /// Offsets of pages without a checksum.
    unchecked: HashSet<u64>,
    /// Offsets of pages that are used more than once.
    repeated: HashSet<u64>,
    max_key_size: u64,
}

impl Pages {
    pub(crate) fn new(
        clusters: Vec<Cluster>,
        encodings: Vec<Option<Encoding>>,
        deferred: Vec<bool>,
        max_key_size: u64,
    ) -> Pages {
        let (mut unchecked, mut seen, mut repeated) = (HashSet::new(), HashSet::new(), HashSet::new());
        let columns = clusters.iter().flat_map(|cluster| &cluster.columns);
        for page in columns.flat_map(|column| &column.pages) {
            let Some(range) = page.range else { continue };
            if !page.has_checksum {
                unchecked.insert(range.start);
            }
            if !seen.insert(range.start) {
                repeated.insert(range.start);
            }
        }
        Pages { clusters, encodings, deferred, unchecked, repeated, max_key_size }
    }

    /// The bytes of the checksum behind the page at `offset`.
    pub(crate) fn checksum_len(&self, offset: u64) -> usize {
        if self.unchecked.contains(&offset) { 0 } else { CHECKSUM }
    }

    /// The column that holds the values in a cluster, and its pages; `None` if there were no values yet.
    pub(crate) fn active(
        &self,
        columns: &Representations,
        cluster: usize,
    ) -> Option<(Encoding, &ColumnPages)> {
        let stored = &self.clusters.get(cluster)?.columns;
        columns.iter().find_map(|column| {
            let pages = stored.get(*column).filter(|pages| pages.offset.is_some())?;
            Some((self.encodings.get(*column).copied().flatten()?, pages))
        })
    }

    /// How the pages of a column are compressed, as ROOT codes it; `None` if it has none.
    pub(crate) fn compression(&self, columns: &Representations) -> Option<u32> {
        let in_cluster = |cluster| self.active(columns, cluster).map(|(_, pages)| pages);
        let stored = (0..self.clusters.len()).filter_map(in_cluster);
        stored.filter(|pages| !pages.pages.is_empty()).map(|pages| pages.compression).next()
    }

    /// The chunk of a page.
    ///
    /// # Errors
    /// `Unsupported` if the page is stored in several parts, or elsewhere.
    pub(crate) fn chunk(
        &self,
        page: &Page,
        encoding: Encoding,
        entries: Range<u64>,
        index: bool,
    ) -> Result<Chunk> {
        let range = page.range.ok_or_else(|| Error::unsupported("a page is not stored in this file"))?;
        if range.len > self.max_key_size {
            return Err(Error::unsupported("a page is stored in several parts").at(range.start));
        }
        Ok(Chunk {
            file: 0,
            range,
            entries,
            uncompressed_bytes: encoding.bytes(page.elements),
            index,
            shared: index || self.repeated.contains(&range.start),
        })
    }

    /// The stored bytes of a page without its checksum, which is verified.
    pub(crate) fn verified(&self, offset: u64, stored: &Bytes) -> Result<Bytes> {
        if self.checksum_len(offset) == 0 {
            return Ok(stored.clone());
        }
        match stored.split_last_chunk::<CHECKSUM>() {
            Some((page, checksum)) if xxh3_64(page).to_le_bytes() == *checksum => Ok(stored.slice_ref(page)),
            Some(_) => Err(Error::new(ErrorKind::Checksum, "a page does not match its checksum").at(offset)),
            None => Err(Error::new(ErrorKind::Truncated, "a page is shorter than its checksum").at(offset)),
        }
    }
}
