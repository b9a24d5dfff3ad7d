//! The proxy adds latency without slowing down, limits bandwidth, injects faults, and counts.

use super::{exchange, split};
use sapwood_testkit::{Behaviour, EmulatedLink, LinkFault, Objects, Proxy, Server, sample};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const TRIP: Duration = Duration::from_millis(100);

async fn start(size: usize, link: EmulatedLink) -> (Server, Proxy) {
    let server = Server::start(Objects::one("/f", sample(size)), Behaviour::default()).await.unwrap();
    let proxy = Proxy::start(server.address(), link).await.unwrap();
    (server, proxy)
}

/// The time to read the whole object.
async fn time(proxy: &Proxy, size: usize) -> Duration {
    let begin = Instant::now();
    let answer = exchange(proxy.address(), "GET /f", "").await;
    assert_eq!(split(&answer).1.len(), size);
    begin.elapsed()
}

#[tokio::test]
async fn delay_does_not_reduce_bandwidth() {
    let size = 20 << 20;
    let (_server, proxy) = start(size, EmulatedLink { round_trip: TRIP, ..EmulatedLink::default() }).await;
    let elapsed = time(&proxy, size).await;
    // The handshake and the request; if each chunk of 64 kB waited for the previous one, it would take 32 s.
    assert!(elapsed >= 2 * TRIP, "{elapsed:?}");
    assert!(elapsed < 160 * TRIP, "{elapsed:?}");
}

#[tokio::test]
async fn bandwidth_is_shared() {
    let size = 1 << 20;
    let (_server, proxy) =
        start(size, EmulatedLink { megabits: Some(80.0), ..EmulatedLink::default() }).await;
    let begin = Instant::now();
    futures::join!(time(&proxy, size), time(&proxy, size));
    // 2 MiB at 10 MB/s.
    let elapsed = begin.elapsed();
    assert!(elapsed >= Duration::from_millis(200), "{elapsed:?}");
}

#[tokio::test]
async fn a_window_limits_each_connection() {
    let size = 1 << 20;
    let link = EmulatedLink { round_trip: TRIP / 2, window: Some(128 << 10), ..EmulatedLink::default() };
    let (_server, proxy) = start(size, link).await;
    let one = time(&proxy, size).await;
    // Eight windows, and the round trips of connecting and asking.
    assert!(one >= 8 * TRIP / 2, "{one:?}");
    let begin = Instant::now();
    futures::join!(time(&proxy, size), time(&proxy, size), time(&proxy, size));
    assert!(begin.elapsed() < 2 * one, "{:?} {one:?}", begin.elapsed());
}

#[tokio::test]
async fn round_trips_are_the_longest_chain() {
    let (_server, proxy) = start(10, EmulatedLink { round_trip: TRIP, ..EmulatedLink::default() }).await;
    futures::join!(time(&proxy, 10), time(&proxy, 10), time(&proxy, 10));
    assert_eq!(proxy.stats().snapshot().round_trips, 1);
    assert_eq!(proxy.stats().snapshot().connections, 3);

    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    let mut answer = [0; 1000];
    for round_trips in 2..5 {
        // One request in two pieces.
        stream.write_all(b"GET /f HTTP/1.1\r\n").await.unwrap();
        tokio::time::sleep(TRIP / 4).await;
        stream.write_all(b"Host: zoo\r\n\r\n").await.unwrap();
        assert!(stream.read(&mut answer).await.unwrap() > 10);
        assert_eq!(proxy.stats().snapshot().round_trips, round_trips);
        tokio::time::sleep(TRIP / 4).await;
    }
    proxy.stats().reset();
    time(&proxy, 10).await;
    assert_eq!(proxy.stats().snapshot().round_trips, 1);
}

#[tokio::test]
async fn faults_happen_and_end() {
    let size = 10_000;
    let link = |fault| EmulatedLink { fault: Some(fault), faulty_connections: 1, ..EmulatedLink::default() };
    for (fault, most) in [(LinkFault::Refuse, 0), (LinkFault::CloseAfter(1000), 1000)] {
        let (_server, proxy) = start(size, link(fault)).await;
        let request = async {
            let mut stream = TcpStream::connect(proxy.address()).await?;
            stream.write_all(b"GET /f HTTP/1.1\r\n\r\n").await?;
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
            std::io::Result::Ok(answer.len())
        };
        assert_eq!(request.await.unwrap_or(0), most, "{fault:?}");
        time(&proxy, size).await;
    }
    let (_server, proxy) = start(size, link(LinkFault::StallAfter(1000))).await;
    assert!(tokio::time::timeout(TRIP, time(&proxy, size)).await.is_err());
    time(&proxy, size).await;
}

#[tokio::test]
async fn throttling_applies_to_existing_connections() {
    let size = 4 << 20;
    let (_server, proxy) = start(size, EmulatedLink::default()).await;
    proxy.throttle(Some(0));
    let whole = time(&proxy, size);
    tokio::pin!(whole);
    assert!(tokio::time::timeout(TRIP, &mut whole).await.is_err());
    assert_eq!(proxy.stats().snapshot().bytes_sent, 0);

    proxy.throttle(Some(1000));
    // At this rate, it takes more than an hour.
    while proxy.stats().snapshot().bytes_sent == 0 {
        assert!(tokio::time::timeout(TRIP, &mut whole).await.is_err());
    }

    proxy.throttle(None);
    whole.await;
}
