//! Stores in buckets keep the contract with real servers, also when answers are lost or wrong.

use super::error_of;
use super::gateway::{Ceph, Gateway};
use sapwood_core::{ByteRange, Deadline, ErrorKind};
use sapwood_source::SourceOptions;
use sapwood_store::{CreateOutcome, Store, open_store};
use sapwood_testkit::{
    EmulatedLink, LinkFault, Proxy, ScriptedServer, TestDirectory, answer, refusal, sample,
    store_conformance, store_race,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", "top-secret")];

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(30))
}

/// The number of races: this many, unless `SAPWOOD_TEST_ROUNDS` is set.
fn rounds(few: usize) -> usize {
    std::env::var("SAPWOOD_TEST_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(few)
}

fn at(server: &ScriptedServer, directory: &TestDirectory) -> Arc<dyn Store> {
    let mut options = directory.options(&KEYS);
    options.storage.endpoint = Some(server.url());
    open_store("s3://bucket/some/place", &options).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server_keeps_the_contract() {
    let Some(gateway) = Gateway::start() else { return };
    let store = open_store("s3://data/some/place/", &gateway.options(gateway.address)).unwrap();
    assert_eq!(store.url(), "s3://data/some/place");
    store_conformance(store, rounds(20)).await;
    // A whole bucket can be a store, too.
    store_conformance(open_store("s3://data", &gateway.options(gateway.address)).unwrap(), 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ceph_keeps_the_contract() {
    let Some(ceph) = Ceph::start() else { return };
    let ways: Vec<_> =
        ceph.options().iter().map(|options| open_store("s3://data/place", options).unwrap()).collect();
    store_conformance(Arc::clone(&ways[0]), 20).await;
    // Losers get other answers if the winner used another gateway.
    store_race(&ways, rounds(40)).await;
}

/// `SAPWOOD_TEST_STORE=s3://bucket/empty/place AWS_ENDPOINT_URL=… cargo test -p sapwood-store --test it -- --ignored
/// any_store`; `SAPWOOD_TEST_ROUNDS` is the number of races.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the URL of an empty place in a store"]
async fn any_store_keeps_the_contract() {
    let url = std::env::var("SAPWOOD_TEST_STORE").unwrap();
    store_conformance(open_store(&url, &SourceOptions::default()).unwrap(), rounds(40)).await;
}

/// The store through a proxy that cuts the first answer after this many bytes; a new one each time, since connections are
/// reused.
async fn losing(gateway: &Gateway, cut: u64) -> (Proxy, Arc<dyn Store>) {
    let fault = Some(LinkFault::CloseAfter(cut));
    let link = EmulatedLink { fault, faulty_connections: 1, ..EmulatedLink::default() };
    let proxy = Proxy::start(gateway.address, link).await.unwrap();
    let store = open_store("s3://data/p", &gateway.options(proxy.address())).unwrap();
    (proxy, store)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_to_create_is_unclear() {
    let Some(gateway) = Gateway::start() else { return };
    let direct = open_store("s3://data/p", &gateway.options(gateway.address)).unwrap();
    for cut in [0, 10] {
        let (proxy, store) = losing(&gateway, cut).await;
        let key = format!("log/{cut}");
        let created = store.create(&key, "mine".into(), soon()).await.unwrap();
        assert!(matches!(created, CreateOutcome::Unclear(_)), "{created:?}");
        assert_eq!(direct.get(&key, None, soon()).await.unwrap(), "mine", "it was done, once");
        assert!(matches!(store.create(&key, "mine".into(), soon()).await.unwrap(), CreateOutcome::Exists));
        drop(proxy);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_other_operations_are_retried_after_a_lost_answer() {
    let Some(gateway) = Gateway::start() else { return };
    for cut in [0, 200] {
        losing(&gateway, cut).await.1.put("again", sample(5000), soon()).await.unwrap();
        let got = losing(&gateway, cut).await.1.get("again", None, soon()).await.unwrap();
        assert_eq!(got, sample(5000));
        assert_eq!(losing(&gateway, cut).await.1.list("again", soon()).await.unwrap().len(), 1);
        assert_eq!(losing(&gateway, cut).await.1.stat("again", soon()).await.unwrap().size, 5000);
        let keys = ["again".to_owned()];
        losing(&gateway, cut).await.1.delete(&keys, soon()).await.unwrap();
        let direct = open_store("s3://data/p", &gateway.options(gateway.address)).unwrap();
        assert_eq!(error_of(direct.stat("again", soon()).await).kind(), ErrorKind::NotFound);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_server_does_not_delay_beyond_the_deadline() {
    let Some(gateway) = Gateway::start() else { return };
    let link = EmulatedLink {
        fault: Some(LinkFault::StallAfter(0)),
        faulty_connections: u64::MAX,
        ..EmulatedLink::default()
    };
    let proxy = Proxy::start(gateway.address, link).await.unwrap();
    let store = open_store("s3://data", &gateway.options(proxy.address())).unwrap();
    let deadline = || Deadline::after(Duration::from_millis(300));
    let begin = Instant::now();
    let created = store.create("a", "x".into(), deadline()).await.unwrap();
    assert!(
        matches!(&created, CreateOutcome::Unclear(error) if error.kind() == ErrorKind::Timeout),
        "{created:?}"
    );
    let keys = ["a".to_owned()];
    for kind in [
        error_of(store.get("a", None, deadline()).await).kind(),
        error_of(store.put("a", "x".into(), deadline()).await).kind(),
        error_of(store.list("", deadline()).await).kind(),
        error_of(store.stat("a", deadline()).await).kind(),
        error_of(store.delete(&keys, deadline()).await).kind(),
        error_of(store.now(deadline()).await).kind(),
    ] {
        assert_eq!(kind, ErrorKind::Timeout);
    }
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn an_unreachable_server_creates_nothing() {
    let directory = TestDirectory::new();
    let mut options = directory.options(&KEYS);
    options.storage.endpoint = Some("http://127.0.0.1:1".to_owned());
    let store = open_store("s3://bucket", &options).unwrap();
    let error = error_of(store.create("a", "x".into(), soon()).await);
    assert_eq!(error.kind(), ErrorKind::Network, "{error}");
}

#[tokio::test]
async fn outcomes_of_create_by_answer() {
    for (status, word, meaning) in [
        ("412 Precondition Failed", "PreconditionFailed", "exists"),
        ("409 Conflict", "ConditionalRequestConflict", "unclear"),
        ("409 Conflict", "BlobAlreadyExists", "exists"),
        ("500 Internal Server Error", "UnknownError", "unclear"),
        ("503 Slow Down", "SlowDown", "unclear"),
        ("403 Forbidden", "AccessDenied", "permission"),
        ("404 Not Found", "NoSuchBucket", "not-found"),
        ("400 Bad Request", "EntityTooLarge", "server"),
        ("501 Not Implemented", "NotImplemented", "unclear"),
    ] {
        let server = ScriptedServer::start(move |_| refusal(status, word)).await;
        let directory = TestDirectory::new();
        let store = at(&server, &directory);
        let outcome = match store.create("log/1", "x".into(), soon()).await {
            Ok(CreateOutcome::Done) => "done",
            Ok(CreateOutcome::Exists) => "exists",
            Ok(CreateOutcome::Unclear(_)) => "unclear",
            Err(error) => {
                assert!(error.to_string().contains("s3://bucket/some/place/log/1"), "{error}");
                assert!(!format!("{error:?}").contains("top-secret"));
                error.kind().code()
            }
        };
        assert_eq!(outcome, meaning, "{status} {word}");
        let once = if meaning == "permission" { 2 } else { 1 };
        assert_eq!(server.requests().len(), once, "it is not tried again after {status}");
        let request = &server.requests()[0];
        assert_eq!(
            (request.header("if-none-match"), request.path.as_str()),
            (Some("*"), "/bucket/some/place/log/1")
        );
    }
}

#[tokio::test]
async fn writes_carry_a_digest() {
    let server = ScriptedServer::start(|_| answer("200 OK", "ETag: \"1\"\r\n", b"")).await;
    let directory = TestDirectory::new();
    at(&server, &directory).put("k", "abc".into(), soon()).await.unwrap();
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(server.headers("x-amz-content-sha256"), [digest]);
}

#[tokio::test]
async fn transient_failures_are_retried() {
    let count = AtomicUsize::new(0);
    let server = ScriptedServer::start(move |_| match count.fetch_add(1, Ordering::Relaxed) {
        0 => refusal("500 Internal Server Error", "InternalError"),
        1 => refusal("503 Slow Down", "SlowDown"),
        // Without the usual header.
        _ => answer("200 OK", "", b""),
    })
    .await;
    let directory = TestDirectory::new();
    at(&server, &directory).put("k", "abc".into(), soon()).await.unwrap();
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn unrequested_bytes_are_an_error() {
    let range = ByteRange { start: 2, len: 3 };
    for (status, headers, body, kind) in [
        ("206 Partial Content", "Content-Range: bytes 2-4/9\r\n", &b"cde"[..], None),
        ("206 Partial Content", "Content-Range: bytes 0-2/9\r\n", b"abc", Some(ErrorKind::Server)),
        ("206 Partial Content", "Content-Range: bytes 2-3/4\r\n", b"cd", Some(ErrorKind::Truncated)),
        ("200 OK", "", b"abcdefghi", Some(ErrorKind::Server)),
        ("200 OK", "", b"abcd", Some(ErrorKind::Truncated)),
        ("416 Range Not Satisfiable", "Content-Range: bytes */1\r\n", b"", Some(ErrorKind::Truncated)),
    ] {
        let server = ScriptedServer::start(move |_| answer(status, headers, body)).await;
        let directory = TestDirectory::new();
        let got = at(&server, &directory).get("k", Some(range), soon()).await;
        assert_eq!(got.as_ref().err().map(|error| error.kind()), kind, "{status} {headers} {got:?}");
    }
}
