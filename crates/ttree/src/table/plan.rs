//! Plans how to read some entries of a branch: which baskets, and how to decode them.

use crate::decode::{BasketBytes, Counts, Interpretation, Layout, decode};
use crate::{BasketRef, Branch, BranchType, Meaning};
use sapwood_core::{Buffer, ByteRange, Column, Counters, Error, Form, Primitive, Result};
use sapwood_table::{Chunk, ChunkBytes, ChunkContent, ChunkId, ColumnPlan, FileIndex, chunk_content};
use std::ops::Range;
use std::sync::Arc;

/// The entries of one branch, and its count branch if the baskets have no offset tables.
pub(super) struct BranchRead<'t> {
    values: BranchPlan<'t>,
    counts: Option<BranchPlan<'t>>,
    chunks: Vec<Chunk>,
}

/// A branch and its baskets.
pub(super) struct StoredBranch<'t> {
    pub(super) branch: &'t Branch,
    pub(super) baskets: &'t [BasketRef],
    pub(super) file: FileIndex,
}

impl<'t> StoredBranch<'t> {
    /// The same with only the baskets that hold some entries.
    fn within(self, entries: &Range<u64>) -> StoredBranch<'t> {
        let from = self.baskets.partition_point(|basket| basket.end() <= entries.start);
        let to = self.baskets.partition_point(|basket| basket.first_entry < entries.end);
        let to = if entries.is_empty() { from } else { to };
        StoredBranch { baskets: self.baskets.get(from..to).unwrap_or_default(), ..self }
    }

    fn chunks(&self, index: bool, shared: bool) -> impl Iterator<Item = Chunk> {
        let Branch { first_entry, entries, zip_bytes, total_bytes, .. } = *self.branch;
        let (first, end) = (first_entry, first_entry.saturating_add(entries));
        self.baskets.iter().map(move |basket| {
            let bytes = u128::from(basket.len) * u128::from(total_bytes) / u128::from(zip_bytes.max(1));
            Chunk {
                file: self.file,
                range: ByteRange { start: basket.offset, len: basket.len },
                entries: basket.first_entry.max(first)..basket.end().min(end),
                uncompressed_bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
                index,
                shared,
            }
        })
    }

    /// The chunks that hold some entries of the branch itself.
    pub(super) fn chunks_of(self, entries: &Range<u64>) -> Vec<Chunk> {
        self.within(entries).chunks(false, false).collect()
    }
}

/// How to read some entries of a branch.
struct BranchPlan<'t> {
    /// The baskets that hold them.
    stored: StoredBranch<'t>,
    /// How to decode the whole branch, or the selected members.
    branch_type: Arc<BranchType>,
    entries: Range<u64>,
}

/// How to decode a branch.
///
/// # Errors
/// `Corrupt` or `Unsupported` if it cannot be read.
pub(super) fn interpretation<'o>(branch: &Branch, branch_type: &'o BranchType) -> Result<&'o Interpretation> {
    let error = match &branch_type.meaning {
        _ if branch.broken.is_some() => Error::corrupt(branch.broken.clone().unwrap_or_default()),
        Meaning::Column(interpretation) => return Ok(interpretation),
        Meaning::Group => {
            Error::unsupported("the branch has no data of its own").hint("read its sub-branches")
        }
        Meaning::Unsupported(why) => {
            Error::unsupported(format!("the type {} cannot be read: {why}", branch_type.typename))
        }
    };
    Err(error.branch(&branch.path))
}

impl<'t> BranchRead<'t> {
    /// The plan for the entries `entries` of a branch, as far as the branch has them. `counts` finds its
    /// count branch.
    pub(super) fn new(
        stored: StoredBranch<'t>,
        branch_type: Arc<BranchType>,
        entries: &Range<u64>,
        counts: impl Fn(usize) -> Result<(StoredBranch<'t>, Arc<BranchType>)>,
    ) -> Result<Self> {
        let values = BranchPlan::new(stored, branch_type, entries)?;
        let interpretation = values.interpretation()?;
        let counted = |count: usize, entries: &Range<u64>| {
            let (stored, branch_type) = counts(count)?;
            BranchPlan::new(stored, branch_type, entries).map(Some)
        };
        let counts = match interpretation.count_branch {
            Some(count) if interpretation.counts_objects() => counted(count, &values.entries)?,
            // Only with this feature can a basket omit the offsets of its entries (TBasket §5.2).
            Some(count) if values.stored.branch.io_bits != 0 => {
                match (values.stored.baskets.first(), values.stored.baskets.last()) {
                    (Some(first), Some(last)) => counted(count, &(first.first_entry..last.end()))?,
                    _ => None,
                }
            }
            _ => None,
        };
        let needs_counts = counts.is_some();
        let mut chunks: Vec<Chunk> = values.stored.chunks(false, needs_counts).collect();
        chunks.extend(counts.iter().flat_map(|counts| counts.stored.chunks(true, true)));
        Ok(BranchRead { values, counts, chunks })
    }
}

impl<'t> BranchPlan<'t> {
    fn new(stored: StoredBranch<'t>, branch_type: Arc<BranchType>, entries: &Range<u64>) -> Result<Self> {
        let branch = stored.branch;
        interpretation(branch, &branch_type)?;
        let end = branch.first_entry.saturating_add(branch.entries);
        if entries.start < branch.first_entry && !entries.is_empty() {
            // A shorter column would look as if its values belonged to earlier entries.
            let message = format!("the branch begins at entry {}, not {}", branch.first_entry, entries.start);
            return Err(Error::unsupported(message)
                .branch(&branch.path)
                .hint(format!("read it from entry {} on", branch.first_entry)));
        }
        let entries = entries.start.min(end)..entries.end.min(end);
        Ok(BranchPlan { stored: stored.within(&entries), branch_type, entries })
    }

    fn interpretation(&self) -> Result<&Interpretation> {
        interpretation(self.stored.branch, &self.branch_type)
    }

    fn decode(
        &self,
        chunks: ChunkBytes<'_>,
        counts: Option<Counts<'_>>,
        likely: Option<&Arc<Buffer>>,
        counters: &Counters,
    ) -> Result<Column> {
        let baskets = self.stored.baskets.iter().map(|basket| {
            let bytes = match &basket.embedded {
                Some(embedded) => embedded.clone(),
                // The header of a basket states whether it is compressed.
                None => {
                    match chunk_content(chunks, ChunkId { file: self.stored.file, offset: basket.offset })? {
                        ChunkContent::Stored(bytes) | ChunkContent::Uncompressed(bytes) => bytes,
                    }
                }
            };
            Ok(BasketBytes { basket, bytes })
        });
        let baskets: Vec<BasketBytes<'_>> = baskets.collect::<Result<_>>()?;
        decode(self.interpretation()?, &baskets, self.entries.clone(), counts, likely, counters)
            .map_err(|error| error.branch(&self.stored.branch.path))
    }
}

impl ColumnPlan for BranchRead<'_> {
    fn entries(&self) -> Range<u64> {
        self.values.entries.clone()
    }

    fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    fn can_narrow(&self) -> bool {
        false
    }

    fn decode(
        &self,
        chunks: ChunkBytes<'_>,
        likely: Option<&Arc<Buffer>>,
        counters: &Counters,
    ) -> Result<Column> {
        let column = match &self.counts {
            None => self.values.decode(chunks, None, likely, counters)?,
            Some(counts) => {
                let column = counts.decode(chunks, None, None, counters)?;
                let (offsets, values) = integers(&column)
                    .ok_or_else(|| Error::corrupt("the count branch does not hold integers"))?;
                let counts = Counts { first_entry: counts.entries.start, offsets, values: &values };
                self.values.decode(chunks, Some(counts), likely, counters)?
            }
        };
        counters.baskets.add(self.values.stored.baskets.len() as u64);
        Ok(column)
    }

    fn offsets_key(&self) -> Option<usize> {
        self.values.interpretation().ok()?.count_branch
    }

    fn decodes_whole_chunks(&self) -> bool {
        self.values.interpretation().is_ok_and(|one| matches!(one.layout, Layout::Jagged { .. }))
    }
}

/// The values of a column of integers, with its offsets if it has lists.
pub fn integers(column: &Column) -> Option<(Option<&[i64]>, Vec<i64>)> {
    match (&column.form, column.buffers.as_slice()) {
        (Form::List(content), [offsets, values]) => {
            Some((Some(offsets.view()), widened_all(content, values)?))
        }
        (form, [values]) => Some((None, widened_all(form, values)?)),
        _ => None,
    }
}

fn widened_all(form: &Form, buffer: &Buffer) -> Option<Vec<i64>> {
    fn widened<T: Copy>(values: &[T]) -> Vec<i64>
    where
        i64: From<T>,
    {
        values.iter().map(|value| i64::from(*value)).collect()
    }
    Some(match form {
        Form::Primitive(Primitive::I8) => widened::<i8>(buffer.view()),
        Form::Primitive(Primitive::U8) => widened::<u8>(buffer.view()),
        Form::Primitive(Primitive::I16) => widened::<i16>(buffer.view()),
        Form::Primitive(Primitive::U16) => widened::<u16>(buffer.view()),
        Form::Primitive(Primitive::I32) => widened::<i32>(buffer.view()),
        Form::Primitive(Primitive::U32) => widened::<u32>(buffer.view()),
        Form::Primitive(Primitive::I64) => buffer.view::<i64>().to_vec(),
        _ => return None,
    })
}
