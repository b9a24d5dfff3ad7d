//! From wanted byte ranges to the cheapest requests that fetch them.

use crate::Link;
use crate::cost::{largest_gap, request_bytes};
use bytes::{Bytes, BytesMut};
use sapwood_core::ByteRange;
use sapwood_source::CostModel;
use std::ops::Range;

/// The requests to send, and where each wanted range lies in their answers.
///
/// The *pieces* are the ranges that are really requested: they rise, do not overlap, and each belongs to one
/// request. Requests hold consecutive pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pieces: Vec<ByteRange>,
    requests: Vec<Range<usize>>,
    places: Vec<Range<usize>>,
    fetched_bytes: u64,
    overread_bytes: u64,
    merging: Merging,
}

impl Plan {
    /// The ranges of each request.
    pub fn requests(&self) -> impl ExactSizeIterator<Item = &[ByteRange]> {
        self.requests.iter().map(|request| &self.pieces[request.clone()])
    }

    /// All pieces, in the order in which the requests hold them.
    pub fn pieces(&self) -> &[ByteRange] {
        &self.pieces
    }

    /// Indices of the pieces that together hold the `wanted`th wanted range; empty for an empty range.
    pub fn pieces_of(&self, wanted: usize) -> Range<usize> {
        self.places.get(wanted).cloned().unwrap_or_default()
    }

    /// Bytes of all pieces.
    pub fn fetched_bytes(&self) -> u64 {
        self.fetched_bytes
    }

    /// Bytes of all pieces that no wanted range asked for.
    pub fn overread_bytes(&self) -> u64 {
        self.overread_bytes
    }

    /// Which neighbors were merged: a plan of some of the ranges with this has pieces of this plan.
    pub(crate) fn merging(&self) -> Merging {
        self.merging
    }

    /// Cuts the wanted ranges, the same as planned, out of the answers: one per piece, each of its length.
    ///
    /// A range that lies in one piece shares its memory; one that spans pieces is copied together.
    pub(crate) fn cut(&self, wanted: &[ByteRange], answers: &[Bytes]) -> Vec<Bytes> {
        wanted.iter().enumerate().map(|(i, &range)| self.cut_one(range, self.pieces_of(i), answers)).collect()
    }

    fn cut_one(&self, range: ByteRange, place: Range<usize>, answers: &[Bytes]) -> Bytes {
        let part = |piece: ByteRange, answer: &Bytes| {
            let from = range.start.max(piece.start) - piece.start;
            let to = range.end().min(piece.end()) - piece.start;
            // Both fit: the answer has the length of the piece, and lies in memory.
            answer.slice(from as usize..to as usize)
        };
        let mut parts = self.pieces[place.clone()].iter().zip(&answers[place]).map(|(&p, a)| part(p, a));
        match (parts.next(), parts.next()) {
            (None, _) => Bytes::new(),
            (Some(whole), None) => whole,
            (Some(first), Some(second)) => {
                let mut joined = BytesMut::with_capacity(range.len as usize);
                [first, second].into_iter().chain(parts).for_each(|part| joined.extend_from_slice(&part));
                joined.freeze()
            }
        }
    }
}

/// Plans how to read `wanted` from a source of the given cost model, over a link of which this much is known. Takes
/// `n log n` time.
///
/// Neighbors whose gap is worth reading are merged, larger requests than the source takes are split, and
/// what remains is grouped into as few requests as the source allows; if there are many bytes, into enough
/// to use its concurrency.
///
/// The ranges may come in any order, overlap, repeat and be empty. They must lie inside the object.
///
/// ```
/// use sapwood_core::ByteRange;
/// use sapwood_fetch::{Link, plan};
/// use sapwood_source::{CostModel};
/// let cost_model = CostModel { gap: 10, ..CostModel::MEMORY };
/// let wanted = [ByteRange { start: 50, len: 5 }, ByteRange { start: 0, len: 20 }, ByteRange { start: 28, len: 2 }];
/// let plan = plan(&wanted, &cost_model, &Link::default());
/// assert_eq!(plan.pieces(), [ByteRange { start: 0, len: 30 }, ByteRange { start: 50, len: 5 }]);
/// assert_eq!(plan.overread_bytes(), 8);
/// assert_eq!(plan.requests().len(), 1);
/// ```
pub fn plan(wanted: &[ByteRange], cost_model: &CostModel, link: &Link) -> Plan {
    plan_merging(wanted, cost_model, link, Merging::Cheapest)
}

/// Which neighbors are merged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Merging {
    /// As is cheapest.
    #[default]
    Cheapest,
    /// Those whose gap is at most this many bytes.
    Gap(u64),
    /// None: every range is a request.
    Never,
}

/// [`plan`], where it may be given which neighbors are merged.
pub(crate) fn plan_merging(
    wanted: &[ByteRange],
    cost_model: &CostModel,
    link: &Link,
    merging: Merging,
) -> Plan {
    let mut sorted: Vec<ByteRange> = wanted.iter().copied().filter(|range| range.len > 0).collect();
    sorted.sort_unstable();
    let total = sorted.iter().fold(0_u64, |sum, range| sum.saturating_add(range.len));
    let largest = request_bytes(total, cost_model, link);
    let (gap, ranges_per_request) = match merging {
        Merging::Cheapest => (Some(largest_gap(&sorted, cost_model, link)), cost_model.ranges_per_request),
        Merging::Gap(gap) => (Some(gap), cost_model.ranges_per_request),
        Merging::Never => (None, 1),
    };
    let (pieces, overread_bytes) = merge(&sorted, gap, largest);
    let places = wanted.iter().map(|&range| place(&pieces, range)).collect();
    Plan {
        requests: group(&pieces, ranges_per_request, largest),
        places,
        fetched_bytes: pieces.iter().map(|piece| piece.len).sum(),
        overread_bytes,
        pieces,
        merging: gap.map_or(Merging::Never, Merging::Gap),
    }
}

/// Merges rising ranges over gaps of at most `gap`, or those that overlap only, into pieces of at most `largest` bytes.
/// Also returns how many bytes of gaps they contain.
fn merge(sorted: &[ByteRange], gap: Option<u64>, largest: u64) -> (Vec<ByteRange>, u64) {
    let mut pieces = Vec::new();
    let mut overread = 0;
    let mut ranges = sorted.iter();
    let Some(&(mut current)) = ranges.next() else { return (pieces, 0) };
    for &range in ranges {
        let (end, start) = (current.end(), current.start);
        let near = range.start < end || gap.is_some_and(|gap| range.start <= end.saturating_add(gap));
        // Cut between ranges rather than inside one, which would have to be copied together later.
        let fits = range.start < end || range.end() - start <= largest;
        if near && fits {
            overread += range.start.saturating_sub(end);
            current.len = range.end().max(end) - start;
        } else {
            split(current, largest, &mut pieces);
            current = range;
        }
    }
    split(current, largest, &mut pieces);
    (pieces, overread)
}

/// Adds `range` to the pieces, in equal parts of at most `largest` bytes.
fn split(range: ByteRange, largest: u64, pieces: &mut Vec<ByteRange>) {
    let parts = range.len.div_ceil(largest);
    let part = range.len.div_ceil(parts.max(1));
    let mut start = range.start;
    while start < range.end() {
        let len = part.min(range.end() - start);
        pieces.push(ByteRange { start, len });
        start += len;
    }
}

/// Groups consecutive pieces into requests of at most `most` pieces and, unless a piece stands alone,
/// `largest` bytes.
fn group(pieces: &[ByteRange], most: usize, largest: u64) -> Vec<Range<usize>> {
    // With a limit of 100, 101 pieces are asked for as 51 and 50: both answers arrive at about the same time.
    let most = pieces.len().div_ceil(pieces.len().div_ceil(most.max(1)).max(1));
    let mut requests = Vec::new();
    let (mut first, mut bytes) = (0, 0_u64);
    for (i, piece) in pieces.iter().enumerate() {
        if i > first && (i - first >= most || bytes.saturating_add(piece.len) > largest) {
            requests.push(first..i);
            (first, bytes) = (i, 0);
        }
        bytes = bytes.saturating_add(piece.len);
    }
    if first < pieces.len() {
        requests.push(first..pieces.len());
    }
    requests
}

/// Which of the rising pieces hold `range`.
fn place(pieces: &[ByteRange], range: ByteRange) -> Range<usize> {
    if range.len == 0 {
        return 0..0;
    }
    let first = pieces.partition_point(|piece| piece.end() <= range.start);
    let count = pieces[first..].partition_point(|piece| piece.start < range.end());
    first..first + count
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    const UNKNOWN: Link = Link { round_trip: None, bandwidth: None };
    const WEB: CostModel = CostModel {
        gap: 100,
        largest_request: 1000,
        ranges_per_request: 4,
        concurrency: 3,
        immediate: false,
        tied: false,
        deals_out: false,
    };

    fn range(start: u64, len: u64) -> ByteRange {
        ByteRange { start, len }
    }

    fn lens<'a>(requests: impl Iterator<Item = &'a [ByteRange]>) -> Vec<usize> {
        requests.map(<[ByteRange]>::len).collect()
    }

    #[test]
    fn nothing_wanted_is_no_request() {
        for wanted in [&[][..], &[range(5, 0)][..]] {
            let plan = plan(wanted, &WEB, &UNKNOWN);
            assert_eq!(plan.requests().len(), 0);
            assert!(plan.pieces_of(0).is_empty());
        }
    }

    #[test]
    fn contained_and_repeated_ranges_are_read_once() {
        let wanted = [range(0, 50), range(10, 5), range(0, 50), range(40, 20)];
        let plan = plan(&wanted, &WEB, &UNKNOWN);
        assert_eq!(plan.pieces(), [range(0, 60)]);
        assert_eq!(plan.overread_bytes(), 0);
    }

    #[test]
    fn a_gap_is_read_up_to_its_limit() {
        assert_eq!(plan(&[range(0, 10), range(110, 10)], &WEB, &UNKNOWN).pieces().len(), 1);
        assert_eq!(plan(&[range(0, 10), range(111, 10)], &WEB, &UNKNOWN).pieces().len(), 2);
    }

    #[test]
    fn large_pieces_are_cut_between_ranges_where_possible() {
        let many: Vec<_> = (0..10).map(|i| range(i * 300, 300)).collect();
        assert_eq!(
            plan(&many, &WEB, &UNKNOWN).pieces(),
            [range(0, 900), range(900, 900), range(1800, 900), range(2700, 300)]
        );
        let one = plan(&[range(7, 2500)], &WEB, &UNKNOWN);
        assert_eq!(one.pieces(), [range(7, 834), range(841, 834), range(1675, 832)]);
        assert_eq!(one.pieces_of(0), 0..3);
    }

    #[test]
    fn requests_are_filled_evenly() {
        let wanted: Vec<_> = (0..5).map(|i| range(i * 1000, 10)).collect();
        assert_eq!(lens(plan(&wanted, &WEB, &UNKNOWN).requests()), [3, 2]);
        let single = CostModel { ranges_per_request: 1, ..WEB };
        assert_eq!(lens(plan(&wanted, &single, &UNKNOWN).requests()), [1; 5]);
    }

    #[test]
    fn many_bytes_use_the_concurrency_and_few_do_not() {
        let wide = CostModel { largest_request: u64::MAX, ranges_per_request: usize::MAX, ..WEB };
        assert_eq!(plan(&[range(0, 6 << 20)], &wide, &UNKNOWN).requests().len(), 1);
        assert_eq!(plan(&[range(0, 300 << 20)], &wide, &UNKNOWN).requests().len(), 3);
        assert_eq!(
            plan(&[range(0, 300 << 20)], &CostModel { immediate: true, ..wide }, &UNKNOWN).requests().len(),
            1
        );
    }

    #[test]
    fn a_hundred_thousand_ranges_are_planned_quickly() {
        let wanted: Vec<_> = (0..100_000_u64).map(|i| range(i * 7919 % 100_000 * 5000, 4000)).collect();
        let start = std::time::Instant::now();
        let plan = plan(&wanted, &CostModel::LOCAL, &UNKNOWN);
        assert!(plan.fetched_bytes() >= 400_000_000);
        // Some milliseconds when optimized; the bound only excludes quadratic time.
        assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
    }

    prop_compose! {
        fn any_cost_model()(
            gap in 0..200_u64,
            largest_request in 1..500_u64,
            ranges_per_request in 1..8_usize,
            concurrency in 1..5_usize,
            immediate in any::<bool>(),
        ) -> CostModel {
            CostModel { gap, largest_request, ranges_per_request, concurrency, immediate, tied: false, deals_out: false }
        }
    }

    prop_compose! {
        fn any_link()(
            round_trip in prop::option::of(0..500_000_u64),
            bandwidth in prop::option::of(0..10_000_000_000_u64),
        ) -> Link {
            Link { round_trip: round_trip.map(Duration::from_micros), bandwidth }
        }
    }

    proptest! {
        #[test]
        fn plans_keep_their_invariants(
            wanted in prop::collection::vec((0..3000_u64, 0..400_u64).prop_map(|(s, l)| range(s, l)), 0..60),
            cost_model in any_cost_model(),
            link in any_link(),
        ) {
            let plan = plan(&wanted, &cost_model, &link);
            let pieces = plan.pieces();
            prop_assert!(pieces.windows(2).all(|pair| pair[0].end() <= pair[1].start));
            prop_assert!(pieces.iter().all(|piece| piece.len > 0 && piece.len <= cost_model.largest_request));
            prop_assert_eq!(plan.requests().flatten().copied().collect::<Vec<_>>(), pieces.to_vec());
            for request in plan.requests() {
                prop_assert!(request.len() <= cost_model.ranges_per_request);
                prop_assert!(request.iter().map(|piece| piece.len).sum::<u64>() <= cost_model.largest_request);
            }
            let mut used = vec![false; 4000];
            for (i, range) in wanted.iter().enumerate() {
                let held = pieces[plan.pieces_of(i)].iter();
                let bytes: u64 = held.map(|p| p.end().min(range.end()).saturating_sub(p.start.max(range.start))).sum();
                prop_assert_eq!(bytes, range.len);
                used[range.start as usize..range.end() as usize].fill(true);
            }
            let union = used.iter().filter(|&&used| used).count() as u64;
            prop_assert_eq!(plan.fetched_bytes(), pieces.iter().map(|piece| piece.len).sum::<u64>());
            prop_assert_eq!(plan.overread_bytes(), plan.fetched_bytes() - union);
            let link = Link { bandwidth: link.bandwidth.or(Some(125_000_000)), ..link };
            if let (Some(in_flight), false) = (link.bytes_in_flight(), cost_model.immediate) {
                prop_assert!(plan.overread_bytes() <= (4 * union).max(in_flight / 8));
            }
        }
    }
}
