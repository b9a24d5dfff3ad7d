//! Tests of the tools that other tests use.
#![allow(clippy::unwrap_used, reason = "tests fail loudly")]

mod program;
mod proxy;
mod server;

use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends a request with some header lines over a connection of its own, and returns all that comes back.
async fn exchange(address: SocketAddr, request_line: &str, headers: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(format!("{request_line} HTTP/1.1\r\nHost: zoo\r\n{headers}\r\n").as_bytes())
        .await
        .unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    // A connection that is cut off ends the answer.
    let _ = stream.read_to_end(&mut answer).await;
    answer
}

/// The head of an answer, in lines, and its body.
fn split(answer: &[u8]) -> (Vec<String>, &[u8]) {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    (head.split("\r\n").map(str::to_owned).collect(), &answer[end + 4..])
}
