//! The builder of an RNTuple: fills its columns in parallel, cluster by cluster.

use super::clusters::Clusters;
use super::column::{Column, ColumnOfCluster, Sealing};
use super::layout::{FieldSpec, Layout, Projection};
use super::metadata::{self, PlacedCluster, PlacedColumn, PlacedGroup, PlacedPage};
use crate::Anchor;
use bytes::Bytes;
use rayon::prelude::*;
use sapwood_codec::{Compression, with_encoder};
use sapwood_core::{ByteRange, Error, ErrorKind, Result};
use sapwood_table::write::{ClusterSize, ColumnView};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Longer blobs would have to be stored in several parts: ROOT's `fMaxKeySize`.
pub const MAX_BLOB: u64 = 1 << 30;
/// The sizes of pages that can be asked for.
pub const PAGE_SIZES: Range<usize> = 256..(256 << 20) + 1;
/// Pages after which a list of them is written, so that it need not be kept to the end.
const PAGES_OF_LIST: usize = 1 << 20;

/// How an RNTuple is written. The defaults are those of ROOT.
#[derive(Debug, Clone, Copy)]
pub struct RNTupleOptions {
    /// When clusters end. Default: at 128 MiB.
    pub cluster: ClusterSize,
    /// Most bytes of a page before it is encoded. Default: 1 MiB.
    pub page_size: usize,
    /// Whether pages have checksums; pages of equal content are then stored once. Default: yes.
    pub checksums: bool,
    /// The compression of the metadata.
    pub compression: Compression,
}

impl Default for RNTupleOptions {
    fn default() -> Self {
        RNTupleOptions {
            cluster: ClusterSize::Bytes(128 << 20),
            page_size: 1 << 20,
            checksums: true,
            compression: Compression::default(),
        }
    }
}

/// A function that places the parts of a blob behind each other in a record of class `RBlob`, and returns the offset of
/// the first byte after its key.
pub type PlaceBlob<'p> = dyn FnMut(Vec<Bytes>) -> Result<u64> + 'p;

/// An RNTuple that is being written.
#[derive(Debug)]
pub struct RNTupleBuilder {
    specs: Vec<FieldSpec>,
    options: RNTupleOptions,
    layout: Layout,
    columns: Vec<Column>,
    clusters: Clusters,
    header: ByteRange,
    header_len: u64,
    header_checksum: u64,
    /// Clusters that are in no list yet, and the number of their pages.
    finished: Vec<PlacedCluster>,
    pages: usize,
    groups: Vec<PlacedGroup>,
}

impl RNTupleBuilder {
    /// An RNTuple without entries, whose header is placed.
    ///
    /// # Errors
    /// `Usage` for impossible names and sizes; `Unsupported` for forms that have no type in ROOT; errors of `place`.
    pub fn new(
        name: &str,
        description: &str,
        specs: Vec<FieldSpec>,
        projections: &[Projection],
        options: RNTupleOptions,
        place: &mut PlaceBlob<'_>,
    ) -> Result<RNTupleBuilder> {
        if !PAGE_SIZES.contains(&options.page_size) {
            return Err(Error::usage(format!("pages of {} bytes cannot be written", options.page_size))
                .hint("a page has 256 B to 256 MiB"));
        }
        let layout = Layout::new(&specs, projections)?;
        let column = |new: &super::layout::NewColumn| {
            let compression = specs.get(new.top).map_or(options.compression, |spec| spec.compression);
            let sealing = Sealing { elements: new.elements, compression, checksums: options.checksums };
            Column::new(sealing, options.page_size)
        };
        let columns: Vec<Column> = layout.columns.iter().map(column).collect();
        let writer = concat!("sapwood ", env!("CARGO_PKG_VERSION"));
        let (bytes, header_checksum) = metadata::header(name, description, writer, &layout);
        let header = envelope(&bytes, options.compression, place)?;
        Ok(RNTupleBuilder {
            clusters: Clusters::new(options.cluster, columns.len()),
            specs,
            options,
            layout,
            columns,
            header,
            header_len: bytes.len() as u64,
            header_checksum,
            finished: Vec::new(),
            pages: 0,
            groups: Vec::new(),
        })
    }

    /// Entries filled so far.
    pub fn entries(&self) -> u64 {
        self.clusters.entries()
    }

    /// Checks that `entries` entries of columns, one per field, can be filled.
    ///
    /// # Errors
    /// `Usage`, with the field whose column does not fit.
    pub fn check(&self, columns: &[ColumnView<'_>], entries: usize) -> Result<()> {
        let (fields, given) = (self.specs.len(), columns.len());
        if fields != given {
            return Err(Error::usage(format!("{given} columns were given for {fields} fields")));
        }
        let check = |(spec, column): (&FieldSpec, &ColumnView<'_>)| {
            column.check(&spec.form, entries).map_err(|error| error.branch(&spec.name))
        };
        self.specs.iter().zip(columns).try_for_each(check)
    }

    /// How many of the next entries, which have about `bytes` bytes, can be filled at once.
    pub fn step(&self, entries: usize, bytes: usize) -> usize {
        self.clusters.step(entries as u64, bytes as u64) as usize
    }

    /// Adds entries of [checked](RNTupleBuilder::check) columns, and compresses full pages, on all threads of the
    /// current pool.
    ///
    /// # Errors
    /// `Limit` if there is not enough memory, `Cancelled` soon after `cancelled` is set. The builder cannot be used
    /// afterwards.
    pub fn fill(
        &mut self,
        columns: &[ColumnView<'_>],
        entries: Range<usize>,
        cancelled: &AtomicBool,
    ) -> Result<()> {
        let mut feeds = Vec::with_capacity(self.columns.len());
        for (node, column) in self.layout.nodes.iter().zip(columns) {
            node.feed(column, &mut 0, entries.clone(), &mut feeds);
        }
        self.columns.par_iter_mut().zip(feeds).try_for_each(|(column, feed)| {
            if cancelled.load(Ordering::Relaxed) {
                return Err(Error::new(ErrorKind::Cancelled, "writing was interrupted"));
            }
            column.append(feed)
        })?;
        if let Some(most) = self.clusters.most_open(self.columns.iter().map(Column::open_bytes).sum()) {
            let mut large: Vec<&mut Column> =
                self.columns.iter_mut().filter(|column| column.open_bytes() > most).collect();
            large.par_iter_mut().try_for_each(|column| column.flush())?;
        }
        let sizes = self.columns.iter().map(|column| (column.open_bytes(), column.sealed_bytes()));
        self.clusters.filled(entries.len() as u64, sizes);
        Ok(())
    }

    /// True if the open cluster has all its entries.
    pub fn cluster_is_full(&self) -> bool {
        self.clusters.is_full()
    }

    /// Ends the open cluster, if it has entries, and places its pages.
    ///
    /// # Errors
    /// `Limit` if there is not enough memory; errors of `place`.
    pub fn end_cluster(&mut self, place: &mut PlaceBlob<'_>) -> Result<()> {
        let Some(Range { start, end }) = self.clusters.end() else { return Ok(()) };
        let columns: Vec<ColumnOfCluster> =
            self.columns.par_iter_mut().map(Column::end_cluster).collect::<Result<_>>()?;
        let columns = self.place_pages(columns, place)?;
        self.pages += columns.iter().map(|column| column.pages.len()).sum::<usize>();
        self.finished.push(PlacedCluster { first_entry: start, entries: end - start, columns });
        if self.pages >= PAGES_OF_LIST { self.end_group(place) } else { Ok(()) }
    }

    /// Places pages behind each other, column by column; those with the content of an earlier one share its place.
    fn place_pages(
        &self,
        columns: Vec<ColumnOfCluster>,
        place: &mut PlaceBlob<'_>,
    ) -> Result<Vec<PlacedColumn>> {
        let checksum_len = if self.options.checksums { crate::wire::CHECKSUM as u64 } else { 0 };
        let mut blobs = Blobs::default();
        // Until the blobs are placed, offsets count from the start of their blob.
        let mut relative: Vec<Vec<(usize, PlacedPage)>> = Vec::new();
        let mut firsts = Vec::new();
        for ColumnOfCluster { first_element, pages } in columns {
            let page = |page: super::column::SealedPage| {
                let len = page.bytes.len() as u64 - checksum_len;
                let (blob, start) = match self.options.checksums {
                    true => blobs.add_once(page.checksum, page.bytes),
                    false => blobs.add(page.bytes),
                };
                (blob, PlacedPage { elements: page.elements, stored: ByteRange { start, len } })
            };
            relative.push(pages.into_iter().map(page).collect());
            firsts.push(first_element);
        }
        let starts: Vec<u64> = blobs.parts.into_iter().map(place).collect::<Result<_>>()?;
        let placed = |(blob, page): (usize, PlacedPage)| {
            let start = page.stored.start + starts.get(blob).copied().unwrap_or_default();
            PlacedPage { stored: ByteRange { start, ..page.stored }, ..page }
        };
        let columns = self.columns.iter().zip(firsts).zip(relative);
        let column = |((column, first_element), pages): ((&Column, u64), Vec<(usize, PlacedPage)>)| {
            let pages = pages.into_iter().map(placed).collect();
            PlacedColumn { first_element, compression: column.compression(), pages }
        };
        Ok(columns.map(column).collect())
    }

    /// Places the list of the pages of all clusters that are in no list yet.
    fn end_group(&mut self, place: &mut PlaceBlob<'_>) -> Result<()> {
        let (Some(first), Some(last)) = (self.finished.first(), self.finished.last()) else { return Ok(()) };
        let (first_entry, end) = (first.first_entry, last.first_entry + last.entries);
        let bytes = metadata::page_list(self.header_checksum, &self.finished, self.options.checksums);
        let list = envelope(&bytes, self.options.compression, place)?;
        self.groups.push(PlacedGroup {
            first_entry,
            entries: end - first_entry,
            clusters: self.finished.len(),
            list,
            list_len: bytes.len() as u64,
        });
        self.finished.clear();
        self.pages = 0;
        Ok(())
    }

    /// Ends the last cluster, and places the metadata. Returns the object of the key of the RNTuple, of class
    /// `ROOT::RNTuple`.
    ///
    /// # Errors
    /// As [`end_cluster`](RNTupleBuilder::end_cluster).
    pub fn finish(&mut self, place: &mut PlaceBlob<'_>) -> Result<Vec<u8>> {
        self.end_cluster(place)?;
        self.end_group(place)?;
        let footer = metadata::footer(self.header_checksum, &self.groups);
        let anchor = Anchor {
            header: self.header,
            header_len: self.header_len,
            footer: envelope(&footer, self.options.compression, place)?,
            footer_len: footer.len() as u64,
            max_key_size: MAX_BLOB,
        };
        Ok(anchor.bytes())
    }
}

/// The parts of blobs that can each be one record.
#[derive(Debug, Default)]
struct Blobs {
    parts: Vec<Vec<Bytes>>,
    /// Bytes of the last blob.
    len: u64,
    /// Where there are pages with a checksum.
    known: HashMap<u64, Vec<(usize, u64, Bytes)>>,
}

impl Blobs {
    /// Adds a page: the number of its blob, and its offset there.
    fn add(&mut self, page: Bytes) -> (usize, u64) {
        let len = page.len() as u64;
        match self.parts.last_mut() {
            Some(parts) if self.len + len <= MAX_BLOB => parts.push(page),
            _ => {
                self.parts.push(vec![page]);
                self.len = 0;
            }
        }
        let start = self.len;
        self.len += len;
        (self.parts.len() - 1, start)
    }

    /// Adds a page unless it is there.
    fn add_once(&mut self, checksum: u64, page: Bytes) -> (usize, u64) {
        let same =
            self.known.get(&checksum).and_then(|known| known.iter().find(|(.., known)| *known == page));
        if let Some((blob, start, _)) = same {
            return (*blob, *start);
        }
        let (blob, start) = self.add(page.clone());
        self.known.entry(checksum).or_default().push((blob, start, page));
        (blob, start)
    }
}

/// Places an envelope, compressed if that makes it smaller.
fn envelope(bytes: &[u8], compression: Compression, place: &mut PlaceBlob<'_>) -> Result<ByteRange> {
    let mut compressed = Vec::new();
    let smaller = with_encoder(|encoder| encoder.compress(bytes, compression, &mut compressed))?;
    let stored = if smaller { Bytes::from(compressed) } else { Bytes::copy_from_slice(bytes) };
    let len = stored.len() as u64;
    if len > MAX_BLOB {
        return Err(Error::new(ErrorKind::Limit, format!("metadata of {len} bytes cannot be written"))
            .hint("write fewer clusters or fields"));
    }
    Ok(ByteRange { start: place(vec![stored])?, len })
}
