//! The cost of opening over HTTP, and the errors where it cannot work.

use super::{Zoo, error_of};
use sapwood_core::{CounterValues, Deadline, ErrorKind};
use sapwood_source::{SourceOptions, open};
use sapwood_testkit::{Behaviour, Objects, RangeBehaviour, Refusal, Server};
use std::time::{Duration, Instant};

/// Requests and round trips of the first and of the second opening.
async fn costs(behaviour: Behaviour) -> [(u64, u64); 2] {
    let zoo = Zoo::new(behaviour).await;
    let mut before = CounterValues::default();
    let mut costs = Vec::new();
    for _ in 0..2 {
        // New counters, as for each file.
        zoo.open().await.unwrap();
        let after = zoo.counts();
        costs.push((after.requests - before.requests, after.round_trips - before.round_trips));
        before = after;
    }
    costs.try_into().unwrap()
}

#[tokio::test]
async fn one_round_trip_and_one_request_where_the_server_is_known_to_answer_several_ranges() {
    assert_eq!(costs(Behaviour::default()).await, [(3, 1), (1, 1)]);
}

#[tokio::test]
async fn one_round_trip_where_the_server_answers_single_ranges() {
    for name in ["single", "single-416", "single-first"] {
        assert_eq!(costs(Behaviour::named(name).unwrap()).await, [(3, 1), (2, 1)], "{name}");
    }
}

#[tokio::test]
async fn first_contact_tells_how_to_read() {
    for (name, several) in
        [("multi", true), ("single", false), ("single-416", false), ("single-first", false)]
    {
        let zoo = Zoo::new(Behaviour::named(name).unwrap()).await;
        let opened = zoo.open().await.unwrap();
        assert_eq!(opened.source.cost_model().ranges_per_request > 1, several, "{name}");
        let before = zoo.counts();
        zoo.read(&opened, &zoo.scattered(5)).await.unwrap();
        let after = zoo.counts();
        assert_eq!(after.requests - before.requests, if several { 1 } else { 5 }, "{name}");
        assert_eq!(after.round_trips - before.round_trips, 1, "{name}");
    }
}

#[tokio::test]
async fn objects_smaller_than_head_and_tail_teach_nothing_wrong() {
    for size in [1, 2, 100, 5000] {
        let zoo = Zoo::sized(Behaviour::default(), size).await;
        let opened = zoo.open().await.unwrap();
        assert_eq!(opened.known.get_from(0), zoo.content, "{size}");
        assert!(opened.source.cost_model().ranges_per_request > 1, "{size}");
    }
}

#[tokio::test]
async fn the_size_must_be_known_where_there_are_no_suffixes() {
    let behaviour = Behaviour { suffix: false, ranges: RangeBehaviour::OneElseWhole, ..Behaviour::default() };
    assert_eq!(costs(behaviour).await, [(4, 2), (2, 2)]);
}

#[tokio::test]
async fn a_server_that_stumbles_once_is_not_mistrusted() {
    let zoo = Zoo::new(Behaviour { failures: Some((500, 1)), ..Behaviour::default() }).await;
    let opened = zoo.open().await.unwrap();
    assert!((4..=6).contains(&zoo.counts().requests));
    assert!(opened.source.cost_model().ranges_per_request > 1);
}

#[tokio::test]
async fn small_objects_are_taken_as_they_come() {
    let zoo = Zoo::sized(Behaviour::named("ignore").unwrap(), 500_000).await;
    let opened = zoo.open().await.unwrap();
    assert_eq!(zoo.counts().round_trips, 1);
    assert!(opened.source.cost_model().immediate);
}

#[tokio::test]
async fn large_objects_need_ranges() {
    for behaviour in ["none", "ignore"] {
        for chunked in [false, true] {
            let behaviour = Behaviour { chunked, ..Behaviour::named(behaviour).unwrap() };
            let zoo = Zoo::sized(behaviour, 65 << 20).await;
            let error = error_of(zoo.open().await);
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.hint_text().is_some());
            assert!(zoo.counts().fetched_bytes <= 65 << 20);
            assert!(chunked || zoo.counts().fetched_bytes == 0);
        }
    }
}

#[tokio::test]
async fn statuses_become_kinds() {
    let cases = [
        (401, ErrorKind::Permission),
        (403, ErrorKind::Permission),
        (404, ErrorKind::NotFound),
        (410, ErrorKind::NotFound),
        (418, ErrorKind::Server),
        (503, ErrorKind::Server),
        (400, ErrorKind::Server),
    ];
    for (status, kind) in cases {
        let zoo = Zoo::new(Behaviour { failures: Some((status, 100)), ..Behaviour::default() }).await;
        let error = error_of(zoo.open().await);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(&status.to_string()), "{error}");
        assert_eq!(error.url_str(), Some(zoo.url().as_str()));
    }
}

#[tokio::test]
async fn encoded_answers_are_refused() {
    for ranges in [RangeBehaviour::Several, RangeBehaviour::Ignored] {
        let behaviour = Behaviour { content_encoding: Some("gzip"), ranges, ..Behaviour::default() };
        let zoo = Zoo::sized(behaviour, 1000).await;
        assert_eq!(error_of(zoo.open().await).kind(), ErrorKind::Server);
    }
}

#[tokio::test]
async fn other_protocols_are_named() {
    for url in ["gsiftp://user:secret@host//f.root", "ftp://host/f.root?token=secret"] {
        let error = error_of(open(url, &SourceOptions::default()).await);
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(url.split(':').next().unwrap()));
        assert!(!format!("{error:?}").contains("secret"));
    }
}

#[tokio::test]
async fn urls_that_make_no_sense() {
    for url in ["http://", "http://a b/", "https://host:99999/", "file://other/host"] {
        assert_eq!(error_of(open(url, &SourceOptions::default()).await).kind(), ErrorKind::Usage, "{url}");
    }
    let headers = vec![("good".to_owned(), "bad\nsecret".to_owned())];
    let options = SourceOptions { headers, ..SourceOptions::default() };
    let error = error_of(open("http://127.0.0.1:1/", &options).await);
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(!format!("{error:?}").contains("secret"));
}

#[tokio::test]
async fn connection_refused() {
    let server = Server::start(Objects::one("/f", "x"), Behaviour::default()).await.unwrap();
    let url = server.url("/f");
    drop(server);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let error = error_of(open(&url, &SourceOptions::default()).await);
    assert_eq!(error.kind(), ErrorKind::Network, "{error}");
}

#[tokio::test]
async fn deadlines_and_silence() {
    let mut zoo = Zoo::new(Behaviour { think: Duration::from_secs(60), ..Behaviour::default() }).await;
    let begin = Instant::now();
    zoo.options.deadline = Deadline::after(Duration::from_millis(200));
    assert_eq!(error_of(zoo.open().await).kind(), ErrorKind::Timeout);
    assert!(begin.elapsed() < Duration::from_secs(30));

    zoo.options.deadline = Deadline::after(Duration::from_secs(50));
    zoo.options.read_timeout = Duration::from_millis(100);
    let error = error_of(zoo.open().await);
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.to_string().contains("silent"), "{error}");
}

#[tokio::test]
async fn a_tail_of_nothing_and_a_tail_of_all() {
    for name in ["multi", "single"] {
        let mut zoo = Zoo::new(Behaviour::named(name).unwrap()).await;
        zoo.options.tail_size = 0;
        zoo.open().await.unwrap();
        assert_eq!((zoo.counts().requests, zoo.counts().ranges), (1, 1));
        zoo.options.tail_size = u64::MAX;
        let opened = zoo.open().await.unwrap();
        assert_eq!(opened.known.get_from(0), zoo.content);
    }
}

#[tokio::test]
async fn refusals_of_several_ranges_are_remembered() {
    let behaviour = Behaviour { max_ranges: 1, too_many: Refusal::Status(400), ..Behaviour::default() };
    assert_eq!(costs(behaviour).await, [(3, 1), (2, 1)]);
}
