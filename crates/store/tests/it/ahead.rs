//! Connections to stores that are opened ahead of need.

use bytes::Bytes;
use sapwood_core::{ByteRange, Deadline};
use sapwood_store::open_store;
use sapwood_testkit::{EmulatedLink, Proxy, ScriptedServer, TestDirectory, part};
use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn reads_of_remote_stores_find_open_connections() {
    // How many are made is said once per process, so this needs one of its own.
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ahead::child", "--ignored"])
        .env("SAPWOOD_CONNECTIONS_AHEAD", "16")
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by reads_of_remote_stores_find_open_connections"]
async fn child() {
    let content = Bytes::from_static(b"0123456789");
    let served = content.clone();
    let server = ScriptedServer::start(move |request| part(&served, request)).await;
    // So far that even a loaded machine is not done with the first answer before the others are asked for.
    let link = EmulatedLink { round_trip: Duration::from_secs(1), ..EmulatedLink::default() };
    let proxy = Proxy::start(([127, 0, 0, 1], server.port()).into(), link).await.unwrap();
    let mut options =
        TestDirectory::new().options(&[("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")]);
    options.storage.endpoint = Some(format!("http://{}", proxy.address()));
    let store = open_store("s3://bucket/place", &options).unwrap();
    let deadline = || Deadline::after(Duration::from_secs(60));
    let range = ByteRange { start: 2, len: 3 };
    assert_eq!(store.get("a", Some(range), deadline()).await.unwrap(), content.slice(2..5));
    // What comes at once, as when a dataset is opened, waits for them: they are there sooner than new ones.
    let two = [store.get("b", Some(range), deadline()), store.get("c", Some(range), deadline())];
    assert!(futures::future::try_join_all(two).await.is_ok());

    let asked = 1 + 16 + 2;
    let made = || options.counters.snapshot().requests == asked && server.requests().len() as u64 == asked;
    let patience = Instant::now() + Duration::from_secs(30);
    while !made() && Instant::now() < patience {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(made(), "{:?} {}", options.counters.snapshot(), server.requests().len());
    // Another store on the same server makes no more of them.
    let another = open_store("s3://bucket/another", &options).unwrap();
    another.get("a", Some(range), deadline()).await.unwrap();
    assert_eq!(server.requests().len() as u64, asked + 1);
    assert_eq!(proxy.stats().snapshot().connections, 1 + 16);
}
