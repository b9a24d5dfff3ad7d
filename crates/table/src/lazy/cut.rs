//! The windows of a lazy reader: whole clusters, joined if they are small and cut if they are huge.

use crate::selection::Selection;
use crate::table::{Chunk, Table};
use sapwood_fetch::windows;
use std::ops::Range;

/// Clusters are joined up to this many bytes of all columns: compressed bytes or a quarter of the uncompressed ones,
/// whichever is more.
const WINDOW: u64 = 32 << 20;
const MOST_EXPANSION: u64 = 4;
/// A cluster of more than this many windows is cut; chunks that reach across the cut are still fetched once. Old files
/// record no clusters, and chunks reach across any cut: there, anything larger than a window is cut.
const HUGE: u64 = 2;
/// So many decoded windows fit into the memory: one is in use while the next is decoded, and for a moment the caller still
/// holds the one before.
const WINDOWS: u64 = 4;
/// So many pieces of a cluster that is cut do: chunks that reach into the next piece are held as well.
const PIECES: u64 = 8;
/// The compressed bytes of a window take at most this part of the memory.
const COMPRESSED: u64 = 8;

/// The windows of some columns of a table, all of whose chunks are located; otherwise as [`cut`].
pub(super) fn windows_of(
    table: &dyn Table,
    selections: &[Selection],
    entries: Range<u64>,
    memory: u64,
    first: Option<u64>,
) -> Vec<Range<u64>> {
    let all = 0..table.entries();
    // Columns that cannot be planned cost nothing.
    let chunks = selections.iter().filter_map(|one| table.chunks(one, &all).ok()).flatten();
    let costs = chunks.filter(|chunk| !chunk.index).map(|chunk| cost(&chunk, memory));
    cut(table.cluster_starts(), costs, entries, memory, first)
}

/// The first entry of a chunk, and the cost of holding it, in the unit of `budget`.
fn cost(chunk: &Chunk, memory: u64) -> (u64, u64) {
    let compressed_most = WINDOW.min(memory / COMPRESSED).max(1);
    let compressed = chunk.range.len.saturating_mul(budget(memory)) / compressed_most;
    (chunk.entries.start, compressed.max(chunk.uncompressed_bytes / MOST_EXPANSION))
}

/// Most that a window costs.
fn budget(memory: u64) -> u64 {
    WINDOW.min(memory / (WINDOWS * MOST_EXPANSION)).max(1)
}

/// Cuts `entries` into windows by the `costs` of chunks. The first window has at most `first` entries.
fn cut(
    cluster_starts: &[u64],
    costs: impl Iterator<Item = (u64, u64)>,
    entries: Range<u64>,
    memory: u64,
    first: Option<u64>,
) -> Vec<Range<u64>> {
    let mut bytes = vec![0_u64; cluster_starts.len().max(1)];
    for (first_entry, cost) in costs {
        let cluster = cluster_starts.partition_point(|start| *start <= first_entry).saturating_sub(1);
        bytes[cluster] = bytes[cluster].saturating_add(cost);
    }
    let [whole, piece] = [WINDOWS, PIECES].map(|number| (memory / (number * MOST_EXPANSION)).max(1));
    let budget = budget(memory);
    let cost = |cluster: usize| bytes.get(cluster).copied().unwrap_or_default();
    let joined = windows(cluster_starts, cost, budget, entries);
    let bytes_of = |window: &Range<u64>| -> u64 {
        let from = cluster_starts.partition_point(|start| *start <= window.start).saturating_sub(1);
        let to = cluster_starts.partition_point(|start| *start < window.end).max(from + 1);
        bytes.get(from..to.min(bytes.len())).into_iter().flatten().sum()
    };
    let most = if cluster_starts.is_empty() { budget } else { whole.min(HUGE * WINDOW) };
    let pieces = |window: &Range<u64>| {
        if bytes_of(window) > most { bytes_of(window).div_ceil(piece.min(WINDOW)) } else { 1 }
    };
    let mut cut: Vec<Range<u64>> = joined.iter().flat_map(|window| split(window, pieces(window))).collect();
    if let (Some(most), Some(window)) = (first, cut.first().cloned())
        && let Some(end) = window.start.checked_add(most.max(1)).filter(|end| *end < window.end)
    {
        cut.splice(..1, [window.start..end, end..window.end]);
    }
    cut
}

/// Splits a range into `pieces` of about the same length.
fn split(range: &Range<u64>, pieces: u64) -> Vec<Range<u64>> {
    let entries = range.end - range.start;
    let step = entries.div_ceil(pieces.clamp(1, entries.max(1))).max(1);
    let starts = (0..entries.div_ceil(step)).map(|piece| range.start + piece * step);
    starts.map(|start| start..range.end.min(start + step)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_clusters_are_joined_and_huge_ones_are_cut() {
        let chunks = [(0, 1), (10, 1), (20, HUGE * WINDOW + 1), (30, 1)];
        let windows = cut(&[0, 10, 20, 30, 40], chunks.into_iter(), 0..40, u64::MAX, None);
        assert_eq!(windows, [0..20, 20..24, 24..28, 28..30, 30..40]);
    }

    #[test]
    fn the_first_window_may_be_shorter() {
        let chunks = [(0, 1), (10, 1)];
        let windows = cut(&[0, 10, 20], chunks.into_iter(), 3..20, u64::MAX, Some(5));
        assert_eq!(windows, [3..8, 8..20]);
        assert_eq!(cut(&[0, 10, 20], chunks.into_iter(), 3..7, u64::MAX, Some(5)), vec![3..7]);
        assert!(cut(&[0, 10, 20], chunks.into_iter(), 3..3, u64::MAX, Some(5)).is_empty());
    }

    #[test]
    fn a_tree_without_clusters_is_cut_by_its_bytes() {
        let windows = |bytes, memory| cut(&[], [(0, bytes), (5, bytes)].into_iter(), 0..10, memory, None);
        assert_eq!(windows(WINDOW / 2, u64::MAX), vec![0..10]);
        assert_eq!(windows(WINDOW, u64::MAX), [0..5, 5..10]);
        assert_eq!(windows(WINDOW, 16 * WINDOW), [0..3, 3..6, 6..9, 9..10]);
    }

    #[test]
    fn compressed_bytes_cost_more_than_decoded_ones_where_they_are_many() {
        let cost = |len, uncompressed_bytes, memory| {
            let range = sapwood_core::ByteRange { start: 0, len };
            let chunk =
                Chunk { file: 0, range, entries: 7..20, uncompressed_bytes, index: false, shared: false };
            cost(&chunk, memory)
        };
        assert_eq!(cost(1 << 20, 2 << 20, u64::MAX), (7, 1 << 20));
        assert_eq!(cost(1 << 20, 5 << 20, u64::MAX), (7, 5 << 18));
        // Of 64 MiB, a window may hold 8 MiB compressed, or 16 MiB decoded.
        assert_eq!(cost(8 << 20, 16 << 20, 64 << 20), (7, budget(64 << 20)));
        assert_eq!(cost(u64::MAX, 0, 1).1, u64::MAX);
    }

    #[test]
    fn decoded_windows_take_a_quarter_of_the_memory() {
        let memory = 64 << 20;
        let windows = |bytes| cut(&[0, 10, 20], [(0, bytes), (10, bytes)].into_iter(), 0..20, memory, None);
        assert_eq!(windows(2 << 20), vec![0..20]);
        assert_eq!(windows(4 << 20), vec![0..10, 10..20]);
        assert_eq!(windows(5 << 20), [0..4, 4..8, 8..10, 10..14, 14..18, 18..20]);
    }
}
