//! One file at several servers, on a clock that only the test moves.

mod faults;
mod list;
mod model;
mod verify;

use model::{Manner, SIZE, Server, content, open, read_all, within};
use sapwood_core::{ByteRange, Counters, ErrorKind, SourceEvent};
use sapwood_fetch::replicas::ReplicaReadOptions;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Seconds to read the file twice at these servers; the first time is not counted.
async fn steady(servers: &[Arc<Server>], options: ReplicaReadOptions) -> f64 {
    let (source, _) = open(servers, options, within(1000)).await.unwrap();
    read_all(&source, within(1000)).await.unwrap();
    read_all(&source, within(1000)).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn two_equal_sources_are_nearly_twice_as_fast() {
    let alone = steady(&[Server::new("a", 20, 10.0)], ReplicaReadOptions::default()).await;
    let servers = [Server::new("a", 20, 10.0), Server::new("b", 20, 10.0)];
    let both = steady(&servers, ReplicaReadOptions::default()).await;
    assert!(alone / both >= 1.8, "{alone} s alone, {both} s together");
}

#[tokio::test(start_paused = true)]
async fn a_slow_source_does_not_harm_a_fast_one() {
    let fast = steady(&[Server::new("a", 20, 20.0)], ReplicaReadOptions::default()).await;
    for slow_first in [false, true] {
        let mut servers = vec![Server::new("a", 20, 20.0), Server::new("b", 20, 2.0)];
        if slow_first {
            servers.reverse();
        }
        let both = steady(&servers, ReplicaReadOptions::default()).await;
        assert!(fast / both >= 0.95, "{fast} s alone, {both} s together");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_learned_of_a_slow_source_that_is_named_first_costs_little() {
    let servers = [Server::new("b", 20, 2.5), Server::new("a", 20, 25.0)];
    let (source, _) = open(&servers, ReplicaReadOptions::default(), within(1000)).await.unwrap();
    let seconds = read_all(&source, within(1000)).await.unwrap();
    let fast = SIZE as f64 / 25e6;
    // A twentieth of a read of 400 MB.
    assert!(seconds < fast + 0.8, "{seconds} s, of the fast one alone {fast} s");
}

#[tokio::test(start_paused = true)]
async fn sources_that_are_very_slow_are_read_together() {
    let servers = [Server::new("a", 20, 0.5), Server::new("b", 20, 0.5)];
    let (source, counters) = open(&servers, ReplicaReadOptions::default(), within(1000)).await.unwrap();
    let seconds = read_all(&source, within(1000)).await.unwrap();
    let alone = SIZE as f64 / 0.5e6;
    assert!(seconds < 0.6 * alone, "{seconds} s, alone {alone} s: {:?}", counters.events.entries());
}

#[tokio::test(start_paused = true)]
async fn shares_follow_bandwidth() {
    let servers = [Server::new("a", 10, 30.0), Server::new("b", 10, 10.0)];
    let (source, counters) = open(&servers, ReplicaReadOptions::default(), within(100)).await.unwrap();
    for _ in 0..4 {
        read_all(&source, within(100)).await.unwrap();
    }
    let ratio = servers[0].bytes_sent() as f64 / servers[1].bytes_sent() as f64;
    assert!((2.0..4.5).contains(&ratio), "{ratio}");
    let twice = counters.duplicated_bytes.get();
    assert!(twice < 4 * SIZE * 3 / 100, "{twice} bytes twice");
}

#[tokio::test(start_paused = true)]
async fn a_small_file_has_one_source() {
    let servers = [Server::new("a", 10, 10.0), Server::new("b", 10, 10.0)];
    let options = ReplicaReadOptions { large: SIZE + 1, ..ReplicaReadOptions::default() };
    let (source, _) = open(&servers, options, within(100)).await.unwrap();
    read_all(&source, within(100)).await.unwrap();
    assert_eq!(servers[1].opened.load(Ordering::Relaxed), 0);
    let of_one: usize = servers[0].requests.lock().unwrap().len();
    assert_eq!(of_one as u64, SIZE / (4 << 20), "requests are not cut up");
}

#[tokio::test(start_paused = true)]
async fn the_only_source_of_a_small_file_is_replaced_when_it_hangs() {
    let servers = [Server::new("a", 10, 10.0), Server::new("b", 10, 10.0)];
    let options = ReplicaReadOptions { large: u64::MAX, ..ReplicaReadOptions::default() };
    let (source, counters) = open(&servers, options, within(100)).await.unwrap();
    servers[0].behave(Manner::Hangs);
    let seconds = read_all(&source, within(100)).await.unwrap();
    assert!(seconds < SIZE as f64 / 10e6 + 5.0, "{seconds} s: {:?}", counters.events.entries());
}

#[tokio::test(start_paused = true)]
async fn what_a_source_has_not_begun_is_taken_by_one_that_is_done() {
    let servers = [Server::new("a", 10, 10.0), Server::new("b", 10, 10.0)];
    let (source, _) = open(&servers, ReplicaReadOptions::default(), within(1000)).await.unwrap();
    read_all(&source, within(1000)).await.unwrap();
    servers[0].behave(Manner::Slow(0.2));
    let before = servers[0].bytes_sent();
    let all = [ByteRange { start: 0, len: SIZE }];
    let answers = source.read_ranges(&all, within(1000)).await.unwrap();
    assert!(answers == [content(0)]);
    let share = (servers[0].bytes_sent() - before) as f64 / SIZE as f64;
    assert!(share < 0.35, "{share} of the bytes came from the slow one, which was to have half");
}

#[tokio::test(start_paused = true)]
async fn a_source_that_dies_costs_seconds() {
    for manner in [
        Manner::Hangs,
        Manner::Slow(0.0001),
        Manner::Short,
        Manner::Few,
        Manner::Fails(ErrorKind::Network),
        Manner::Fails(ErrorKind::NotFound),
        Manner::Fails(ErrorKind::Changed),
    ] {
        let servers = [Server::new("a", 20, 10.0), Server::new("b", 20, 10.0)];
        let (source, counters) = open(&servers, ReplicaReadOptions::default(), within(1000)).await.unwrap();
        read_all(&source, within(1000)).await.unwrap();
        servers[0].behave(manner);
        let with_one = SIZE as f64 / 10e6;
        let seconds = read_all(&source, within(1000)).await.unwrap();
        assert!(seconds < with_one + 5.0, "{manner:?}: {seconds} s");
        let events = counters.events.entries();
        let left = events.iter().any(|one| matches!(one.event, SourceEvent::Left | SourceEvent::Refused));
        assert!(left, "{manner:?}: {events:?}");
    }
}

/// Lines of the log: how often each of these was logged.
fn lines(counters: &Counters, events: &[SourceEvent]) -> Vec<u64> {
    let log = counters.events.entries();
    let times = |&event| log.iter().filter(|one| one.event == event).map(|one| one.times).sum();
    events.iter().map(times).collect()
}

#[tokio::test(start_paused = true)]
async fn however_many_requests_fail_together_that_is_said_once() {
    let servers = [Server::new("a", 20, 10.0), Server::new("b", 20, 10.0)];
    let (source, counters) = open(&servers, ReplicaReadOptions::default(), within(1000)).await.unwrap();
    read_all(&source, within(1000)).await.unwrap();
    let all = [
        SourceEvent::Left,
        SourceEvent::Retried,
        SourceEvent::Resumed,
        SourceEvent::Switched,
        SourceEvent::Failed,
    ];
    assert_eq!(lines(&counters, &all), [0, 0, 0, 1, 0], "{:?}", counters.events.entries());
    servers[0].behave(Manner::Fails(ErrorKind::Network));
    let failing = tokio::time::timeout(Duration::from_millis(500), read_all(&source, within(1000)));
    assert!(failing.await.is_err());
    assert_eq!(lines(&counters, &all), [1, 0, 0, 1, 0], "{:?}", counters.events.entries());
    // Now the other one, too: nobody is left who could stand in for it.
    servers[1].behave(Manner::Fails(ErrorKind::Network));
    let failing = tokio::time::timeout(Duration::from_millis(200), read_all(&source, within(1000)));
    assert!(failing.await.is_err());
    assert_eq!(lines(&counters, &all), [1, 1, 0, 1, 0], "{:?}", counters.events.entries());
    assert_eq!(counters.retries.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_only_source_is_asked_again_within_the_deadline() {
    let servers = [Server::new("a", 20, 100.0)];
    let (source, counters) = open(&servers, ReplicaReadOptions::default(), within(1000)).await.unwrap();
    servers[0].behave(Manner::Fails(ErrorKind::Network));
    let recovers = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        servers[0].behave(Manner::Well);
    };
    let (read, ()) = tokio::join!(read_all(&source, within(1000)), recovers);
    assert!(read.unwrap() < 10.0, "{:?}", counters.events.entries());
    let said = lines(&counters, &[SourceEvent::Left, SourceEvent::Retried, SourceEvent::Switched]);
    assert!(said[0] == 0 && (2..=3).contains(&said[1]) && said[2] == 0, "{:?}", counters.events.entries());
    servers[0].behave(Manner::Fails(ErrorKind::Network));
    let error = read_all(&source, within(20)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_source_that_recovers_is_read_from_again() {
    let servers = [Server::new("a", 20, 10.0), Server::new("b", 20, 10.0)];
    let (source, counters) = open(&servers, ReplicaReadOptions::default(), within(9999)).await.unwrap();
    read_all(&source, within(1000)).await.unwrap();
    servers[0].behave(Manner::Fails(ErrorKind::Network));
    read_all(&source, within(1000)).await.unwrap();
    servers[0].behave(Manner::Well);
    let before = servers[0].bytes_sent();
    for _ in 0..4 {
        read_all(&source, within(1000)).await.unwrap();
    }
    assert!(servers[0].bytes_sent() - before > SIZE, "{:?}", counters.events.entries());
}

#[tokio::test(start_paused = true)]
async fn another_file_is_refused() {
    let servers = [Server::new("a", 10, 10.0), Server::with("b", 10, 10.0, content(1))];
    let (source, counters) = open(&servers, ReplicaReadOptions::default(), within(100)).await.unwrap();
    read_all(&source, within(100)).await.unwrap();
    assert_eq!(servers[1].bytes_sent(), 0);
    let events = counters.events.entries();
    assert!(events.iter().any(|one| one.event == SourceEvent::Refused), "{events:?}");
    servers[0].behave(Manner::Fails(ErrorKind::Changed));
    let error = read_all(&source, within(100)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed);
}

#[tokio::test(start_paused = true)]
async fn probes_are_few_and_a_better_source_is_taken() {
    let servers = [Server::new("a", 20, 10.0), Server::new("b", 20, 10.0), Server::new("c", 20, 20.0)];
    let (source, counters) = open(&servers, ReplicaReadOptions::default(), within(9999)).await.unwrap();
    read_all(&source, within(1000)).await.unwrap();
    // While one is left, the third is opened in its place; then there is one too many.
    servers[1].behave(Manner::Fails(ErrorKind::Network));
    read_all(&source, within(1000)).await.unwrap();
    servers[1].behave(Manner::Well);
    for _ in 0..10 {
        read_all(&source, within(1000)).await.unwrap();
    }
    let [probed, all] = [counters.probe_bytes.get(), 12 * SIZE];
    assert!(probed > 0 && probed < all / 50, "{probed} of {all} bytes");
    assert!(servers[2].bytes_sent() > 3 * SIZE, "{}", servers[2].bytes_sent());
}

#[tokio::test(start_paused = true)]
async fn a_fast_source_is_found_beside_two_slow_ones() {
    let servers = [Server::new("a", 20, 2.5), Server::new("b", 20, 2.5), Server::new("c", 20, 25.0)];
    let (source, counters) = open(&servers, ReplicaReadOptions::default(), within(9999)).await.unwrap();
    let begin = tokio::time::Instant::now();
    let fast_is_read = async {
        while servers[2].bytes_sent() < 4 << 20 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        begin.elapsed()
    };
    let whole = async {
        for _ in 0..4 {
            read_all(&source, within(1000)).await.unwrap();
        }
    };
    let (found, ()) = tokio::join!(fast_is_read, whole);
    assert!(found < Duration::from_secs(10), "{found:?}: {:?}", counters.events.entries());
    let [probed, all] = [counters.probe_bytes.get(), 4 * SIZE];
    assert!(probed > 0 && probed <= all / 100, "{probed} of {all} bytes");
}

#[tokio::test(start_paused = true)]
async fn further_sources_are_sought_at_growing_intervals_or_never() {
    for (seconds, most) in [(5, 6), (0, 0)] {
        let all: Vec<_> = (0..20).map(|_| Server::new("a", 20, 25.0)).collect();
        let probe_interval = Duration::from_secs(seconds);
        let options = ReplicaReadOptions { probe_interval, ..ReplicaReadOptions::default() };
        let (source, counters) = open(&all, options, within(9999)).await.unwrap();
        let begin = tokio::time::Instant::now();
        while begin.elapsed() < Duration::from_secs(200) {
            read_all(&source, within(1000)).await.unwrap();
        }
        let opened = all.iter().filter(|server| server.opened.load(Ordering::Relaxed) > 0).count();
        assert!((opened > 2) == (seconds > 0) && opened <= 2 + most, "{opened} after {seconds} s");
        assert!(counters.probe_bytes.get() < 200 * 50_000_000 / 100);
    }
}

/// Reads 640 MiB from three servers, two at a time, of which the first is silent for this time after the fourth second.
/// Returns the seconds, and the bytes sent beyond those of the file: duplicates and probes.
async fn lapse(silence: Duration) -> (f64, u64) {
    let servers = ["a", "b", "c"].map(|name| Server::new(name, 20, 25.0));
    let (source, _) = open(&servers, ReplicaReadOptions::default(), within(9999)).await.unwrap();
    let begin = tokio::time::Instant::now();
    let lapse = async {
        tokio::time::sleep(Duration::from_secs(4)).await;
        servers[0].behave(Manner::SilentUntil(tokio::time::Instant::now() + silence));
        tokio::time::sleep(silence).await;
        servers[0].behave(Manner::Well);
        std::future::pending().await
    };
    let whole = async {
        for _ in 0..10 {
            read_all(&source, within(1000)).await.unwrap();
        }
    };
    tokio::select! { () = lapse => {} () = whole => {} }
    let sent: u64 = servers.iter().map(|server| server.bytes_sent()).sum();
    (begin.elapsed().as_secs_f64(), sent.saturating_sub(10 * SIZE))
}

#[tokio::test(start_paused = true)]
async fn a_source_that_lapses_costs_no_more_than_one_that_dies() {
    let [(lapsed, twice), (died, _)] =
        [lapse(Duration::from_secs(6)).await, lapse(Duration::from_secs(9999)).await];
    let undisturbed = 10.0 * SIZE as f64 / 50e6;
    assert!(lapsed < died + 0.1 && died < undisturbed + 2.5, "{lapsed} {died} {undisturbed}");
    assert!(twice < 10 * SIZE / 100, "{twice} bytes came twice, or as probes");
}

#[tokio::test(start_paused = true)]
async fn opening_does_not_wait_for_a_place_that_is_silent() {
    let servers = [Server::new("a", 10, 10.0), Server::new("b", 10, 10.0)];
    servers[0].behave(Manner::Hangs);
    let begin = tokio::time::Instant::now();
    let (source, _) = open(&servers, ReplicaReadOptions::default(), within(100)).await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(5));
    read_all(&source, within(100)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn abandoned_requests_are_cancelled() {
    let servers = [Server::new("a", 10, 10.0), Server::new("b", 10, 10.0)];
    let (source, _) = open(&servers, ReplicaReadOptions::default(), within(100)).await.unwrap();
    let all = [ByteRange { start: 0, len: SIZE }];
    let read = tokio::time::timeout(Duration::from_secs(1), source.read_ranges(&all, within(100)));
    assert!(read.await.is_err());
    let before: usize = servers.iter().map(|server| server.requests.lock().unwrap().len()).sum();
    tokio::time::sleep(Duration::from_secs(20)).await;
    let after: usize = servers.iter().map(|server| server.requests.lock().unwrap().len()).sum();
    assert_eq!(before, after);
    assert_eq!(read_all(&source, within(100)).await.map(|_| ()).ok(), Some(()));
}
