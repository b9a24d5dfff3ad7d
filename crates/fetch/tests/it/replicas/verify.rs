//! Checksums that servers state: a file that differs is refused, loudly; nobody waits for one that comes late.

use super::model::{SIZE, Server, open, open_stated, read_all, within};
use sapwood_core::{ErrorKind, SourceEvent};
use sapwood_fetch::replicas::ReplicaReadOptions;
use sapwood_source::Checksum;
use std::sync::Arc;

fn checksum(kind: &str, value: &str) -> Checksum {
    Checksum::parse(kind, value).unwrap()
}

/// Two servers of one file, that state these ADLER-32 after these seconds.
fn two(states: [(u64, &str); 2]) -> [Arc<Server>; 2] {
    let servers = [Server::new("a", 20, 10.0), Server::new("b", 20, 10.0)];
    for (server, (seconds, value)) in servers.iter().zip(states) {
        *server.states.lock().unwrap() = Some((seconds, checksum("adler32", value)));
    }
    servers
}

#[tokio::test(start_paused = true)]
async fn a_source_whose_checksum_differs_is_refused() {
    let servers = two([(0, "00000001"), (0, "00000002")]);
    let (source, counters) = open(&servers, ReplicaReadOptions::default(), within(100)).await.unwrap();
    read_all(&source, within(100)).await.unwrap();
    assert_eq!(servers[1].bytes_sent(), 0);
    let events = counters.events.entries();
    let refused = events.iter().find(|one| one.event == SourceEvent::Refused).unwrap();
    assert!(refused.text.contains("its adler32 00000002 is not adler32 00000001"), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn sources_that_agree_or_cannot_be_compared_are_read_together() {
    let other = checksum("md5", "d41d8cd98f00b204e9800998ecf8427e");
    for other in [Some((0, checksum("adler32", "1"))), Some((0, other)), None] {
        let servers = two([(0, "00000001"); 2]);
        *servers[1].states.lock().unwrap() = other;
        let (source, _) = open(&servers, ReplicaReadOptions::default(), within(100)).await.unwrap();
        read_all(&source, within(100)).await.unwrap();
        assert!(servers[1].bytes_sent() > SIZE / 5, "{}", servers[1].bytes_sent());
    }
}

#[tokio::test(start_paused = true)]
async fn checksums_are_compared_in_the_background_and_a_mismatch_ends_the_read() {
    let servers = two([(0, "00000001"), (60, "00000002")]);
    let (source, _) = open(&servers, ReplicaReadOptions::default(), within(1000)).await.unwrap();
    let seconds = read_all(&source, within(1000)).await.unwrap();
    let alone = SIZE as f64 / 10e6;
    assert!(seconds < 0.75 * alone, "{seconds} s, {alone} s of one place");
    assert!(servers[1].bytes_sent() > SIZE / 5);
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    let error = read_all(&source, within(1000)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed);
    assert!(error.to_string().contains("cannot be trusted") && error.url_str().is_some(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn what_is_stated_of_the_file_is_compared_with_each_source() {
    let stated = vec![checksum("adler32", "1")];
    let servers = two([(0, "00000001"), (0, "00000002")]);
    let (source, counters) =
        open_stated(&servers, stated, ReplicaReadOptions::default(), within(100)).await.unwrap();
    read_all(&source, within(100)).await.unwrap();
    assert!(
        servers[1].bytes_sent() == 0
            && counters.events.entries().iter().any(|one| one.event == SourceEvent::Refused)
    );

    let stated = vec![checksum("adler32", "3")];
    let servers = two([(0, "00000001"), (0, "00000003")]);
    let (source, _) =
        open_stated(&servers, stated, ReplicaReadOptions::default(), within(100)).await.unwrap();
    let error = read_all(&source, within(100)).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Changed && error.url_str().unwrap().contains("//a/"), "{error}");
}
