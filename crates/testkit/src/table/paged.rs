//! A made format with columns in pages, for tests of the readers of tables: as unlike a tree as a format may be.
//!
//! Pages have no headers: only the list of pages says how long they are when uncompressed. Which pages hold the items of
//! some entries is known when the pages with the ends of the lists were decoded.

use super::made::{PagedColumn, PagedFiles, fnv};
use bytes::Bytes;
use sapwood_core::{Buffer, ByteRange, Call, Column, Counters, Error, ErrorKind, Form, Result};
use sapwood_fetch::Fetcher;
use sapwood_source::Source;
use sapwood_table::pool::wait;
use sapwood_table::{
    Chunk, ChunkBytes, ChunkContent, ColumnContent, ColumnPlan, ColumnSchema, EntryStatistics, FileIndex,
    Selection, Table, chunk_content,
};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A table in the format of [`PagedFiles`].
#[derive(Debug)]
pub struct PagedTable {
    made: Arc<PagedFiles>,
    fetchers: Vec<Fetcher>,
    /// The pages of each stored column, by cluster: read when they are needed first.
    pages: OnceLock<Vec<Vec<Vec<Page>>>>,
}

#[derive(Debug, Clone, Copy)]
struct Page {
    range: ByteRange,
    /// Where its elements begin in the cluster.
    first: u64,
    elements: u64,
}

impl Page {
    fn end(&self) -> u64 {
        self.first + self.elements
    }
}

impl PagedTable {
    /// The table in such files, which are read from these sources.
    pub fn new(made: Arc<PagedFiles>, sources: Vec<Arc<dyn Source>>) -> PagedTable {
        let fetcher = |source| Fetcher::new(source, Arc::new(Counters::default()));
        PagedTable { made, fetchers: sources.into_iter().map(fetcher).collect(), pages: OnceLock::new() }
    }

    fn column(&self, column: usize) -> Result<&PagedColumn> {
        self.made.columns.get(column).ok_or_else(|| Error::usage(format!("there is no column {column}")))
    }

    /// The fields that are selected, each with its stored column.
    fn fields(&self, selection: &Selection) -> Result<Vec<(String, usize)>> {
        let wanted = |name: &String| selection.members.is_empty() || selection.members.contains(name);
        let fields = self.column(selection.column)?.fields.iter().filter(|(name, _)| wanted(name));
        Ok(fields.cloned().collect())
    }

    fn pages(&self, stored: usize, cluster: usize) -> &[Page] {
        let pages = self.pages.get().and_then(|pages| pages.get(stored)?.get(cluster));
        pages.map(Vec::as_slice).unwrap_or_default()
    }

    /// The clusters with some of the entries, and these of each.
    fn clusters(&self, entries: &Range<u64>) -> Vec<(usize, Range<u64>)> {
        let bounds = self.made.starts.windows(2).enumerate();
        let parts = bounds.map(|(cluster, bounds)| {
            let (first, end) = (entries.start.max(bounds[0]), entries.end.min(bounds[1]));
            (cluster, first.saturating_sub(bounds[0])..end.saturating_sub(bounds[0]))
        });
        parts.filter(|(_, part)| !part.is_empty()).collect()
    }

    fn chunk(&self, stored: usize, page: &Page, entries: Range<u64>, index: bool) -> Chunk {
        Chunk {
            file: self.made.stored[stored].file,
            range: page.range,
            entries,
            uncompressed_bytes: page.elements * self.made.stored[stored].primitive.size() as u64,
            index,
            shared: index && self.made.columns.iter().filter(|one| one.ends == Some(stored)).count() > 1,
        }
    }

    /// The elements `wanted` of a stored column in a cluster.
    fn elements(
        &self,
        (stored, cluster): (usize, usize),
        wanted: &Range<u64>,
        chunks: ChunkBytes<'_>,
    ) -> Result<Vec<u8>> {
        let size = self.made.stored[stored].primitive.size() as u64;
        let mut elements = Vec::new();
        for page in overlapping(self.pages(stored, cluster), wanted) {
            let chunk = self.chunk(stored, page, 0..0, false);
            let bytes = match chunk_content(chunks, chunk.id())? {
                ChunkContent::Uncompressed(bytes) => bytes,
                ChunkContent::Stored(bytes) => self.uncompress(&chunk, &bytes)?,
            };
            let from = (wanted.start.max(page.first) - page.first) * size;
            let to = (wanted.end.min(page.end()) - page.first) * size;
            elements.extend_from_slice(bytes.get(from as usize..to as usize).unwrap_or_default());
        }
        match elements.len() as u64 == (wanted.end - wanted.start) * size {
            true => Ok(elements),
            false => Err(Error::corrupt("a cluster has too few elements")),
        }
    }
}

fn overlapping<'p>(pages: &'p [Page], wanted: &Range<u64>) -> impl Iterator<Item = &'p Page> + use<'p> {
    let wanted = wanted.clone();
    pages.iter().filter(move |page| page.first < wanted.end && wanted.start < page.end())
}

impl Table for PagedTable {
    fn url(&self) -> &str {
        "memory:paged"
    }

    fn path(&self) -> &str {
        "paged"
    }

    fn entries(&self) -> u64 {
        self.made.starts.last().copied().unwrap_or_default()
    }

    fn cluster_starts(&self) -> &[u64] {
        &self.made.starts
    }

    fn column_count(&self) -> usize {
        self.made.columns.len()
    }

    fn schema(&self, column: usize) -> Option<ColumnSchema<'_>> {
        let PagedColumn { name, form, .. } = self.made.columns.get(column)?;
        let content = ColumnContent::Values(form);
        Some(ColumnSchema { name, title: "", typename: "", group: None, content, count_column: None })
    }

    fn fetcher(&self, file: FileIndex) -> Fetcher {
        self.fetchers[file.min(self.fetchers.len() - 1)].clone()
    }

    fn locate(&self, _: &[Selection], call: &mut Call<'_>) -> Result<()> {
        if self.pages.get().is_none() {
            let (fetcher, deadline) = (self.fetcher(0), call.deadline());
            let list = wait(async { fetcher.fetch(&[self.made.list], deadline).await }, call)?;
            let _ = self.pages.set(parse(list.first().map_or(&[], |list| &**list), &self.made)?);
        }
        Ok(())
    }

    fn form(&self, selection: &Selection) -> Result<(Form, Vec<(String, String)>)> {
        let column = self.column(selection.column)?;
        let fields = self.fields(selection)?.into_iter();
        let fields = fields.map(|(name, stored)| (name, Form::Primitive(self.made.stored[stored].primitive)));
        let mut fields: Vec<(String, Form)> = fields.collect();
        let items = match fields.first() {
            Some((name, _)) if name.is_empty() => fields.remove(0).1,
            _ => Form::record(fields),
        };
        Ok((if column.ends.is_some() { Form::list(items) } else { items }, Vec::new()))
    }

    fn plan<'t>(&'t self, selection: &Selection, entries: &Range<u64>) -> Result<Box<dyn ColumnPlan + 't>> {
        let fields = self.fields(selection)?;
        let end = self.entries();
        let mut plan = PagedPlan {
            table: self,
            form: self.form(selection)?.0,
            ends: self.column(selection.column)?.ends,
            fields: fields.into_iter().map(|(_, stored)| stored).collect(),
            entries: entries.start.min(end)..entries.end.min(end),
            chunks: Vec::new(),
        };
        plan.chunks = self.clusters(&plan.entries).iter().flat_map(|part| plan.chunks_of(part)).collect();
        Ok(Box::new(plan))
    }

    fn uncompressed_len(&self, chunk: &Chunk, stored: &Bytes) -> Option<usize> {
        let len = usize::try_from(chunk.uncompressed_bytes).ok()?;
        (stored.len() != len + size_of::<u64>()).then_some(len)
    }

    /// Pages are stored as they are, or as pairs of a count and a byte, with a checksum behind.
    fn uncompress(&self, chunk: &Chunk, stored: &Bytes) -> Result<Bytes> {
        let corrupt = |kind, what: &str| Error::new(kind, what).at(chunk.range.start);
        let Some((payload, checksum)) = stored.split_last_chunk::<8>() else {
            return Err(corrupt(ErrorKind::Truncated, "a page is too short"));
        };
        if fnv(payload) != u64::from_le_bytes(*checksum) {
            return Err(corrupt(ErrorKind::Checksum, "the checksum of a page does not match"));
        }
        if payload.len() as u64 == chunk.uncompressed_bytes {
            return Ok(stored.slice(..payload.len()));
        }
        let pairs = payload.chunks_exact(2);
        let bytes: Vec<u8> = pairs.flat_map(|pair| [pair[1]].repeat(pair[0].into())).collect();
        match bytes.len() as u64 == chunk.uncompressed_bytes {
            true => Ok(bytes.into()),
            false => Err(corrupt(ErrorKind::Corrupt, "a page has another length than its list says")),
        }
    }

    fn statistics(&self, column: usize, _: &mut Call<'_>) -> Result<Vec<EntryStatistics>> {
        Ok(self.column(column)?.statistics.clone())
    }
}

/// The list of pages: for each stored column and cluster their number, then where each is, and how many elements it has.
fn parse(list: &[u8], made: &PagedFiles) -> Result<Vec<Vec<Vec<Page>>>> {
    let mut words = list.chunks_exact(8).filter_map(|word| word.try_into().ok().map(u64::from_le_bytes));
    let mut next = || words.next().ok_or_else(|| Error::corrupt("the list of pages is too short"));
    let mut cluster = || {
        let mut first = 0;
        let mut pages = Vec::new();
        for _ in 0..next()? {
            let range = ByteRange { start: next()?, len: next()? };
            let page = Page { range, first, elements: next()? };
            first = page.end();
            pages.push(page);
        }
        Ok(pages)
    };
    let clusters = made.starts.len().saturating_sub(1);
    made.stored.iter().map(|_| (0..clusters).map(|_| cluster()).collect()).collect()
}

struct PagedPlan<'t> {
    table: &'t PagedTable,
    form: Form,
    /// The stored column with the ends of the lists.
    ends: Option<usize>,
    /// The stored columns with the items.
    fields: Vec<usize>,
    entries: Range<u64>,
    chunks: Vec<Chunk>,
}

/// A cluster, and some entries of it.
type Part = (usize, Range<u64>);

impl PagedPlan<'_> {
    /// The entries whose ends are needed: where the first list begins is where the one before it ends.
    fn ends_of(part: &Range<u64>) -> Range<u64> {
        part.start.saturating_sub(1)..part.end
    }

    fn pages(&self, (cluster, _): &Part) -> impl Iterator<Item = (usize, &Page)> {
        let of_field = |stored: usize| (stored, self.table.pages(stored, *cluster));
        self.fields
            .iter()
            .map(move |stored| of_field(*stored))
            .flat_map(|(stored, pages)| pages.iter().map(move |page| (stored, page)))
    }

    /// The chunks of a cluster, before anything was read.
    fn chunks_of(&self, part: &Part) -> Vec<Chunk> {
        let (cluster, entries) = part;
        let start = self.table.made.starts[*cluster];
        let end = self.table.made.starts[cluster + 1];
        let exact = |page: &Page| start + page.first..start + page.end();
        let Some(ends) = self.ends else {
            let pages =
                self.pages(part).filter(|(_, page)| page.first < entries.end && entries.start < page.end());
            return pages.map(|(stored, page)| self.table.chunk(stored, page, exact(page), false)).collect();
        };
        let index = overlapping(self.table.pages(ends, *cluster), &Self::ends_of(entries));
        // Where a list begins is where the one before it ends.
        let needing = |page: &Page| start + page.first..end.min(start + page.end() + 1);
        let index = index.map(|page| self.table.chunk(ends, page, needing(page), true));
        index
            .chain(self.pages(part).map(|(stored, page)| self.table.chunk(stored, page, start..end, false)))
            .collect()
    }

    /// Where the lists of a part begin and end in their cluster: one number more than lists.
    fn bounds(&self, (cluster, entries): &Part, ends: usize, chunks: ChunkBytes<'_>) -> Result<Vec<u64>> {
        let wanted = Self::ends_of(entries);
        let bytes = self.table.elements((ends, *cluster), &wanted, chunks)?;
        let words = bytes.chunks_exact(8).filter_map(|word| word.try_into().ok().map(u64::from_le_bytes));
        let first = if entries.start == 0 { Some(0) } else { None };
        let bounds: Vec<u64> = first.into_iter().chain(words).collect();
        match bounds.is_sorted() {
            true => Ok(bounds),
            false => Err(Error::corrupt("a list ends before it begins")),
        }
    }

    /// The entries with items in a page; those whose ends are not at hand may have some, too.
    fn entries_of(page: &Page, part: &Range<u64>, bounds: &[u64], cluster: &Range<u64>) -> Range<u64> {
        let place = |index: usize| cluster.start + part.start + index as u64;
        let (known_from, known_to) = (bounds.first().copied(), bounds.last().copied());
        let from = match known_from {
            Some(first) if first <= page.first => place(bounds.partition_point(|end| *end <= page.first)) - 1,
            _ => cluster.start,
        };
        let to = match known_to {
            Some(last) if page.end() <= last => place(bounds.partition_point(|end| *end < page.end())),
            _ => cluster.end,
        };
        from..to
    }
}

impl ColumnPlan for PagedPlan<'_> {
    fn entries(&self) -> Range<u64> {
        self.entries.clone()
    }

    fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    fn can_narrow(&self) -> bool {
        self.ends.is_some()
    }

    fn narrow(&self, index: ChunkBytes<'_>) -> Result<Option<Vec<Chunk>>> {
        let Some(ends) = self.ends else { return Ok(None) };
        let mut chunks: Vec<Chunk> = self.chunks.iter().filter(|chunk| chunk.index).cloned().collect();
        for part in self.table.clusters(&self.entries) {
            let bounds = self.bounds(&part, ends, index)?;
            let items = bounds.first().copied().unwrap_or(0)..bounds.last().copied().unwrap_or(0);
            let cluster = self.table.made.starts[part.0]..self.table.made.starts[part.0 + 1];
            let pages =
                self.pages(&part).filter(|(_, page)| page.first < items.end && items.start < page.end());
            chunks.extend(pages.map(|(stored, page)| {
                let entries = Self::entries_of(page, &part.1, &bounds, &cluster);
                self.table.chunk(stored, page, entries, false)
            }));
        }
        Ok(Some(chunks))
    }

    fn decode(&self, chunks: ChunkBytes<'_>, _: Option<&Arc<Buffer>>, counters: &Counters) -> Result<Column> {
        let mut lists = vec![0_i64];
        let mut fields = vec![Vec::new(); self.fields.len()];
        for part in self.table.clusters(&self.entries) {
            let items = match self.ends {
                None => part.1.clone(),
                Some(ends) => {
                    let bounds = self.bounds(&part, ends, chunks)?;
                    let first = bounds.first().copied().unwrap_or(0);
                    let base = lists.last().copied().unwrap_or(0);
                    lists.extend(bounds.iter().skip(1).map(|end| base + (end - first) as i64));
                    first..bounds.last().copied().unwrap_or(0)
                }
            };
            for (field, stored) in fields.iter_mut().zip(&self.fields) {
                field.extend(self.table.elements((*stored, part.0), &items, chunks)?);
            }
        }
        counters.baskets.add(self.chunks.len() as u64);
        let lists = self.ends.map(|_| Buffer::from_slice(&lists));
        let buffers = lists.into_iter().chain(fields.iter().map(|field| Buffer::from_slice(field)));
        let length = (self.entries.end - self.entries.start) as usize;
        Ok(Column { form: self.form.clone(), length, buffers: buffers.map(Arc::new).collect() })
    }

    fn offsets_key(&self) -> Option<usize> {
        self.ends
    }
}
