//! Windows: the entry ranges that are fetched together, whole clusters under a budget of bytes.

use std::ops::Range;

/// Cuts `entries` into windows of whole clusters that hold at most `budget` bytes each.
///
/// `cluster_starts` are the first entries of the clusters, then the number of entries, as a tree records
/// them; `bytes_per_cluster(i)` is what fetching cluster `i` costs. A window holds at least one cluster,
/// however large. The first and last window are cut at the asked entries, though their clusters are
/// counted whole: baskets cannot be read in part. Entries that lie in no cluster join the nearest window.
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
    fn only_clusters_of_the_asked_entries_count() {
        let bytes = |i| if i == 0 { panic!("cluster 0 was not asked for") } else { 10 };
        assert_eq!(cut(20, &[0, 10, 20, 30], bytes, 10..30), [(10, 30)]);
        assert_eq!(cut(20, &[0, 10, 20, 30], |_| 10, 12..13), [(12, 13)]);
    }

    #[test]
    fn no_entries_are_no_windows_and_no_clusters_are_one() {
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
