//! Windows: the entry ranges that are fetched together, whole clusters under a budget of bytes.

use crate::Link;
use crate::cost::NOMINAL;
use std::ops::Range;
use std::time::Duration;

/// Compressed bytes that are fetched together. Larger ranges are cut into windows of whole clusters, so that one
/// is decoded while the next is on its way.
const WINDOW: u64 = 32 << 20;

/// The same at the least, where the server is near.
const NEAR_WINDOW: u64 = 1 << 20;

/// What a window is worth at the least, in round trips of the nominal bandwidth: it must not cost much to wait for one.
const ROUND_TRIPS: u64 = 8;

/// Windows that are small because the server is near: at most this many, as each costs some work.
const MOST_NEAR_WINDOWS: u64 = 16;

/// The largest share of the prefetching budget that one window takes.
const PART_OF_BUDGET: u64 = 4;

/// Compressed bytes of one window: those in flight on a full link, where these are many; fewer under a small
/// prefetching `budget`.
pub fn window_bytes(link: &Link, budget: u64) -> u64 {
    link.bytes_in_flight().unwrap_or(0).max(WINDOW).min(budget / PART_OF_BUDGET).max(1)
}

/// Compressed bytes of one window where all of `total` bytes are wanted at once: at low latency, one more
/// round trip costs little, and one window is decoded while the next is in flight. `u64::MAX` if latency is
/// not low.
pub fn near_window_bytes(total: u64, round_trip: Option<Duration>) -> u64 {
    let in_flight = Link { round_trip, bandwidth: Some(NOMINAL) }.bytes_in_flight();
    let worth = in_flight.unwrap_or(WINDOW).saturating_mul(ROUND_TRIPS).max(total / MOST_NEAR_WINDOWS);
    if worth < WINDOW { worth.max(NEAR_WINDOW) } else { u64::MAX }
}

/// Whether the round trip is short compared to the time that a window takes.
pub(crate) fn is_near(round_trip: Option<Duration>) -> bool {
    near_window_bytes(0, round_trip) < WINDOW
}

/// Cuts `entries` into windows of whole clusters whose `chunks` (first entry and size in bytes) hold at most
/// `most` bytes together; one window if all of them fit. See [`windows`].
pub fn cut_windows(
    cluster_starts: &[u64],
    chunks: impl Iterator<Item = (u64, u64)>,
    most: u64,
    entries: Range<u64>,
) -> Vec<Range<u64>> {
    let mut bytes = vec![0_u64; cluster_starts.len().max(1)];
    for (first_entry, len) in chunks {
        let cluster = cluster_starts.partition_point(|start| *start <= first_entry).saturating_sub(1);
        bytes[cluster] = bytes[cluster].saturating_add(len);
    }
    let total = bytes.iter().fold(0_u64, |sum, len| sum.saturating_add(*len));
    if total <= most || cluster_starts.len() < 3 || entries.is_empty() {
        return vec![entries];
    }
    windows(cluster_starts, |cluster| bytes.get(cluster).copied().unwrap_or_default(), most, entries)
}

/// Cuts `entries` into windows of whole clusters that hold at most `budget` bytes each.
///
/// `cluster_starts` are the first entries of the clusters, then the number of entries, as a tree records
/// them; `bytes_per_cluster(i)` is the cost of fetching cluster `i`. A window holds at least one cluster,
/// however large. The first and the last window are cut at the requested entries, though their clusters count
/// in full, because chunks cannot be read in part. Entries in no cluster join the nearest window.
///
/// ```
/// use sapwood_fetch::windows;
/// let starts = [0, 100, 200, 300, 400];
/// assert_eq!(windows(&starts, |_| 10, 20, 50..350), [50..200, 200..350]);
/// ```
pub fn windows(
    cluster_starts: &[u64],
    bytes_per_cluster: impl Fn(usize) -> u64,
    budget: u64,
    entries: Range<u64>,
) -> Vec<Range<u64>> {
    let mut windows = Vec::new();
    if entries.is_empty() {
        return windows;
    }
    let clusters = cluster_starts.len().saturating_sub(1);
    let first = cluster_starts.partition_point(|&start| start <= entries.start).saturating_sub(1);
    let mut start = entries.start;
    let mut bytes = 0_u64;
    for (i, &cluster_start) in cluster_starts.iter().enumerate().take(clusters).skip(first) {
        if cluster_start >= entries.end {
            break;
        }
        let more = bytes_per_cluster(i);
        if cluster_start > start && bytes.saturating_add(more) > budget && bytes > 0 {
            windows.push(start..cluster_start);
            (start, bytes) = (cluster_start, 0);
        }
        bytes = bytes.saturating_add(more);
    }
    windows.push(start..entries.end);
    windows
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn windows_grow_with_the_link_and_shrink_with_the_budget() {
        let link = |bandwidth| Link { round_trip: Some(Duration::from_millis(100)), bandwidth };
        assert_eq!(window_bytes(&Link::default(), 1 << 30), WINDOW);
        assert_eq!(window_bytes(&link(Some(125_000_000)), 1 << 30), WINDOW);
        assert_eq!(window_bytes(&link(Some(1_000_000_000)), 1 << 30), 100_000_000);
        assert_eq!(window_bytes(&link(Some(1_000_000_000)), 64 << 20), 16 << 20);
        assert_eq!(window_bytes(&Link::default(), 0), 1);
    }

    #[test]
    fn windows_are_small_at_low_latency() {
        let at = |total, millis| near_window_bytes(total, Some(Duration::from_millis(millis)));
        assert_eq!(near_window_bytes(7 << 20, None), u64::MAX);
        assert_eq!([at(7 << 20, 0), at(7 << 20, 2), at(7 << 20, 100)], [NEAR_WINDOW, 2_000_000, u64::MAX]);
        assert_eq!([at(7 << 20, 11), at(1 << 40, 0)], [11_000_000, u64::MAX]);
        let near = |millis| is_near(Some(Duration::from_millis(millis)));
        assert_eq!([near(0), near(11), near(100), is_near(None)], [true, true, false, false]);
    }

    /// The windows as pairs of start and stop.
    fn cut(
        budget: u64,
        starts: &[u64],
        bytes: impl Fn(usize) -> u64,
        entries: Range<u64>,
    ) -> Vec<(u64, u64)> {
        windows(starts, bytes, budget, entries).into_iter().map(|window| (window.start, window.end)).collect()
    }

    #[test]
    fn a_large_cluster_is_a_window_of_its_own() {
        let bytes = [5, 50, 5, 5];
        assert_eq!(cut(12, &[0, 10, 20, 30, 40], |i| bytes[i], 0..40), [(0, 10), (10, 20), (20, 40)]);
    }

    #[test]
    fn only_clusters_of_the_requested_entries_count() {
        let bytes = |i| if i == 0 { panic!("cluster 0 was not asked for") } else { 10 };
        assert_eq!(cut(20, &[0, 10, 20, 30], bytes, 10..30), [(10, 30)]);
        assert_eq!(cut(20, &[0, 10, 20, 30], |_| 10, 12..13), [(12, 13)]);
    }

    #[test]
    fn no_entries_give_no_window_and_no_clusters_one() {
        assert!(cut(1, &[0, 10], |_| 1, 5..5).is_empty());
        assert_eq!(cut(1, &[], |_| 1, 0..7), [(0, 7)]);
        assert_eq!(cut(1, &[0, 5], |_| 1, 0..7), [(0, 7)]);
    }

    proptest! {
        #[test]
        fn windows_cover_the_entries_in_whole_clusters(
            lens in prop::collection::vec((1..50_u64, 0..100_u64), 1..30),
            budget in 0..300_u64,
            cut in (0..1500_u64, 0..1500_u64),
        ) {
            let mut starts = vec![0];
            starts.extend(lens.iter().scan(0, |end, (len, _)| { *end += len; Some(*end) }));
            let total = starts[lens.len()];
            let entries = cut.0.min(cut.1).min(total)..cut.0.max(cut.1).min(total);
            let windows = windows(&starts, |i| lens[i].1, budget, entries.clone());
            prop_assert_eq!(windows.iter().map(|w| w.end - w.start).sum::<u64>(), entries.end - entries.start);
            prop_assert!(windows.windows(2).all(|pair| pair[0].end == pair[1].start));
            prop_assert!(windows.windows(2).all(|pair| starts.contains(&pair[0].end)));
            for window in &windows {
                let inside: Vec<u64> = (0..lens.len())
                    .filter(|&i| starts[i] < window.end && starts[i + 1] > window.start)
                    .map(|i| lens[i].1)
                    .filter(|&bytes| bytes > 0)
                    .collect();
                prop_assert!(inside.len() <= 1 || inside.iter().sum::<u64>() <= budget);
            }
        }
    }
}
