//! Ranges are packed, measured, parallelized, and sent over reused connections.

use super::Zoo;
use sapwood_testkit::{Behaviour, EmulatedLink, Proxy, Refusal};
use std::process::Command;
use std::time::{Duration, Instant};

#[tokio::test]
async fn several_ranges_travel_together() {
    let zoo = Zoo::new(Behaviour::default()).await;
    let opened = zoo.open().await.unwrap();
    zoo.read(&opened, &zoo.scattered(200)).await.unwrap();
    let counts = zoo.counts();
    assert_eq!((counts.requests, counts.ranges, counts.round_trips), (4, 204, 2));
    zoo.read(&opened, &zoo.scattered(1000)).await.unwrap();
    assert_eq!(zoo.counts().requests, 4 + 5);
    assert_eq!(zoo.server.stats().snapshot().requests, 9);
}

#[tokio::test]
async fn single_ranges_travel_in_parallel() {
    let zoo = Zoo::new(Behaviour::named("single").unwrap()).await;
    let opened = zoo.open().await.unwrap();
    assert_eq!(opened.source.cost_model().ranges_per_request, 1);
    let before = zoo.counts();
    zoo.read(&opened, &zoo.scattered(100)).await.unwrap();
    let after = zoo.counts();
    assert_eq!(after.requests - before.requests, 100);
    assert!(after.round_trips - before.round_trips < 100);
    let most = opened.source.cost_model().concurrency as u64 + 2;
    let connections = zoo.server.stats().snapshot().connections;
    assert!(connections <= most, "{connections} connections");
}

#[tokio::test]
async fn limits_are_learned_once() {
    let refusals = [
        (Refusal::Status(400), 50),
        (Refusal::Status(416), 50),
        (Refusal::Status(500), 50),
        (Refusal::Close, 50),
        (Refusal::Whole, 50),
        (Refusal::First, 70),
    ];
    for (too_many, learned) in refusals {
        let zoo = Zoo::new(Behaviour { max_ranges: 70, too_many, ..Behaviour::default() }).await;
        let opened = zoo.open().await.unwrap();
        zoo.read(&opened, &zoo.scattered(200)).await.unwrap();
        assert_eq!(opened.source.cost_model().ranges_per_request, learned, "{too_many:?}");
        let before = zoo.counts();
        zoo.read(&opened, &zoo.scattered(100)).await.unwrap();
        assert_eq!(zoo.counts().requests - before.requests, 2);
    }
}

#[tokio::test]
async fn header_limits_are_learned_once() {
    let zoo = Zoo::new(Behaviour { max_header_bytes: 2000, ..Behaviour::default() }).await;
    let opened = zoo.open().await.unwrap();
    zoo.read(&opened, &zoo.scattered(256)).await.unwrap();
    assert_eq!(opened.source.cost_model().ranges_per_request, 200);
    let before = zoo.counts();
    zoo.read(&opened, &zoo.scattered(256)).await.unwrap();
    assert!(zoo.server.requests().iter().all(|request| request.header_bytes < 8000));
    assert!((2..8).contains(&(zoo.counts().requests - before.requests)));
}

#[tokio::test]
async fn large_reads_are_split() {
    let zoo = Zoo::sized(Behaviour::default(), 40 << 20).await;
    let opened = zoo.open().await.unwrap();
    let ranges: Vec<_> =
        (0..39).map(|i| sapwood_core::ByteRange { start: i << 20, len: (1 << 20) - 100_000 }).collect();
    zoo.read(&opened, &ranges).await.unwrap();
    assert_eq!(zoo.counts().requests, 3 + 3);
}

#[tokio::test]
async fn what_is_counted_is_what_travels() {
    let zoo = Zoo::new(Behaviour::named("single").unwrap()).await;
    // At low latency, the first connection may answer before the others exist.
    let link = EmulatedLink { round_trip: Duration::from_millis(200), ..EmulatedLink::default() };
    let proxy = Proxy::start(zoo.server.address(), link).await.unwrap();
    let opened = sapwood_source::open(&proxy.url("/f.root"), &zoo.options).await.unwrap();
    for _ in 0..3 {
        zoo.read(&opened, &zoo.scattered(5)).await.unwrap();
    }
    let counts = zoo.counts();
    let stats = zoo.server.stats().snapshot();
    assert_eq!((counts.requests, counts.ranges), (stats.requests, stats.ranges));
    assert_eq!(counts.round_trips, proxy.stats().snapshot().round_trips);
    assert_eq!(counts.round_trips, 1 + 3);
}

#[tokio::test]
async fn a_distant_server_costs_one_round_trip_per_read() {
    let zoo = Zoo::new(Behaviour::default()).await;
    let link = EmulatedLink { round_trip: Duration::from_millis(100), ..EmulatedLink::default() };
    let proxy = Proxy::start(zoo.server.address(), link).await.unwrap();
    let begin = Instant::now();
    let opened = sapwood_source::open(&proxy.url("/f.root"), &zoo.options).await.unwrap();
    zoo.read(&opened, &zoo.scattered(200)).await.unwrap();
    // One to connect, one to open, one to read.
    let elapsed = begin.elapsed();
    assert!(elapsed >= Duration::from_millis(300), "{elapsed:?}");
    assert_eq!(proxy.stats().snapshot().round_trips, 2);
}

#[test]
fn remote_reads_find_open_connections() {
    // How many are made is said once per process, so this needs one of its own.
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "reading::child", "--ignored"])
        .env("SAPWOOD_CONNECTIONS_AHEAD", "16")
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
}

#[tokio::test]
#[ignore = "run by remote_reads_find_open_connections"]
async fn child() {
    let zoo = Zoo::new(Behaviour::named("single").unwrap()).await;
    let link = EmulatedLink { round_trip: Duration::from_millis(300), ..EmulatedLink::default() };
    let proxy = Proxy::start(zoo.server.address(), link).await.unwrap();
    let opened = sapwood_source::open(&proxy.url("/f.root"), &zoo.options).await.unwrap();
    // Three for opening, and sixteen made ahead of need.
    let connections = || proxy.stats().snapshot().connections;
    let patience = Instant::now() + Duration::from_secs(10);
    while connections() < 3 + 16 && Instant::now() < patience {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(connections(), 3 + 16);
    zoo.read(&opened, &zoo.scattered(1)).await.unwrap();
    zoo.read(&opened, &zoo.scattered(16)).await.unwrap();
    // The next file uses them, too.
    sapwood_source::open(&proxy.url("/f.root"), &zoo.options).await.unwrap();
    assert_eq!(connections(), 3 + 16);
    assert_eq!(proxy.stats().snapshot().round_trips, 4);
    assert_eq!(zoo.counts().requests, zoo.server.stats().snapshot().requests);
}
