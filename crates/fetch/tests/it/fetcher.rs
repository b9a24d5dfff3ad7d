//! Every wanted byte arrives intact, in time, and is counted.

use crate::source::{Behaviour, TestSource, WEB, content, fetcher, range, runtime};
use proptest::prelude::*;
use sapwood_core::{ByteRange, Deadline, ErrorKind, Segments};
use sapwood_fetch::Fetcher;
use sapwood_source::{CostModel, DelayedSource};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[test]
fn answers_come_in_the_order_asked() {
    let source = TestSource::new(1000, WEB, Behaviour::Prompt);
    let fetcher = fetcher(&source);
    let wanted = [range(900, 100), range(0, 3), range(5, 0), range(1, 350)];
    let answers = runtime().block_on(fetcher.fetch(&wanted, Deadline::default())).unwrap();
    let bytes = content(1000);
    assert_eq!(answers, [&bytes[900..], &bytes[..3], &[], &bytes[1..351]]);
}

#[test]
fn ranges_within_one_answer_are_not_copied() {
    let source = TestSource::new(1000, CostModel::MEMORY, Behaviour::Prompt);
    let answers = fetcher(&source).fetch_now(&[range(0, 100), range(10, 10)], Deadline::default()).unwrap();
    assert_eq!(answers[1].as_ptr(), answers[0][10..].as_ptr());
}

#[test]
fn reads_are_counted_once() {
    let source = TestSource::new(1000, WEB, Behaviour::Prompt);
    let fetcher = fetcher(&source);
    let wanted = [range(0, 10), range(15, 10), range(15, 10), range(500, 10)];
    runtime().block_on(fetcher.fetch(&wanted, Deadline::default())).unwrap();
    let counted = fetcher.counters().snapshot();
    assert_eq!((counted.wanted_bytes, counted.overread_bytes), (40, 5));
    assert!(counted.wait_ns > 0);
    // The source's own counting adds these.
    assert_eq!((counted.requests, counted.fetched_bytes, counted.unplanned_reads), (0, 0, 0));
}

#[test]
fn gaps_are_skipped_once_the_link_is_known_to_be_slow() {
    let cost_model = CostModel { gap: 64 << 10, largest_request: u64::MAX, ..WEB };
    let source = TestSource::new(400_000, cost_model, Behaviour::Prompt);
    // 10 MB/s: in the time of a range, the link carries a twelfth of what the gap is stated for.
    let slow = DelayedSource::new(source, Duration::from_millis(2), Some(10_000_000));
    let fetcher = Fetcher::new(Arc::new(slow), Arc::default());
    let runtime = runtime();
    let overread = |wanted: &[ByteRange]| {
        let before = fetcher.counters().snapshot().overread_bytes;
        runtime.block_on(fetcher.fetch(wanted, Deadline::default())).unwrap();
        fetcher.counters().snapshot().overread_bytes - before
    };
    let apart = [range(0, 20_000), range(30_000, 20_000)];
    assert_eq!((fetcher.link().bandwidth, overread(&apart)), (None, 10_000));
    assert_eq!(overread(&[range(0, 300_000)]), 0);
    assert_eq!(overread(&apart), 0, "{:?}", fetcher.link());
}

/// The requests, and the bytes that were not wanted, for many small ranges of a server that has one range for each.
fn many_small_ranges(round_trip: Duration, bandwidth: u64) -> (usize, u64) {
    let cost_model = CostModel {
        gap: 64 << 10,
        largest_request: u64::MAX,
        ranges_per_request: 1,
        concurrency: 100,
        ..WEB
    };
    let source = TestSource::new(8_000_000, cost_model, Behaviour::Prompt);
    let delayed = DelayedSource::new(Arc::clone(&source) as Arc<_>, round_trip, Some(bandwidth));
    let fetcher = Fetcher::new(Arc::new(delayed), Arc::default());
    let wanted: Vec<_> = (0..200).map(|i| range(i * 40_000, 12_000)).collect();
    let answers = runtime().block_on(fetcher.fetch(&wanted, Deadline::default())).unwrap();
    let content = content(8_000_000);
    for (range, answer) in wanted.iter().zip(answers) {
        assert_eq!(answer, content[range.start as usize..range.end() as usize]);
    }
    (source.request_count(), fetcher.counters().snapshot().overread_bytes)
}

#[test]
fn the_first_bytes_of_a_link_with_short_round_trips_measure_it() {
    let (requests, overread) = many_small_ranges(Duration::from_millis(1), 12_500_000);
    assert!(overread < 1_200_000 && requests > 150, "{requests} requests, {overread} bytes");
    let (requests, overread) = many_small_ranges(Duration::from_millis(1), 1_000_000_000);
    assert!(overread > 5_000_000 && requests < 20, "{requests} requests, {overread} bytes");
}

#[test]
fn a_long_round_trip_is_not_spent_on_measuring() {
    let (requests, overread) = many_small_ranges(Duration::from_millis(100), 1_000_000_000);
    assert!(overread > 5_000_000 && requests == 1, "{requests} requests, {overread} bytes");
}

#[test]
fn reads_that_bypass_the_planner_are_counted() {
    let source = TestSource::new(1000, WEB, Behaviour::Prompt);
    let fetcher = fetcher(&source);
    let unplanned = || fetcher.counters().snapshot().unplanned_reads;
    runtime().block_on(fetcher.fetch(&[range(0, 10)], Deadline::default())).unwrap();
    assert_eq!(unplanned(), 0);
    runtime().block_on(fetcher.source().read_ranges(&[range(0, 10)], Deadline::default())).unwrap();
    assert_eq!(unplanned(), 1);
}

#[test]
fn known_segments_answer_without_a_request() {
    let source = TestSource::new(1000, WEB, Behaviour::Prompt);
    let bytes = content(1000);
    let mut known = Segments::default();
    known.insert(0, bytes[..50].to_vec().into());
    known.insert(900, bytes[900..].to_vec().into());
    let fetcher = fetcher(&source).with_known(known);
    let runtime = runtime();
    let inside =
        runtime.block_on(fetcher.fetch(&[range(950, 50), range(0, 50)], Deadline::default())).unwrap();
    assert_eq!(inside, [&bytes[950..], &bytes[..50]]);
    assert_eq!(source.request_count(), 0);
    let mixed = runtime.block_on(fetcher.fetch(&[range(10, 5), range(45, 10)], Deadline::default())).unwrap();
    assert_eq!(mixed, [&bytes[10..15], &bytes[45..55]]);
    assert_eq!(*source.requests.lock().unwrap(), [[range(45, 10)]]);
    assert_eq!(fetcher.counters().snapshot().wanted_bytes, 115);
}

#[test]
fn concurrency_is_limited_to_what_pays() {
    let cost_model = CostModel { ranges_per_request: 1, ..WEB };
    let source = TestSource::new(1000, cost_model, Behaviour::Slow(Duration::from_millis(10)));
    let wanted: Vec<_> = (0..10).map(|i| range(i * 100, 10)).collect();
    runtime().block_on(fetcher(&source).fetch(&wanted, Deadline::default())).unwrap();
    assert_eq!(source.request_count(), 10);
    assert_eq!(source.most_in_flight.load(Ordering::SeqCst), 3);
}

#[test]
fn a_silent_source_is_abandoned_at_the_deadline() {
    let source = TestSource::new(1000, WEB, Behaviour::Silent);
    let deadline = Deadline::after(Duration::from_millis(80));
    let error = runtime().block_on(fetcher(&source).fetch(&[range(0, 10)], deadline)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.url_str(), Some("test://host/f.root"));
    assert!(deadline.has_passed());
    assert_eq!(source.in_flight(), 0, "the request was dropped");
}

#[test]
fn a_passed_deadline_stops_an_immediate_source() {
    let source = TestSource::new(1000, CostModel::MEMORY, Behaviour::Prompt);
    let error = fetcher(&source).fetch_now(&[range(0, 10)], Deadline::after(Duration::ZERO)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(source.request_count(), 0);
}

#[test]
fn a_dropped_fetch_is_cancelled() {
    let source = TestSource::new(1000, WEB, Behaviour::Silent);
    let fetcher = fetcher(&source);
    runtime().block_on(async {
        let wanted = [range(0, 10)];
        let fetch = fetcher.fetch(&wanted, Deadline::default());
        assert!(tokio::time::timeout(Duration::from_millis(20), fetch).await.is_err());
    });
    assert_eq!((source.request_count(), source.in_flight()), (1, 0));
}

#[test]
fn only_immediate_sources_are_fetched_now() {
    let web = TestSource::new(1000, WEB, Behaviour::Prompt);
    let error = fetcher(&web).fetch_now(&[range(0, 10)], Deadline::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    let liar = TestSource::new(1000, CostModel::LOCAL, Behaviour::Silent);
    let error = fetcher(&liar).fetch_now(&[range(0, 10)], Deadline::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[test]
fn ranges_beyond_the_end_are_refused_before_any_request() {
    let source = TestSource::new(1000, CostModel::MEMORY, Behaviour::Prompt);
    for bad in [range(990, 11), range(1001, 0), range(u64::MAX, 2), range(0, u64::MAX)] {
        let error = fetcher(&source).fetch_now(&[range(0, 1), bad], Deadline::default()).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Truncated, Some(bad.start)));
    }
    assert_eq!(source.request_count(), 0);
}

#[test]
fn a_limit_on_bytes_is_kept() {
    let source = TestSource::new(1000, CostModel::MEMORY, Behaviour::Prompt);
    let fetcher = fetcher(&source).with_limit(100);
    assert!(fetcher.fetch_now(&[range(0, 100), range(0, 50)], Deadline::default()).is_ok());
    let error = fetcher.fetch_now(&[range(0, 100), range(200, 1)], Deadline::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert_eq!(source.request_count(), 1);
}

#[test]
fn wrong_answers_are_errors_of_the_server() {
    for (behaviour, offset) in [(Behaviour::Short, Some(20)), (Behaviour::Few, None)] {
        let source = TestSource::new(1000, CostModel::MEMORY, behaviour);
        let error = fetcher(&source).fetch_now(&[range(20, 10)], Deadline::default()).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Server, offset));
    }
}

prop_compose! {
    fn any_cost_model()(
        gap in 0..100_u64,
        largest_request in 1..500_u64,
        ranges_per_request in 1..8_usize,
        concurrency in 1..5_usize,
        immediate in any::<bool>(),
    ) -> CostModel {
        CostModel { gap, largest_request, ranges_per_request, concurrency, immediate, tied: false, deals_out: false }
    }
}

fn any_range() -> impl Strategy<Value = ByteRange> {
    (0..1500_u64, 0..500_u64).prop_map(|(start, len)| range(start, len))
}

proptest! {
    #[test]
    fn every_wanted_byte_comes_back_right(
        wanted in prop::collection::vec(any_range(), 0..40),
        known in prop::collection::vec(any_range(), 0..4),
        cost_model in any_cost_model(),
    ) {
        let bytes = content(2000);
        let slice = |r: &ByteRange| bytes[r.start as usize..r.end() as usize].to_vec();
        let source = TestSource::new(bytes.len(), cost_model, Behaviour::Prompt);
        let mut segments = Segments::default();
        known.iter().for_each(|range| segments.insert(range.start, slice(range).into()));
        let fetcher = fetcher(&source).with_known(segments);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let answers = runtime.block_on(fetcher.fetch(&wanted, Deadline::default())).unwrap();
        let expected: Vec<_> = wanted.iter().map(slice).collect();
        prop_assert_eq!(answers, expected);
    }
}
