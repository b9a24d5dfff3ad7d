//! Failing servers and connections: retries where they help, a typed error otherwise.

use super::{SIZE, Zoo, error_of};
use sapwood_core::{ByteRange, Deadline, ErrorKind};
use sapwood_testkit::{Behaviour, CutOff, EmulatedLink, LinkFault, Proxy};
use std::time::{Duration, Instant};

const ALL: ByteRange = ByteRange { start: 0, len: SIZE as u64 };

#[tokio::test]
async fn passing_errors_are_repeated() {
    for (status, name) in [(503, "multi"), (429, "single"), (500, "multi"), (502, "single"), (408, "multi")] {
        let zoo = Zoo::new(Behaviour::named(name).unwrap()).await;
        let opened = zoo.open().await.unwrap();
        zoo.server.change(|behaviour| behaviour.failures = Some((status, 2)));
        zoo.read(&opened, &[ALL]).await.unwrap();
    }
}

#[tokio::test]
async fn lasting_errors_end() {
    let zoo = Zoo::new(Behaviour::default()).await;
    let opened = zoo.open().await.unwrap();
    zoo.server.change(|behaviour| behaviour.failures = Some((503, 1000)));
    let before = zoo.counts().requests;
    let error = error_of(zoo.read(&opened, &[ALL]).await);
    assert_eq!(error.kind(), ErrorKind::Server);
    assert_eq!(zoo.counts().requests - before, 4);
    assert_eq!(error.url_str(), Some(zoo.url().as_str()));
}

#[tokio::test]
async fn the_server_may_ask_for_a_pause() {
    let zoo = Zoo::new(Behaviour::default()).await;
    let opened = zoo.open().await.unwrap();
    zoo.server.change(|behaviour| {
        behaviour.failures = Some((503, 1));
        behaviour.retry_after = Some(1);
    });
    let begin = Instant::now();
    zoo.read(&opened, &[ALL]).await.unwrap();
    assert!(begin.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn only_what_failed_is_asked_for_again() {
    let zoo = Zoo::new(Behaviour::named("single").unwrap()).await;
    let opened = zoo.open().await.unwrap();
    zoo.server.change(|behaviour| behaviour.failures = Some((503, 3)));
    let before = zoo.counts().requests;
    zoo.read(&opened, &zoo.scattered(50)).await.unwrap();
    let requests = zoo.counts().requests - before;
    assert!((51..=53).contains(&requests), "{requests} requests");
}

#[tokio::test]
async fn bodies_that_are_cut_off_are_repeated() {
    for name in ["multi", "single"] {
        let zoo = Zoo::new(Behaviour::named(name).unwrap()).await;
        let opened = zoo.open().await.unwrap();
        zoo.server.change(|behaviour| behaviour.cut_off = Some(CutOff { after: 100, times: 2 }));
        zoo.read(&opened, &zoo.scattered(20)).await.unwrap();
        zoo.server.change(|behaviour| behaviour.cut_off = Some(CutOff { after: 5, times: 1000 }));
        let error = error_of(zoo.read(&opened, &zoo.scattered(20)).await);
        assert_eq!(error.kind(), ErrorKind::Network, "{error}");
    }
}

#[tokio::test]
async fn the_first_answer_may_be_cut_off() {
    for after in [1, 3000, 5000] {
        for name in ["multi", "single", "single-first", "ignore"] {
            let cut_off = Some(CutOff { after, times: 1 });
            let zoo = Zoo::new(Behaviour { cut_off, ..Behaviour::named(name).unwrap() }).await;
            let opened = zoo.open().await.unwrap();
            zoo.read(&opened, &[ALL]).await.unwrap();
        }
    }
}

#[tokio::test]
async fn wrong_lengths_lead_to_no_wrong_bytes() {
    let mut zoo = Zoo::new(Behaviour::default()).await;
    zoo.options.read_timeout = Duration::from_millis(500);
    let opened = zoo.open().await.unwrap();
    let ranges = [ByteRange { start: 0, len: 1000 }];
    // The answer is shorter than announced, but has all requested bytes.
    zoo.server.change(|behaviour| behaviour.length_error = 10);
    zoo.read(&opened, &ranges).await.unwrap();
    zoo.server.change(|behaviour| behaviour.length_error = -10);
    let error = error_of(zoo.read(&opened, &ranges).await);
    assert!(matches!(error.kind(), ErrorKind::Server | ErrorKind::Network), "{error:?}");
}

#[tokio::test]
async fn deadlines_hold_while_bytes_trickle() {
    let zoo = Zoo::new(Behaviour::default()).await;
    let opened = zoo.open().await.unwrap();
    zoo.server.change(|behaviour| behaviour.bytes_per_second = Some(1000));
    let begin = Instant::now();
    let deadline = Deadline::after(Duration::from_millis(300));
    let error = error_of(opened.source.read_ranges(&[ALL], deadline).await);
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(begin.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn silent_and_broken_connections_are_replaced() {
    let faults = [
        (LinkFault::StallAfter(20_000), 2),
        (LinkFault::CloseAfter(20_000), 2),
        (LinkFault::CloseAfter(0), 1),
    ];
    for (fault, times) in faults {
        let mut zoo = Zoo::new(Behaviour::default()).await;
        zoo.options.read_timeout = Duration::from_millis(500);
        let link = EmulatedLink { fault: Some(fault), faulty_connections: times, ..EmulatedLink::default() };
        let proxy = Proxy::start(zoo.server.address(), link).await.unwrap();
        let opened = sapwood_source::open(&proxy.url("/f.root"), &zoo.options).await.unwrap();
        zoo.read(&opened, &[ALL]).await.unwrap();
        assert!(proxy.stats().snapshot().connections > times);
        assert!(opened.source.cost_model().ranges_per_request > 1, "{fault:?}");
    }
}

#[tokio::test]
async fn refused_connections_are_repeated() {
    let zoo = Zoo::new(Behaviour::default()).await;
    let link =
        EmulatedLink { fault: Some(LinkFault::Refuse), faulty_connections: 1, ..EmulatedLink::default() };
    let proxy = Proxy::start(zoo.server.address(), link).await.unwrap();
    sapwood_source::open(&proxy.url("/f.root"), &zoo.options).await.unwrap();
}
