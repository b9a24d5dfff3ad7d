//! Read-ahead keeps order, depth and budget, and lets go of everything when dropped.

use crate::source::{Behaviour, TestSource, WEB, content, fetcher, range, runtime};
use sapwood_core::{Deadline, ErrorKind};
use sapwood_fetch::{Ahead, Job, ReadAhead};
use sapwood_source::Physics;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

const SLOW: Behaviour = Behaviour::Slow(Duration::from_millis(5));

/// Ten jobs of ten bytes each, a hundred bytes apart.
fn jobs() -> impl Iterator<Item = Job<u64>> + Send {
    (0..10).map(|i| Job { wanted: vec![range(i * 100, 10)], tag: i })
}

fn ahead(runtime: &Runtime, source: &Arc<TestSource>, jobs_ahead: usize, bytes: u64) -> ReadAhead<u64> {
    ReadAhead::new(jobs(), fetcher(source), runtime.handle().clone(), Ahead { jobs: jobs_ahead, bytes })
}

/// Waits, at most a second, until `reached`.
fn eventually(mut reached: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !reached() && start.elapsed() < Duration::from_secs(1) {
        std::thread::sleep(Duration::from_millis(2));
    }
    reached()
}

#[test]
fn jobs_come_in_order_and_then_no_more() {
    for (physics, behaviour) in [(WEB, SLOW), (Physics::LOCAL, Behaviour::Prompt)] {
        let (runtime, source) = (runtime(), TestSource::new(1000, physics, behaviour));
        let mut ahead = ahead(&runtime, &source, 3, u64::MAX);
        let bytes = content(1000);
        for i in 0..10_usize {
            let (tag, answers) = ahead.next(Deadline::default(), &mut || false).unwrap().unwrap();
            assert_eq!(tag, i as u64);
            assert_eq!(answers, [&bytes[i * 100..i * 100 + 10]]);
        }
        assert!(ahead.next(Deadline::default(), &mut || false).is_none());
    }
}

#[test]
fn depth_is_kept_while_the_consumer_works() {
    let (runtime, source) = (runtime(), TestSource::new(1000, WEB, Behaviour::Prompt));
    let mut ahead = ahead(&runtime, &source, 2, u64::MAX);
    assert!(eventually(|| source.request_count() == 2));
    ahead.next(Deadline::default(), &mut || false).unwrap().unwrap();
    assert!(eventually(|| source.request_count() == 3));
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(source.request_count(), 3, "one is worked on, two are fetched ahead");
}

#[test]
fn the_budget_is_kept_but_one_job_always_fits() {
    for (bytes, expected) in [(0, 1), (19, 1), (20, 2), (25, 2), (u64::MAX, 5)] {
        let (runtime, source) = (runtime(), TestSource::new(1000, WEB, Behaviour::Prompt));
        let ahead = ahead(&runtime, &source, 5, bytes);
        assert!(eventually(|| source.request_count() == expected));
        std::thread::sleep(Duration::from_millis(10));
        assert_eq!(source.request_count(), expected, "{bytes} bytes");
        drop(ahead);
    }
}

#[test]
fn only_the_consumer_s_wait_is_counted() {
    let (runtime, source) = (runtime(), TestSource::new(1000, WEB, SLOW));
    let fetcher = fetcher(&source);
    let limits = Ahead { jobs: 10, bytes: u64::MAX };
    let mut ahead = ReadAhead::new(jobs(), fetcher.clone(), runtime.handle().clone(), limits);
    assert!(eventually(|| source.request_count() == 10 && source.in_flight() == 0));
    std::thread::sleep(Duration::from_millis(20));
    while let Some(job) = ahead.next(Deadline::default(), &mut || false) {
        job.unwrap();
    }
    let counted = fetcher.counters().snapshot();
    assert_eq!(counted.wanted_bytes, 100);
    assert!(counted.wait_ns < 10 * 5_000_000, "{} ns though all was there", counted.wait_ns);
}

#[test]
fn an_error_comes_in_its_place_and_ends_it() {
    let (runtime, source) = (runtime(), TestSource::new(1000, WEB, Behaviour::FailsFrom(200)));
    let mut ahead = ahead(&runtime, &source, 3, u64::MAX);
    assert!(ahead.next(Deadline::default(), &mut || false).unwrap().is_ok());
    assert!(ahead.next(Deadline::default(), &mut || false).unwrap().is_ok());
    let error = ahead.next(Deadline::default(), &mut || false).unwrap().unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Server, Some(200)));
    assert!(ahead.next(Deadline::default(), &mut || false).is_none());
}

#[test]
fn deadline_and_interruption_end_the_wait_and_abandon_all() {
    for interrupt in [false, true] {
        let (runtime, source) = (runtime(), TestSource::new(1000, WEB, Behaviour::Silent));
        let mut ahead = ahead(&runtime, &source, 3, u64::MAX);
        assert!(eventually(|| source.in_flight() == 3));
        let start = Instant::now();
        let deadline =
            if interrupt { Deadline::default() } else { Deadline::after(Duration::from_millis(50)) };
        let error = ahead.next(deadline, &mut || interrupt).unwrap().unwrap_err();
        assert_eq!(error.kind(), if interrupt { ErrorKind::Cancelled } else { ErrorKind::Timeout });
        assert_eq!(error.url_str(), Some("test://host/f.root"));
        assert!(start.elapsed() < Duration::from_secs(1));
        assert!(eventually(|| source.in_flight() == 0));
        assert!(ahead.next(Deadline::default(), &mut || false).is_none());
    }
}

#[test]
fn dropping_it_abandons_what_is_in_flight() {
    let (runtime, source) = (runtime(), TestSource::new(1000, WEB, Behaviour::Silent));
    let ahead = ahead(&runtime, &source, 4, u64::MAX);
    assert!(eventually(|| source.in_flight() == 4));
    drop(ahead);
    assert!(eventually(|| source.in_flight() == 0));
}
