//! The builder of an RNTuple: fills its columns in parallel, cluster by cluster.

use super::clusters::Clusters;
use super::column::{Column, SealedPage, Sealing};
use super::copied::{CopiedFields, StoredCluster, StoredColumn, StoredPage};
use super::layout::{FieldSpec, Layout, NewColumn, Projection};
use super::metadata::{
    self, AttributeSetLink, MAX_BLOB, PlacedCluster, PlacedColumn, PlacedGroup, PlacedPage,
};
use crate::Anchor;
use bytes::Bytes;
use rayon::prelude::*;
use sapwood_codec::{Compression, with_encoder};
use sapwood_core::{ByteRange, Error, ErrorKind, Result};
use sapwood_table::pool::largest_first;
use sapwood_table::write::{ClusterSize, ColumnView};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// The fields and columns that are in the header.
    in_header: (usize, usize),
    /// Clusters that are in no list yet, and the number of their pages.
    finished: Vec<PlacedCluster>,
    pages: usize,
    groups: Vec<PlacedGroup>,
    /// Elements of each column, and of those that store the same values, in the finished clusters.
    elements: Vec<u64>,
    filled_pages: u64,
    attribute_sets: Vec<AttributeSetLink>,
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
        let layout = Layout::new(&specs, projections)?;
        RNTupleBuilder::of_layout(name, description, specs, layout, options, place)
    }

    /// An RNTuple without entries that has fields of another one, with their types and encodings. Its pages have
    /// checksums, whatever the options say.
    ///
    /// # Errors
    /// As [`new`](RNTupleBuilder::new).
    pub fn like(
        name: &str,
        description: &str,
        fields: &CopiedFields,
        options: RNTupleOptions,
        place: &mut PlaceBlob<'_>,
    ) -> Result<RNTupleBuilder> {
        let options = RNTupleOptions { checksums: true, ..options };
        let (specs, layout) = (fields.specs.clone(), fields.layout.clone());
        RNTupleBuilder::of_layout(name, description, specs, layout, options, place)
    }

    fn of_layout(
        name: &str,
        description: &str,
        specs: Vec<FieldSpec>,
        layout: Layout,
        options: RNTupleOptions,
        place: &mut PlaceBlob<'_>,
    ) -> Result<RNTupleBuilder> {
        if !PAGE_SIZES.contains(&options.page_size) {
            return Err(Error::usage(format!("pages of {} bytes cannot be written", options.page_size))
                .hint("a page has 256 B to 256 MiB"));
        }
        let columns: Vec<Column> = layout.columns.iter().map(|new| column(new, options)).collect();
        let writer = concat!("sapwood ", env!("CARGO_PKG_VERSION"));
        let (bytes, header_checksum) = metadata::header(name, description, writer, &layout);
        let header = envelope(&bytes, options.compression, place)?;
        Ok(RNTupleBuilder {
            clusters: Clusters::new(options.cluster, columns.len()),
            specs,
            options,
            in_header: (layout.fields.len(), layout.columns.len()),
            layout,
            header,
            header_len: bytes.len() as u64,
            header_checksum,
            finished: Vec::new(),
            pages: 0,
            groups: Vec::new(),
            elements: vec![0; columns.len()],
            filled_pages: 0,
            attribute_sets: Vec::new(),
            columns,
        })
    }

    /// Adds top-level fields, which are zero or empty in the entries so far. The open cluster ends.
    ///
    /// # Errors
    /// `Usage` for impossible names, and those in use; `Unsupported` for forms that have no type in ROOT: then nothing was
    /// added. Those of [`end_cluster`](RNTupleBuilder::end_cluster).
    pub fn add_fields(&mut self, specs: Vec<FieldSpec>, place: &mut PlaceBlob<'_>) -> Result<()> {
        let mut layout = self.layout.clone();
        layout.add(&specs)?;
        self.end_cluster(place)?;
        let known = self.columns.len();
        for number in known..layout.columns.len() {
            let first_element = layout.elements_before(number, self.entries());
            if let Some(new) = layout.columns.get_mut(number) {
                new.first_element = first_element;
                self.columns.push(column(new, self.options));
                self.elements.push(first_element);
            }
        }
        self.clusters.add_columns(layout.columns.len() - known);
        self.layout = layout;
        self.specs.extend(specs);
        Ok(())
    }

    /// Entries filled so far.
    pub fn entries(&self) -> u64 {
        self.clusters.entries()
    }

    /// Adds an attribute set that is in the file.
    pub fn link(&mut self, set: AttributeSetLink) {
        self.attribute_sets.push(set);
    }

    /// Pages of filled entries that were placed so far.
    pub fn filled_pages(&self) -> u64 {
        self.filled_pages
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
        let mut of_columns = vec![None; self.columns.len()];
        for (feed, column) in feeds.into_iter().zip(&self.layout.fed) {
            if let Some(of_column) = of_columns.get_mut(*column) {
                *of_column = Some(feed);
            }
        }
        let fed = self.columns.iter_mut().zip(of_columns).filter_map(|(column, feed)| Some((column, feed?)));
        largest_first(
            fed,
            |(_, feed)| feed.byte_count(),
            |(column, feed)| {
                if cancelled.load(Ordering::Relaxed) {
                    return Err(Error::new(ErrorKind::Cancelled, "writing was interrupted"));
                }
                column.append(feed)
            },
        )?;
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
        let columns = largest_first(&mut self.columns, |column| column.open_bytes(), Column::end_cluster)?;
        let pages = self.place_pages(columns, place)?;
        self.filled_pages += pages.iter().map(Vec::len).sum::<usize>() as u64;
        let mut columns: Vec<(Option<u32>, Vec<PlacedPage>)> =
            pages.into_iter().map(|pages| (None, pages)).collect();
        for fed in &self.layout.fed {
            if let (Some((compression, _)), Some(column)) =
                (columns.get_mut(*fed), self.layout.columns.get(*fed))
            {
                *compression = Some(column.compression.number().cast_unsigned());
            }
        }
        self.add(start..end, columns, place)
    }

    /// Adds a cluster of another RNTuple whose pages are placed already. `placed` says where, by the offsets that they
    /// have there. The open cluster must have been ended.
    ///
    /// # Errors
    /// `Usage` if a page was not placed; those of `place`.
    pub fn add_cluster(
        &mut self,
        cluster: StoredCluster,
        placed: &HashMap<u64, ByteRange>,
        place: &mut PlaceBlob<'_>,
    ) -> Result<()> {
        let missing = || Error::usage("a page was not placed");
        let column = |StoredColumn { compression, pages }: StoredColumn| {
            let page = |page: StoredPage| {
                let ByteRange { start, len } = *placed.get(&page.stored.start).ok_or_else(missing)?;
                let elements = u32::try_from(page.elements).map_err(|_| missing())?;
                let stored = ByteRange { start, len: len.saturating_sub(crate::wire::CHECKSUM as u64) };
                Ok(PlacedPage { elements, stored })
            };
            Ok((compression, pages.into_iter().map(page).collect::<Result<Vec<_>>>()?))
        };
        let columns = cluster.columns.into_iter().map(column).collect::<Result<Vec<_>>>()?;
        let entries = self.clusters.add(cluster.entries);
        self.add(entries, columns, place)
    }

    /// Adds a cluster: for each column, its compression if it has values, and its pages.
    fn add(
        &mut self,
        entries: Range<u64>,
        columns: Vec<(Option<u32>, Vec<PlacedPage>)>,
        place: &mut PlaceBlob<'_>,
    ) -> Result<()> {
        let first_of = |column: usize| self.layout.columns.get(column).map_or(column, |new| new.first_of);
        let mut elements = self.elements.clone();
        let mut placed = Vec::with_capacity(columns.len());
        for (number, (compression, pages)) in columns.into_iter().enumerate() {
            self.pages += pages.len();
            let first_element = self.elements.get(first_of(number)).copied().unwrap_or(0);
            if let Some(elements) = elements.get_mut(first_of(number)) {
                *elements += pages.iter().map(|page| u64::from(page.elements)).sum::<u64>();
            }
            placed.push(PlacedColumn { first_element, compression, pages });
        }
        self.elements = elements;
        let (first_entry, entries) = (entries.start, entries.end - entries.start);
        self.finished.push(PlacedCluster { first_entry, entries, columns: placed });
        if self.pages >= PAGES_OF_LIST { self.end_group(place) } else { Ok(()) }
    }

    /// Places pages behind each other, column by column; those with the content of an earlier one share its place.
    fn place_pages(
        &self,
        columns: Vec<Vec<SealedPage>>,
        place: &mut PlaceBlob<'_>,
    ) -> Result<Vec<Vec<PlacedPage>>> {
        let checksum_len = if self.options.checksums { crate::wire::CHECKSUM as u64 } else { 0 };
        let mut blobs = Blobs::default();
        // Until the blobs are placed, offsets count from the start of their blob.
        let mut relative: Vec<Vec<(usize, PlacedPage)>> = Vec::new();
        for pages in columns {
            let page = |page: SealedPage| {
                let len = page.bytes.len() as u64 - checksum_len;
                let (blob, start) = match self.options.checksums {
                    true => blobs.add_once(page.checksum, page.bytes),
                    false => blobs.add(page.bytes),
                };
                (blob, PlacedPage { elements: page.elements, stored: ByteRange { start, len } })
            };
            relative.push(pages.into_iter().map(page).collect());
        }
        let starts: Vec<u64> = blobs.parts.into_iter().map(place).collect::<Result<_>>()?;
        let placed = |(blob, page): (usize, PlacedPage)| {
            let start = page.stored.start + starts.get(blob).copied().unwrap_or_default();
            PlacedPage { stored: ByteRange { start, ..page.stored }, ..page }
        };
        Ok(relative.into_iter().map(|pages| pages.into_iter().map(placed).collect()).collect())
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
        let late = self.layout.behind(self.in_header);
        let footer = metadata::footer(self.header_checksum, &late, &self.groups, &self.attribute_sets);
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

/// A column without elements.
fn column(new: &NewColumn, options: RNTupleOptions) -> Column {
    let &NewColumn { elements, compression, .. } = new;
    Column::new(Sealing { elements, compression, checksums: options.checksums }, options.page_size)
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
