//! Read-ahead keeps order, depth and budget, and releases everything when dropped.

use crate::source::{Behaviour, TestSource, WEB, content, fetcher, range, runtime};
use bytes::Bytes;
use sapwood_core::{Call, Deadline, ErrorKind, Result};
use sapwood_fetch::{Ahead, Budget, Fetcher, FileIndex, Job, ReadAhead};
use sapwood_source::CostModel;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

const SLOW: Behaviour = Behaviour::Slow(Duration::from_millis(5));

/// Bytes of a job: enough that the next one is not fetched ahead just because it is small.
const LEN: u64 = 300_000;

/// A source of ten jobs, each of which is one request.
fn source(behaviour: Behaviour) -> Arc<TestSource> {
    let cost_model = CostModel { largest_request: u64::MAX, ..WEB };
    TestSource::new(10 * LEN as usize, cost_model, behaviour)
}

/// The fetcher of the only file.
fn reads(fetcher: Fetcher) -> impl Fn(FileIndex) -> Fetcher + Send + Sync + 'static {
    move |_| fetcher.clone()
}

/// Ten jobs.
fn jobs() -> impl Iterator<Item = Job<u64>> + Send {
    (0..10).map(|i| Job { wanted: vec![(0, range(i * LEN, LEN))], tag: i })
}

fn ahead(runtime: &Runtime, source: &Arc<TestSource>, jobs_ahead: usize, bytes: u64) -> ReadAhead<u64> {
    let depth = Ahead { jobs: jobs_ahead, bytes };
    ReadAhead::new(jobs(), reads(fetcher(source)), runtime.handle().clone(), depth)
}

/// The same, after the consumer has asked for the first job, which is there.
fn asked(runtime: &Runtime, source: &Arc<TestSource>, jobs_ahead: usize, bytes: u64) -> ReadAhead<u64> {
    let mut ahead = ahead(runtime, source, jobs_ahead, bytes);
    next(&mut ahead).unwrap().unwrap();
    ahead
}

fn next<T: 'static>(ahead: &mut ReadAhead<T>) -> Option<Result<(T, Vec<Bytes>)>> {
    ahead.next(&mut Call::new(Deadline::default(), &mut || false))
}

/// Waits, at most half a minute, until `reached`.
fn eventually(mut reached: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !reached() && start.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(2));
    }
    reached()
}

#[test]
fn jobs_come_in_order() {
    for (cost_model, behaviour) in
        [(CostModel { largest_request: LEN, ..WEB }, SLOW), (CostModel::LOCAL, Behaviour::Prompt)]
    {
        let len = LEN as usize;
        let (runtime, source) = (runtime(), TestSource::new(10 * len, cost_model, behaviour));
        let mut ahead = ahead(&runtime, &source, 3, u64::MAX);
        let bytes = content(10 * len);
        for i in 0..10_usize {
            let (tag, answers) = next(&mut ahead).unwrap().unwrap();
            assert_eq!(tag, i as u64);
            assert!(answers == [&bytes[i * len..(i + 1) * len]], "job {i}");
        }
        assert!(next(&mut ahead).is_none());
    }
}

#[test]
fn depth_is_maintained_while_the_consumer_works() {
    let (runtime, source) = (runtime(), source(Behaviour::Prompt));
    let _ahead = asked(&runtime, &source, 2, u64::MAX);
    assert!(eventually(|| source.request_count() == 3));
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(source.request_count(), 3, "one is worked on, two are fetched ahead");
}

#[test]
fn the_budget_is_kept_but_one_job_always_fits() {
    for (bytes, expected) in [(0, 1), (2 * LEN - 1, 1), (2 * LEN, 2), (u64::MAX, 5)] {
        let (runtime, source) = (runtime(), source(Behaviour::Prompt));
        let _ahead = asked(&runtime, &source, 5, bytes);
        assert!(eventually(|| source.request_count() == 1 + expected));
        std::thread::sleep(Duration::from_millis(10));
        assert_eq!(source.request_count(), 1 + expected, "{bytes} bytes");
    }
}

#[test]
fn only_the_consumer_s_wait_is_counted() {
    // What is counted for all of them by mistake is ten times as long as one takes.
    let slow = Duration::from_millis(300);
    let (runtime, source) = (runtime(), source(Behaviour::Slow(slow)));
    let fetcher = fetcher(&source);
    let limits = Ahead { jobs: 10, bytes: u64::MAX };
    let mut ahead = ReadAhead::new(jobs(), reads(fetcher.clone()), runtime.handle().clone(), limits);
    next(&mut ahead).unwrap().unwrap();
    assert!(eventually(|| source.request_count() == 10 && source.in_flight() == 0));
    std::thread::sleep(Duration::from_millis(20));
    let first = fetcher.counters().snapshot().wait_ns;
    while let Some(job) = next(&mut ahead) {
        job.unwrap();
    }
    let counted = fetcher.counters().snapshot();
    assert_eq!(counted.wanted_bytes, 10 * LEN);
    let waited = Duration::from_nanos(counted.wait_ns - first);
    assert!(waited < 5 * slow, "{waited:?} though all was there");
}

#[test]
fn an_error_comes_in_order_and_ends_the_reader() {
    let (runtime, source) = (runtime(), source(Behaviour::FailsFrom(2 * LEN)));
    let mut ahead = ahead(&runtime, &source, 3, u64::MAX);
    assert!(next(&mut ahead).unwrap().is_ok());
    assert!(next(&mut ahead).unwrap().is_ok());
    let error = next(&mut ahead).unwrap().unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Server, Some(2 * LEN)));
    assert!(next(&mut ahead).is_none());
}

#[test]
fn deadline_and_interruption_end_the_wait_and_cancel_all() {
    for interrupt in [false, true] {
        let (runtime, source) = (runtime(), source(Behaviour::Silent));
        let mut ahead = ahead(&runtime, &source, 3, u64::MAX);
        assert!(eventually(|| source.in_flight() == 1));
        let deadline =
            if interrupt { Deadline::default() } else { Deadline::after(Duration::from_millis(50)) };
        let error = ahead.next(&mut Call::new(deadline, &mut || interrupt)).unwrap().unwrap_err();
        assert_eq!(error.kind(), if interrupt { ErrorKind::Cancelled } else { ErrorKind::Timeout });
        assert_eq!(error.url_str(), Some("test://host/f.root"));
        assert!(eventually(|| source.in_flight() == 0));
        assert!(next(&mut ahead).is_none());
    }
}

#[test]
fn dropping_the_reader_cancels_requests_in_flight() {
    let (runtime, source) = (runtime(), source(Behaviour::Silent));
    let ahead = ahead(&runtime, &source, 4, u64::MAX);
    assert!(eventually(|| source.in_flight() == 1));
    drop(ahead);
    assert!(eventually(|| source.in_flight() == 0));
}

#[test]
fn before_the_first_call_only_the_first_job_is_fetched_within_the_budget() {
    let (runtime, budget) = (runtime(), Budget::new(LEN * 3 / 2));
    let sources = [0; 2].map(|_| source(Behaviour::Prompt));
    let limits = Ahead { jobs: 5, bytes: u64::MAX };
    let mut files = sources.each_ref().map(|source| {
        let fetcher = fetcher(source).with_budget(Arc::clone(&budget));
        ReadAhead::new(jobs(), reads(fetcher), runtime.handle().clone(), limits)
    });
    assert!(eventually(|| sources[0].request_count() == 1));
    std::thread::sleep(Duration::from_millis(10));
    assert_eq!(sources.each_ref().map(|source| source.request_count()), [1, 0]);
    // It comes all the same when it is asked for.
    for file in &mut files {
        assert_eq!(next(file).unwrap().unwrap().0, 0);
    }
}

#[test]
fn many_small_jobs_are_fetched_ahead_together() {
    let (runtime, source) = (runtime(), TestSource::new(1000, WEB, Behaviour::Prompt));
    let jobs = (0..10).map(|i| Job { wanted: vec![(0, range(i * 100, 10))], tag: i });
    let limits = Ahead { jobs: 1, bytes: u64::MAX };
    let mut ahead = ReadAhead::new(jobs, reads(fetcher(&source)), runtime.handle().clone(), limits);
    next(&mut ahead).unwrap().unwrap();
    assert!(eventually(|| source.request_count() == 10));
}

#[test]
fn the_depth_grows_until_the_link_is_full() {
    let slow = Behaviour::Slow(Duration::from_millis(100));
    let size = 40 << 20;
    let cost_model = CostModel { largest_request: u64::MAX, gap: 0, concurrency: 1, ..WEB };
    let (runtime, source) = (runtime(), TestSource::new(size, cost_model, slow));
    let fetcher = fetcher(&source).with_budget(Budget::new(20 << 20));
    let job = |start, len| Job { wanted: vec![(0, range(start, len))], tag: () };
    // The small one tells the round trip.
    let jobs = std::iter::once(job(0, 10)).chain((0..40).map(move |i| job(i << 20, 1 << 20)));
    let limits = Ahead { jobs: 1, bytes: u64::MAX };
    let mut ahead = ReadAhead::new(jobs, reads(fetcher.clone()), runtime.handle().clone(), limits);
    while let Some(job) = next(&mut ahead) {
        job.unwrap();
    }
    // However many are asked for, they come at the same time: a link that is never full.
    let most = source.most_in_flight.load(std::sync::atomic::Ordering::SeqCst);
    assert!((8..=21).contains(&most), "{most} in flight; {:?}", fetcher.link());
}
