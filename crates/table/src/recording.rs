//! Records a read for the recording of a job: its columns and their chunks.

use crate::queries::column_name;
use crate::selection::Query;
use crate::table::{Chunk, ColumnPlan, Table};
use sapwood_source::record::{ReadRecording, RecordedChunk};
use std::ops::Range;

/// Records the begin of a read. None if nothing is recorded.
pub(crate) fn begin<Q: Into<Query> + Clone>(
    kind: &str,
    table: &dyn Table,
    queries: &[Q],
) -> Option<ReadRecording> {
    let names = queries.iter().map(|query| {
        let Query { column, member } = query.clone().into();
        let name = column_name(table, column);
        if member.is_empty() { name.to_owned() } else { format!("{name}.{member}") }
    });
    ReadRecording::begin(kind, table.fetcher(0).recorded(), table.path(), names)
}

/// Records an entry range of a read, and its chunks.
pub(crate) fn range<'p>(
    read: Option<&ReadRecording>,
    table: &dyn Table,
    plans: impl IntoIterator<Item = &'p dyn ColumnPlan>,
    entries: &Range<u64>,
) {
    let Some(read) = read else { return };
    let mut files = Vec::new();
    let mut stored = |chunk: &Chunk| {
        while files.len() <= chunk.file {
            files.push(table.fetcher(files.len()).recorded().unwrap_or_default());
        }
        let file = files.get(chunk.file).copied().unwrap_or_default();
        RecordedChunk { file, first_entry: chunk.entries.start, range: chunk.range }
    };
    let mut chunks = Vec::new();
    for plan in plans {
        chunks.extend(plan.chunks().iter().filter(|chunk| chunk.is_stored()).map(&mut stored));
    }
    read.range(entries, table.cluster_starts(), chunks);
}
