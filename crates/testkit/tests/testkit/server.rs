//! The server follows its configured behavior.

use super::{exchange, split};
use sapwood_testkit::{Behaviour, CutOff, Objects, Server, sample};
use std::fs;

async fn start(behaviour: Behaviour) -> Server {
    Server::start(Objects::one("/f", sample(10_000)), behaviour).await.unwrap()
}

#[tokio::test]
async fn heads_have_no_body() {
    let server = start(Behaviour::default()).await;
    let answer = exchange(server.address(), "HEAD /f", "").await;
    let (head, body) = split(&answer);
    assert_eq!(head[0], "HTTP/1.1 200 OK");
    for line in ["Content-Length: 10000", "Accept-Ranges: bytes", "ETag: \"1\""] {
        assert!(head.iter().any(|l| l == line), "{line} in {head:?}");
    }
    assert!(body.is_empty());
}

#[tokio::test]
async fn one_range() {
    let server = start(Behaviour::default()).await;
    let answer = exchange(server.address(), "GET /f?x=y", "Range: bytes=10-19\r\n").await;
    let (head, body) = split(&answer);
    assert_eq!(head[0], "HTTP/1.1 206 Partial Content");
    assert!(head.contains(&"Content-Range: bytes 10-19/10000".to_owned()));
    assert_eq!(body, &sample(10_000)[10..20]);
    assert_eq!(server.stats().snapshot().bytes_sent, 10);
}

#[tokio::test]
async fn several_ranges() {
    let server = start(Behaviour::default()).await;
    let answer = exchange(server.address(), "GET /f", "Range: bytes=0-0,-1\r\n").await;
    let (head, body) = split(&answer);
    let length = format!("Content-Length: {}", body.len());
    assert!(head.contains(&length), "{length} in {head:?}");
    assert_eq!(server.stats().snapshot().ranges, 2);
    for name in ["single", "none"] {
        let server = start(Behaviour::named(name).unwrap()).await;
        let answer = exchange(server.address(), "GET /f", "Range: bytes=0-0,-1\r\n").await;
        assert_eq!(split(&answer).1, sample(10_000));
    }
}

#[tokio::test]
async fn cut_off_bodies() {
    let cut_off = Some(CutOff { after: 100, times: 1 });
    let server = start(Behaviour { cut_off, ..Behaviour::default() }).await;
    for length in [100, 10_000] {
        let answer = exchange(server.address(), "GET /f", "").await;
        assert_eq!(split(&answer).1.len(), length);
    }
}

#[tokio::test]
async fn directories_end_at_their_root() {
    let root = std::env::temp_dir().join(format!("sapwood-testkit-{}", std::process::id()));
    fs::create_dir_all(root.join("public/inner")).unwrap();
    fs::write(root.join("secret"), "secret").unwrap();
    fs::write(root.join("public/inner/a b"), "hello").unwrap();
    let server = Server::start(Objects::Directory(root.join("public")), Behaviour::default()).await.unwrap();
    let answer = exchange(server.address(), "GET /inner/a%20b", "").await;
    assert_eq!(split(&answer).1, b"hello");
    for path in ["/../secret", "/%2e%2e/secret", "/inner/../../secret", "/inner", "/", "//etc/passwd"] {
        let answer = exchange(server.address(), &format!("GET {path}"), "").await;
        assert_eq!(split(&answer).0[0], "HTTP/1.1 404 Not Found", "{path}");
    }
    fs::remove_dir_all(root).unwrap();
}
