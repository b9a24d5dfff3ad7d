//! Where the pages of each column are, cluster by cluster.

use crate::schema::{ClusterGroup, ColumnRecord, Schema};
use crate::wire::{CHECKSUM, EnvelopeType, Locator, Wire};
use sapwood_core::{ByteRange, Error, Result};

/// Least bytes of a record in any list: its frame.
const FRAME: usize = 8;

/// A page of a column.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// Where it is stored, checksum included; of unknown place if `None`.
    pub(crate) range: Option<ByteRange>,
    pub(crate) has_checksum: bool,
    /// Its first element in the column of the cluster.
    pub(crate) first: u64,
    pub(crate) elements: u64,
}

impl Page {
    /// Where it is stored.
    ///
    /// # Errors
    /// `Unsupported` if it is elsewhere.
    pub(crate) fn stored(&self) -> Result<ByteRange> {
        self.range.ok_or_else(|| Error::unsupported("a page is not stored in this file"))
    }

    pub(crate) fn end(&self) -> u64 {
        self.first + self.elements
    }
}

/// A column in a cluster.
#[derive(Debug, Clone, Default)]
pub(crate) struct ColumnPages {
    /// The column's first element in this cluster, counted over the RNTuple; `None` if it is suppressed or absent.
    pub(crate) offset: Option<u64>,
    pub(crate) pages: Vec<Page>,
    /// How its pages are compressed, as ROOT codes it; pages say it themselves as well.
    pub(crate) compression: u32,
}

impl ColumnPages {
    /// Moves the column behind this many zeros.
    pub(crate) fn shift(&mut self, zeros: u64) -> Option<()> {
        for page in &mut self.pages {
            page.first = page.first.checked_add(zeros)?;
            page.first.checked_add(page.elements)?;
        }
        Some(())
    }
}

/// Consecutive entries.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    pub(crate) first_entry: u64,
    pub(crate) entries: u64,
    pub(crate) columns: Vec<ColumnPages>,
    /// Why its values cannot be read.
    pub(crate) unreadable: Option<String>,
}

impl Cluster {
    /// A group of clusters whose list of pages cannot be read.
    pub(crate) fn unknown(group: &ClusterGroup, why: &str) -> Cluster {
        let entries = group.entries.min(u64::MAX - group.first_entry);
        let unreadable = Some(why.to_owned());
        Cluster { first_entry: group.first_entry, entries, columns: Vec::new(), unreadable }
    }

    pub(crate) fn end(&self) -> u64 {
        self.first_entry + self.entries
    }
}

/// The clusters of a group, from its uncompressed list of pages.
pub(crate) fn parse(list: &[u8], group: &ClusterGroup, schema: &Schema) -> Result<Vec<Cluster>> {
    let (mut wire, _) = Wire::envelope(list, EnvelopeType::PageList)?;
    if wire.u64()? != schema.checksum {
        return Err(wire.corrupt("belongs to another header"));
    }
    let (count, mut summaries) = wire.list(FRAME)?;
    if count != group.clusters {
        return Err(wire.corrupt(format!("has {count} clusters instead of {}", group.clusters)));
    }
    let mut clusters = Vec::new();
    for _ in 0..count {
        let mut record = summaries.record()?;
        let (first_entry, word) = (record.u64()?, record.u64()?);
        let sharded = (word >> 56 & 1 != 0).then(|| "the RNTuple has sharded clusters".to_owned());
        let entries = word & (u64::MAX >> 8);
        if first_entry.checked_add(entries).is_none() {
            return Err(record.corrupt("has a cluster of impossible entries"));
        }
        clusters.push(Cluster { first_entry, entries, columns: Vec::new(), unreadable: sharded });
    }
    let (lists, mut outer) = wire.list(FRAME)?;
    if lists != count {
        return Err(wire.corrupt("has other clusters than summaries of them"));
    }
    for cluster in &mut clusters {
        let (columns, mut list) = outer.list(FRAME)?;
        for column in 0..columns {
            let Some(ColumnRecord { bits, .. }) = schema.columns.get(column) else { break };
            cluster.columns.push(column_pages(&mut list, *bits)?);
        }
    }
    Ok(clusters)
}

fn column_pages(list: &mut Wire<'_>, bits: u16) -> Result<ColumnPages> {
    let (count, mut frame) = list.list(8)?;
    let mut found = ColumnPages::default();
    let mut first = 0_u64;
    for _ in 0..count {
        let number = frame.i32()?;
        let (elements, has_checksum) = (u64::from(number.unsigned_abs()), number < 0);
        let range = match frame.locator()? {
            Locator::Other(_) => None,
            Locator::File(ByteRange { start, len }) => {
                let len = len.saturating_add(if has_checksum { CHECKSUM as u64 } else { 0 });
                if start.checked_add(len).is_none() || len > (elements * u64::from(bits)).div_ceil(8) + 8 {
                    return Err(frame.corrupt("has a page of impossible size"));
                }
                Some(ByteRange { start, len })
            }
        };
        found.pages.push(Page { range, has_checksum, first, elements });
        first += elements;
    }
    let offset = frame.i64()?;
    match u64::try_from(offset) {
        Ok(offset) => {
            found.offset = Some(offset);
            found.compression = frame.u32()?;
        }
        Err(_) if !found.pages.is_empty() => return Err(frame.corrupt("has pages of a suppressed column")),
        Err(_) => {}
    }
    Ok(found)
}
