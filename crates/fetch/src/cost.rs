//! Compares costs: reading a gap against one more request, few large requests against many small ones.
//!
//! All costs are in bytes: those that the link could have carried in that time.

use crate::Link;
use sapwood_core::ByteRange;
use sapwood_source::CostModel;

/// The bandwidth for which a source states its gap, in bytes per second.
pub(crate) const NOMINAL: u64 = CostModel::NOMINAL_BANDWIDTH;

/// Most unused bytes to read in order to save round trips, for each byte that is wanted.
const MOST_IN_VAIN: u64 = 4;

/// Splitting requests smaller than this to use more connections would mostly add round trips for connecting.
const WORTH_A_REQUEST: u64 = 8 << 20;

/// The same where this many bytes fill the link for longer than a round trip.
const LEAST_WORTH_A_REQUEST: u64 = 1 << 20;

/// The largest gap between ranges that is cheaper to read than to skip; `sorted` ranges rise.
///
/// Until the round trip is known, the source states it. After that, it is what the link carries in the time
/// that one more range costs, but in total no more than the wanted bytes. If there are more ranges than can
/// be in flight together, reading more gaps may save whole round trips: as many are read as pays off, up to
/// four times the wanted bytes. (Bytes that are few compared to a round trip may always be read.)
pub(crate) fn largest_gap(sorted: &[ByteRange], cost_model: &CostModel, link: &Link) -> u64 {
    let bandwidth = link.bandwidth.unwrap_or(NOMINAL);
    let round_trip = Link { bandwidth: Some(bandwidth), ..*link }.bytes_in_flight();
    let Some(round_trip) = round_trip.filter(|_| !cost_model.immediate) else { return cost_model.gap };
    let (gaps, wanted) = gaps(sorted);
    let overread = sums(&gaps);
    let piece = scaled(cost_model.gap, bandwidth);
    // How many gaps may be read at most, and how many are read in any case.
    let within = |bound| overread.partition_point(|&bytes| bytes <= bound).saturating_sub(1);
    let most = within(wanted.saturating_mul(MOST_IN_VAIN).max(round_trip / 8));
    let least = gaps.partition_point(|&gap| gap <= piece).min(within(wanted.max(round_trip / 8)));
    let pieces = gaps.len() + 1;
    let together = cost_model.concurrency.max(1).saturating_mul(cost_model.ranges_per_request.max(1));
    let read = (1..=(pieces - least).div_ceil(together))
        .map(|rounds| (rounds, pieces.saturating_sub(rounds.saturating_mul(together)).max(least)))
        .filter(|&(_, read)| read <= most)
        .min_by_key(|&(rounds, read)| {
            let rounds = round_trip.saturating_mul(rounds as u64);
            rounds.saturating_add(overread[read]).saturating_add(piece.saturating_mul((pieces - read) as u64))
        })
        .map_or(least, |(_, read)| read);
    match (read.checked_sub(1).and_then(|last| gaps.get(last)), gaps.get(read)) {
        (None, _) => 0,
        // Gaps of equal size are all read, or none.
        (Some(&last), Some(&next)) if last == next && gaps.partition_point(|&gap| gap <= last) > most => {
            last.saturating_sub(1)
        }
        (Some(&last), _) => last,
    }
}

/// The gaps between rising ranges, the smallest first, and the bytes of the ranges.
fn gaps(sorted: &[ByteRange]) -> (Vec<u64>, u64) {
    let (mut gaps, mut wanted) = (Vec::new(), 0_u64);
    let mut end = sorted.first().map_or(0, |first| first.start);
    for range in sorted {
        if range.start > end {
            gaps.push(range.start - end);
        }
        wanted = wanted.saturating_add(range.end().saturating_sub(range.start.max(end)));
        end = end.max(range.end());
    }
    gaps.sort_unstable();
    (gaps, wanted)
}

/// The sums of the first 0, 1, 2, … values.
fn sums(values: &[u64]) -> Vec<u64> {
    let mut sum = 0_u64;
    let sums = values.iter().map(|value| {
        sum = sum.saturating_add(*value);
        sum
    });
    std::iter::once(0).chain(sums).collect()
}

/// Scales a gap that is stated for the nominal bandwidth to a link of another bandwidth.
fn scaled(gap: u64, bandwidth: u64) -> u64 {
    u64::try_from(u128::from(gap) * u128::from(bandwidth) / u128::from(NOMINAL)).unwrap_or(u64::MAX)
}

/// Most bytes that one of the requests for `total` bytes should carry.
///
/// Requests are large enough to fill the link for a round trip, and as many as help when in flight together.
pub(crate) fn request_bytes(total: u64, cost_model: &CostModel, link: &Link) -> u64 {
    let largest = cost_model.largest_request.max(1);
    if cost_model.immediate {
        // The computing thread reads them one after the other: nothing is in flight together.
        return largest;
    }
    let most = if cost_model.deals_out { largest.max(WORTH_A_REQUEST) } else { WORTH_A_REQUEST };
    let worth =
        link.bytes_in_flight().map_or(WORTH_A_REQUEST, |bytes| bytes.clamp(LEAST_WORTH_A_REQUEST, most));
    total.div_ceil(cost_model.concurrency.max(1) as u64).max(worth).min(largest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const SINGLE: CostModel = CostModel {
        gap: 64 << 10,
        largest_request: 16 << 20,
        ranges_per_request: 1,
        concurrency: 10,
        immediate: false,
        tied: false,
        deals_out: false,
    };
    const MULTI: CostModel = CostModel { ranges_per_request: 100, ..SINGLE };

    fn link(milliseconds: u64, bandwidth: u64) -> Link {
        Link { round_trip: Some(Duration::from_millis(milliseconds)), bandwidth: Some(bandwidth) }
    }

    /// Ranges of `len` bytes with gaps of `gap` bytes.
    fn ranges(count: u64, len: u64, gap: u64) -> Vec<ByteRange> {
        (0..count).map(|i| ByteRange { start: i * (len + gap), len }).collect()
    }

    #[test]
    fn the_cost_model_of_the_source_applies_until_the_link_is_measured() {
        let far_apart = ranges(100, 1000, 1 << 20);
        for unknown in [Link::default(), Link { round_trip: None, ..link(100, 1) }] {
            assert_eq!(largest_gap(&far_apart, &SINGLE, &unknown), SINGLE.gap);
        }
        assert_eq!(largest_gap(&far_apart, &CostModel::LOCAL, &link(100, NOMINAL)), CostModel::LOCAL.gap);
    }

    #[test]
    fn slow_links_skip_small_gaps() {
        let wanted = ranges(5, 100_000, 20_000);
        assert_eq!(largest_gap(&wanted, &MULTI, &link(10, NOMINAL)), 20_000);
        assert_eq!(largest_gap(&wanted, &MULTI, &link(10, NOMINAL / 10)), 0);
    }

    #[test]
    fn gaps_are_read_to_save_round_trips_where_that_pays() {
        // 40 requests, 10 in flight: 4 round trips, of 12.5 MB each.
        let wanted = ranges(40, 200_000, 100_000);
        assert_eq!(largest_gap(&wanted, &SINGLE, &link(100, NOMINAL)), 100_000);
        assert_eq!(
            largest_gap(&wanted, &SINGLE, &link(1, NOMINAL)),
            0,
            "a round trip is cheaper than the gaps"
        );
        assert_eq!(largest_gap(&wanted, &MULTI, &link(100, NOMINAL)), 0, "all are asked for at once");
    }

    #[test]
    fn few_unneeded_bytes_are_read() {
        let wanted = ranges(40, 1000, 50_000);
        for known in [link(1, NOMINAL), Link { bandwidth: None, ..link(1, NOMINAL) }] {
            assert_eq!(largest_gap(&wanted, &SINGLE, &known), 0);
        }
    }

    #[test]
    fn requests_fill_the_link_for_a_round_trip() {
        let total = 64 << 20;
        let cost_model = CostModel { concurrency: 1000, ..SINGLE };
        assert_eq!(request_bytes(total, &cost_model, &Link::default()), WORTH_A_REQUEST);
        assert_eq!(request_bytes(total, &cost_model, &link(20, NOMINAL)), 2_500_000);
        assert_eq!(request_bytes(total, &cost_model, &link(1, NOMINAL)), LEAST_WORTH_A_REQUEST);
        assert_eq!(request_bytes(total, &cost_model, &link(1000, NOMINAL)), WORTH_A_REQUEST);
        let cost_model = CostModel { deals_out: true, ..cost_model };
        assert_eq!(request_bytes(total, &cost_model, &link(100, NOMINAL)), 12_500_000);
        assert_eq!(request_bytes(total, &cost_model, &link(1000, NOMINAL)), cost_model.largest_request);
    }
}
