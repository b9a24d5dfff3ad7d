//! Faults of object stores give the right bytes, or a typed error before the deadline.

use super::{SIZE, check, error_of};
use bytes::Bytes;
use sapwood_core::{Deadline, ErrorKind};
use sapwood_source::{SourceOptions, open};
use sapwood_testkit::{
    Behaviour, CutOff, EmulatedLink, LinkFault, Objects, Proxy, Server, TestDirectory, sample,
};
use std::time::{Duration, Instant};

const URL: &str = "s3://bucket/f.root";

struct Store {
    server: Server,
    content: Bytes,
    options: SourceOptions,
}

impl Store {
    async fn new() -> Self {
        let content = sample(SIZE);
        let objects = Objects::one("/bucket/f.root", content.clone());
        let server = Server::start(objects, Behaviour::named("single").unwrap()).await.unwrap();
        let keys = [("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")];
        let mut options = TestDirectory::new().options(&keys);
        options.storage.endpoint = Some(server.url(""));
        Store { server, content, options }
    }
}

#[tokio::test]
async fn a_server_that_wants_less_is_asked_again() {
    let store = Store::new().await;
    store.server.change(|behaviour| behaviour.failures = Some((503, 2)));
    let opened = open(URL, &store.options).await.unwrap();
    store.server.change(|behaviour| behaviour.failures = Some((503, 4)));
    check(&opened, &store.content, &store.options).await.unwrap();
}

#[tokio::test]
async fn cut_answers_are_asked_for_again() {
    let store = Store::new().await;
    let opened = open(URL, &store.options).await.unwrap();
    store.server.change(|behaviour| behaviour.cut_off = Some(CutOff { after: 100, times: 3 }));
    check(&opened, &store.content, &store.options).await.unwrap();
    store.server.change(|behaviour| behaviour.cut_off = Some(CutOff { after: 100, times: 1000 }));
    let error = error_of(check(&opened, &store.content, &store.options).await);
    assert_eq!(error.kind(), ErrorKind::Network, "{error}");
}

#[tokio::test]
async fn wrong_lengths_are_errors() {
    let mut store = Store::new().await;
    store.options.read_timeout = Duration::from_millis(500);
    let opened = open(URL, &store.options).await.unwrap();
    store.server.change(|behaviour| behaviour.length_error = -10);
    let error = error_of(check(&opened, &store.content, &store.options).await);
    assert!(matches!(error.kind(), ErrorKind::Server | ErrorKind::Network), "{error:?}");
}

#[tokio::test]
async fn black_holes_end_with_the_deadline() {
    let store = Store::new().await;
    let link = EmulatedLink {
        fault: Some(LinkFault::StallAfter(0)),
        faulty_connections: u64::MAX,
        ..EmulatedLink::default()
    };
    let proxy = Proxy::start(store.server.address(), link).await.unwrap();
    let mut options = store.options.clone();
    options.storage.endpoint = Some(proxy.url(""));
    options.deadline = Deadline::after(Duration::from_millis(500));
    let begin = Instant::now();
    assert_eq!(error_of(open(URL, &options).await).kind(), ErrorKind::Timeout);
    assert!(begin.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn deadlines_hold_while_bytes_trickle() {
    let mut store = Store::new().await;
    let opened = open(URL, &store.options).await.unwrap();
    store.server.change(|behaviour| behaviour.bytes_per_second = Some(1000));
    store.options.deadline = Deadline::after(Duration::from_millis(500));
    let begin = Instant::now();
    let error = error_of(check(&opened, &store.content, &store.options).await);
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(begin.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn a_dead_server_is_a_network_error() {
    let mut store = Store::new().await;
    store.options.storage.endpoint = Some("http://127.0.0.1:1".to_owned());
    let error = error_of(open(URL, &store.options).await);
    assert_eq!(error.kind(), ErrorKind::Network, "{error}");
}
