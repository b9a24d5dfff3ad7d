//! A table with a cache of decoded columns: what the cache holds leaves the plans, and what was decoded goes into it.

use crate::plan::decode;
use crate::selection::Selection;
use crate::table::{Chunk, ChunkBytes, ColumnPlan, ColumnSchema, Table};
use crate::{forward_table, pool};
use bytes::Bytes;
use rayon::prelude::*;
use sapwood_core::{Buffer, Call, Column, Counters, Form, Result};
use sapwood_fetch::blocks::{ColumnShelf, Span};
use sapwood_fetch::{Fetcher, FileIndex};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_128;

/// A table whose decoded columns are kept on the local disk.
///
/// Only whole clusters are kept, of columns whose form does not depend on the data, and whose chunks are in the table's own
/// file.
#[derive(Debug)]
pub struct CachedTable {
    table: Arc<dyn Table>,
    shelf: Arc<ColumnShelf>,
    name: String,
    columns: Mutex<HashMap<Selection, Option<CachedColumn>>>,
}

/// The key of a column in the cache, and its form.
#[derive(Debug, Clone)]
struct CachedColumn {
    key: u128,
    form: Arc<Form>,
    offsets_key: Option<usize>,
}

impl CachedTable {
    /// A table, and the cache of its file. The name tells the table from others of the file.
    pub fn new(table: Arc<dyn Table>, shelf: Arc<ColumnShelf>, name: impl Into<String>) -> CachedTable {
        CachedTable { table, shelf, name: name.into(), columns: Mutex::default() }
    }

    /// The column of a selection; `None` if it cannot be read.
    fn column(&self, selection: &Selection) -> Option<CachedColumn> {
        let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(column) = columns.get(selection) {
            return column.clone();
        }
        let column = self.describe(selection);
        columns.insert(selection.clone(), column.clone());
        column
    }

    fn describe(&self, selection: &Selection) -> Option<CachedColumn> {
        let (form, _) = self.table.form(selection).ok()?;
        let offsets_key = self.table.plan(selection, &(0..0)).ok()?.offsets_key();
        let ColumnSchema { name, typename, .. } = self.table.schema(selection.column)?;
        // Another version of the software may decode differently.
        let version = env!("CARGO_PKG_VERSION");
        let all = format!("{version}\n{}\n{name}\n{typename}\n{:?}\n{form:?}", self.name, selection.members);
        Some(CachedColumn { key: xxh3_128(all.as_bytes()), form: Arc::new(form), offsets_key })
    }

    /// The whole clusters among some entries; all of them if no clusters are recorded.
    fn whole_clusters(&self, entries: &Range<u64>) -> Range<u64> {
        let starts = self.table.cluster_starts();
        if starts.is_empty() {
            return entries.clone();
        }
        let first = starts.get(starts.partition_point(|start| *start < entries.start));
        let end = starts.partition_point(|start| *start <= entries.end).checked_sub(1);
        match (first, end.and_then(|end| starts.get(end))) {
            (Some(first), Some(end)) if first < end => *first..*end,
            _ => 0..0,
        }
    }

    fn keep_one(&self, selection: &Selection, entries: &Range<u64>, column: &Column, time: Duration) {
        let whole = self.whole_clusters(entries);
        let Some(cached) = self.column(selection).filter(|cached| *cached.form == column.form) else {
            return;
        };
        if whole.is_empty() || self.shelf.holds(cached.key, &whole) {
            return;
        }
        let index = |entry: u64| usize::try_from(entry - entries.start).unwrap_or(usize::MAX);
        // The identity of the table's file does not show changes of others.
        let is_own = |chunk: &Chunk| chunk.file == 0;
        let plan = self.table.plan(selection, entries);
        if index(entries.end) != column.length || !plan.is_ok_and(|plan| plan.chunks().iter().all(is_own)) {
            return;
        }
        let part = if whole == *entries {
            Ok(column.clone())
        } else {
            column.slice(index(whole.start)..index(whole.end))
        };
        if let Ok(part) = part {
            let buffers: Vec<&[u8]> = part.buffers.iter().map(|buffer| buffer.as_bytes()).collect();
            self.shelf.keep(cached.key, &whole, &buffers, time);
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl Table for CachedTable {
    forward_table!(self => self.table);

    fn fetcher(&self, file: FileIndex) -> Fetcher {
        self.table.fetcher(file)
    }

    fn plan<'t>(&'t self, selection: &Selection, entries: &Range<u64>) -> Result<Box<dyn ColumnPlan + 't>> {
        let Some(column) = self.column(selection).filter(|column| self.shelf.has(column.key)) else {
            return self.table.plan(selection, entries);
        };
        let found = pool::computing(None)?.install(|| self.shelf.find(column.key, entries));
        let mut parts = Vec::with_capacity(found.len());
        let mut next = entries.start;
        for (part, span) in found {
            if next < part.start {
                parts.push(Part::Stored(self.table.plan(selection, &(next..part.start))?));
            }
            next = part.end;
            parts.push(Part::Cached(CachedPart { entries: part, span, form: Arc::clone(&column.form) }));
        }
        if parts.is_empty() || next < entries.end {
            let rest = self.table.plan(selection, &(next..entries.end))?;
            if parts.is_empty() {
                return Ok(rest);
            }
            // The column may end before the entries do.
            if !rest.entries().is_empty() {
                parts.push(Part::Stored(rest));
            }
        }
        Ok(Box::new(CachedPlan::new(parts, column.offsets_key)))
    }

    /// Keeps the columns. They are read-only, as they will be when they come from the cache.
    fn uncompress(&self, chunk: &Chunk, stored: &Bytes) -> Result<Bytes> {
        self.table.uncompress(chunk, stored)
    }

    fn decoded(
        &self,
        selections: &[Selection],
        entries: &Range<u64>,
        mut columns: Vec<Column>,
        time: Duration,
    ) -> Vec<Column> {
        let all: usize = columns.iter().map(Column::byte_count).sum();
        selections.par_iter().zip(&columns).for_each(|(selection, column)| {
            let share = column.byte_count() as f64 / all.max(1) as f64;
            self.keep_one(selection, entries, column, time.mul_f64(share));
        });
        // Columns that share their offsets go on to do so.
        let mut shared: HashMap<*const Buffer, Arc<Buffer>> = HashMap::new();
        for buffer in columns.iter_mut().flat_map(|column| &mut column.buffers) {
            *buffer = Arc::clone(shared.entry(Arc::as_ptr(buffer)).or_insert_with(|| buffer.share()));
        }
        columns
    }
}

/// A part of a column in the cache.
struct CachedPart {
    entries: Range<u64>,
    span: Arc<Span>,
    form: Arc<Form>,
}

impl CachedPart {
    fn column(&self) -> Result<Column> {
        let Span { entries, buffers } = &*self.span;
        let index = |entry: u64| usize::try_from(entry.saturating_sub(entries.start)).unwrap_or(usize::MAX);
        let buffers = buffers.iter().map(|bytes| Arc::new(Buffer::from(bytes.clone()))).collect();
        let whole = Column { form: (*self.form).clone(), length: index(entries.end), buffers };
        if self.entries == *entries {
            return Ok(whole);
        }
        whole.slice(index(self.entries.start)..index(self.entries.end))
    }
}

/// Consecutive entries of a plan.
enum Part<'t> {
    Cached(CachedPart),
    Stored(Box<dyn ColumnPlan + 't>),
}

impl Part<'_> {
    fn entries(&self) -> Range<u64> {
        match self {
            Part::Cached(part) => part.entries.clone(),
            Part::Stored(plan) => plan.entries(),
        }
    }
}

/// How to read a column of which the cache holds some entries.
struct CachedPlan<'t> {
    parts: Vec<Part<'t>>,
    chunks: Vec<Chunk>,
    offsets_key: Option<usize>,
}

impl<'t> CachedPlan<'t> {
    fn new(parts: Vec<Part<'t>>, offsets_key: Option<usize>) -> CachedPlan<'t> {
        let mut plan = CachedPlan { parts, chunks: Vec::new(), offsets_key };
        plan.chunks = plan.stored().flat_map(|plan| plan.chunks().to_vec()).collect();
        plan
    }

    fn stored(&self) -> impl Iterator<Item = &(dyn ColumnPlan + 't)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Stored(plan) => Some(&**plan),
            Part::Cached(_) => None,
        })
    }
}

impl ColumnPlan for CachedPlan<'_> {
    fn entries(&self) -> Range<u64> {
        let start = self.parts.first().map_or(0, |part| part.entries().start);
        start..self.parts.last().map_or(start, |part| part.entries().end)
    }

    fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    fn narrow(&self, index: ChunkBytes<'_>, _: Option<&Arc<Buffer>>) -> Result<Option<Vec<Chunk>>> {
        let mut needed = Vec::new();
        for plan in self.stored() {
            needed.extend(plan.narrow(index, None)?.unwrap_or_else(|| plan.chunks().to_vec()));
        }
        Ok(Some(needed))
    }

    fn can_narrow(&self) -> bool {
        self.stored().any(ColumnPlan::can_narrow)
    }

    fn decode(
        &self,
        chunks: ChunkBytes<'_>,
        likely: Option<&Arc<Buffer>>,
        counters: &Counters,
    ) -> Result<Column> {
        let part = |part: &Part<'_>| match part {
            Part::Cached(part) => {
                let column = part.column()?;
                counters.cached_columns.add(1);
                counters.cached_column_bytes.add(column.byte_count() as u64);
                Ok(column)
            }
            Part::Stored(plan) => decode(&**plan, chunks, None, counters),
        };
        let parts = self.parts.iter().map(part).collect::<Result<Vec<_>>>()?;
        let mut column = match <[Column; 1]>::try_from(parts) {
            Ok([column]) => column,
            Err(parts) => Column::concat(parts)?,
        };
        if let (Form::List(_), Some(own), Some(likely)) = (&column.form, column.buffers.first_mut(), likely)
            && **own == **likely
        {
            *own = Arc::clone(likely);
        }
        Ok(column)
    }

    fn offsets_key(&self) -> Option<usize> {
        self.offsets_key
    }

    fn decodes_whole_chunks(&self) -> bool {
        self.stored().any(ColumnPlan::decodes_whole_chunks)
    }

    fn counts_bytes(&self) -> bool {
        true
    }
}
