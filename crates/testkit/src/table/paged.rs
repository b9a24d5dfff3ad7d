//! A made format with columns in pages, for tests of the readers of tables: as unlike a tree as a format may be.
//!
//! Pages have no headers: only the list of pages says how long they are when uncompressed. Which pages hold the items of
//! some entries is known when the pages with the ends of the lists were decoded.

use super::made::{PagedColumn, PagedFiles, StoredColumn};
use super::page::{Page, uncompressed};
use bytes::Bytes;
use sapwood_core::{Buffer, Call, Column, Counters, Error, Form, Result};
use sapwood_fetch::Fetcher;
use sapwood_source::Source;
use sapwood_table::pool::wait;
use sapwood_table::{
    Chunk, ChunkBytes, ChunkContent, ClusterPart, ColumnContent, ColumnPlan, ColumnSchema, EntryStatistics,
    FileIndex, Selection, Table, TableLabel, chunk_content, entries_of_page,
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

impl PagedTable {
    /// The table in such files, which are read from these sources.
    pub fn new(made: Arc<PagedFiles>, sources: Vec<Arc<dyn Source>>) -> PagedTable {
        let fetcher = |source| Fetcher::new(source, Arc::new(Counters::default()));
        PagedTable { made, fetchers: sources.into_iter().map(fetcher).collect(), pages: OnceLock::new() }
    }

    fn column(&self, column: usize) -> Result<&PagedColumn> {
        self.made.columns.get(column).ok_or_else(|| Error::usage(format!("there is no column {column}")))
    }

    /// The pages of a stored column in a cluster that have some elements.
    fn pages<'t>(&'t self, stored: usize, part: &ClusterPart) -> impl Iterator<Item = &'t Page> + use<'t> {
        let pages = self.pages.get().and_then(|pages| pages.get(stored)?.get(part.cluster));
        let Range { start, end } = part.range;
        pages.into_iter().flatten().filter(move |page| page.elements.start < end && start < page.elements.end)
    }

    fn chunk(&self, stored: usize, page: &Page, entries: Range<u64>, index: bool) -> Chunk {
        let StoredColumn { primitive, file } = self.made.stored[stored];
        let elements = page.elements.end - page.elements.start;
        Chunk {
            file,
            range: page.range,
            entries,
            uncompressed_bytes: elements * primitive.size() as u64,
            index,
            shared: index && self.made.columns.iter().filter(|one| one.ends == Some(stored)).count() > 1,
        }
    }

    /// The bytes of some elements of a stored column.
    fn elements(&self, stored: usize, part: &ClusterPart, chunks: ChunkBytes<'_>) -> Result<Vec<u8>> {
        let size = self.made.stored[stored].primitive.size() as u64;
        let mut found = Vec::new();
        for page in self.pages(stored, part) {
            let chunk = self.chunk(stored, page, 0..0, false);
            let bytes = match chunk_content(chunks, chunk.id())? {
                ChunkContent::Uncompressed(bytes) => bytes,
                ChunkContent::Stored(bytes) => self.uncompress(&chunk, &bytes)?,
            };
            let Range { start, end } = page.elements;
            let wanted = part.range.start.max(start) - start..part.range.end.min(end) - start;
            let bytes = bytes.get((wanted.start * size) as usize..(wanted.end * size) as usize);
            found.extend_from_slice(bytes.unwrap_or_default());
        }
        match found.len() as u64 == part.len() * size {
            true => Ok(found),
            false => Err(Error::corrupt("a cluster has too few elements")),
        }
    }
}

impl Table for PagedTable {
    fn url(&self) -> &str {
        "memory:paged"
    }

    fn path(&self) -> &str {
        "paged"
    }

    fn label(&self) -> TableLabel<'_> {
        TableLabel { name: "paged", title: "", class_name: "" }
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
            let _ = self.pages.set(self.made.pages(list.first().map_or(&[], |list| list))?);
        }
        Ok(())
    }

    fn form(&self, selection: &Selection) -> Result<(Form, Vec<(String, String)>)> {
        let mut form = self.column(selection.column)?.form.clone();
        if let Form::List(items) = &mut form
            && let Form::Record { fields, .. } = &mut **items
        {
            fields.retain(|field| is_selected(selection, &field.name));
        }
        Ok((form, Vec::new()))
    }

    fn plan<'t>(&'t self, selection: &Selection, entries: &Range<u64>) -> Result<Box<dyn ColumnPlan + 't>> {
        let column = self.column(selection.column)?;
        let fields = column.fields.iter().filter(|(name, _)| is_selected(selection, name));
        let mut plan = PagedPlan {
            table: self,
            form: self.form(selection)?.0,
            ends: column.ends,
            fields: fields.map(|(_, stored)| *stored).collect(),
            entries: entries.clone(),
            parts: ClusterPart::of_entries(&self.made.starts, entries),
            chunks: Vec::new(),
        };
        plan.chunks = plan.parts.iter().flat_map(|part| plan.chunks_of(part, None)).collect();
        Ok(Box::new(plan))
    }

    fn uncompress(&self, chunk: &Chunk, stored: &Bytes) -> Result<Bytes> {
        uncompressed(stored, chunk.uncompressed_bytes).map_err(|error| error.at(chunk.range.start))
    }

    fn statistics(&self, column: usize, _: &mut Call<'_>) -> Result<Vec<EntryStatistics>> {
        Ok(self.column(column)?.statistics.clone())
    }
}

fn is_selected(selection: &Selection, field: &str) -> bool {
    selection.members.is_empty() || selection.members.iter().any(|member| member == field)
}

struct PagedPlan<'t> {
    table: &'t PagedTable,
    form: Form,
    /// The stored column with the ends of the lists.
    ends: Option<usize>,
    /// The stored columns with the items.
    fields: Vec<usize>,
    entries: Range<u64>,
    parts: Vec<ClusterPart>,
    chunks: Vec<Chunk>,
}

impl PagedPlan<'_> {
    /// The ends that tell where the lists of a part begin and end: where one begins is where the one before it ends.
    fn ends_of(part: &ClusterPart) -> ClusterPart {
        ClusterPart { cluster: part.cluster, range: part.range.start.saturating_sub(1)..part.range.end }
    }

    /// Where the items of each entry of a part begin in the cluster, and where the last end.
    fn bounds(&self, part: &ClusterPart, chunks: ChunkBytes<'_>) -> Result<Vec<u64>> {
        let Some(ends) = self.ends else { return Ok((part.range.start..=part.range.end).collect()) };
        let bytes = self.table.elements(ends, &Self::ends_of(part), chunks)?;
        let words = bytes.chunks_exact(8).filter_map(|word| word.try_into().ok().map(u64::from_le_bytes));
        let first = (part.range.start == 0).then_some(0);
        let bounds: Vec<u64> = first.into_iter().chain(words).collect();
        match bounds.is_sorted() {
            true => Ok(bounds),
            false => Err(Error::corrupt("a list ends before it begins")),
        }
    }

    /// The chunks of a part: those that the bounds of its lists show, or all that may be needed before they are known.
    fn chunks_of(&self, part: &ClusterPart, bounds: Option<&[u64]>) -> Vec<Chunk> {
        let cluster = self.table.made.starts[part.cluster]..self.table.made.starts[part.cluster + 1];
        let (table, first) = (self.table, cluster.start + part.range.start);
        let mut chunks = Vec::new();
        if let Some(stored) = self.ends {
            for page in table.pages(stored, &Self::ends_of(part)) {
                let (from, to) = (cluster.start + page.elements.start, cluster.start + page.elements.end + 1);
                chunks.push(table.chunk(stored, page, from..to.min(cluster.end), true));
            }
        }
        let of_entries: Vec<u64> = (part.range.start..=part.range.end).collect();
        let bounds = bounds.or(self.ends.is_none().then_some(&*of_entries));
        let items = ClusterPart { cluster: part.cluster, range: bounds.map_or(0..u64::MAX, span) };
        for stored in &self.fields {
            for page in table.pages(*stored, &items) {
                let bounds = bounds.unwrap_or_default();
                let entries = entries_of_page(&page.elements, bounds, first, cluster.clone());
                chunks.push(table.chunk(*stored, page, entries, false));
            }
        }
        chunks
    }
}

/// All items that bounds enclose.
fn span(bounds: &[u64]) -> Range<u64> {
    bounds.first().copied().unwrap_or(0)..bounds.last().copied().unwrap_or(0)
}

impl ColumnPlan for PagedPlan<'_> {
    fn entries(&self) -> Range<u64> {
        self.entries.clone()
    }

    fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    fn narrow(&self, index: ChunkBytes<'_>, _: Option<&Arc<Buffer>>) -> Result<Option<Vec<Chunk>>> {
        let chunks = self.parts.iter().map(|part| Ok(self.chunks_of(part, Some(&self.bounds(part, index)?))));
        Ok(Some(chunks.collect::<Result<Vec<_>>>()?.concat()))
    }

    fn decode(&self, chunks: ChunkBytes<'_>, _: Option<&Arc<Buffer>>, counters: &Counters) -> Result<Column> {
        let mut offsets = vec![0_i64];
        let mut fields = vec![Vec::new(); self.fields.len()];
        for part in &self.parts {
            let bounds = self.bounds(part, chunks)?;
            let items = ClusterPart { cluster: part.cluster, range: span(&bounds) };
            let base = offsets.last().copied().unwrap_or(0) - items.range.start as i64;
            offsets.extend(bounds.iter().skip(1).map(|end| base + *end as i64));
            for (field, stored) in fields.iter_mut().zip(&self.fields) {
                field.extend(self.table.elements(*stored, &items, chunks)?);
            }
        }
        counters.baskets.add(self.chunks.len() as u64);
        let offsets = self.ends.map(|_| Buffer::from_slice(&offsets));
        let buffers = offsets.into_iter().chain(fields.iter().map(|field| Buffer::from_slice(field)));
        let length = (self.entries.end - self.entries.start) as usize;
        Ok(Column { form: self.form.clone(), length, buffers: buffers.map(Arc::new).collect() })
    }

    fn offsets_key(&self) -> Option<usize> {
        self.ends
    }
}
