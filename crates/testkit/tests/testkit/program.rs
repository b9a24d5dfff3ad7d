//! The program serves, counts, and ends with its input.

use super::{exchange, split};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

/// The address in the JSON line after this name.
fn address(line: &str, name: &str) -> SocketAddr {
    let begin = format!("\"{name}\": \"http://");
    let rest = &line[line.find(&begin).unwrap() + begin.len()..];
    rest[..rest.find('"').unwrap()].parse().unwrap()
}

#[tokio::test]
async fn serve() {
    let root = std::env::temp_dir().join(format!("sapwood-testkit-program-{}", std::process::id()));
    std::fs::create_dir_all(&root).unwrap();
    std::fs::write(root.join("f"), "hello").unwrap();
    for options in [&[][..], &["--rtt-ms", "5", "--mbit", "1000", "--behaviour", "single"]] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_sapwood-testkit"))
            .args(["serve", "--root", root.to_str().unwrap()])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(program.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (server, control) = (address(&line, "url"), address(&line, "control"));
        let answer = exchange(server, "GET /f", "Range: bytes=1-2\r\n").await;
        assert_eq!(split(&answer).1, b"el");
        let answer = exchange(control, "GET /__reset__", "").await;
        let counts = String::from_utf8(split(&answer).1.to_vec()).unwrap();
        assert!(
            counts.starts_with(
                r#"{"requests": 1, "ranges": 1, "connections": 1, "round_trips": 1, "bytes_sent": "#
            ),
            "{counts}"
        );
        let answer = exchange(control, "GET /__stats__", "").await;
        assert!(split(&answer).1.starts_with(br#"{"requests": 0,"#));
        drop(program.stdin.take());
        assert!(program.wait().unwrap().success());
    }
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn wrong_arguments() {
    for arguments in
        [&[][..], &["serve"], &["serve", "--root", "/nowhere/at/all"], &["serve", "--rtt-ms", "x"]]
    {
        let output = Command::new(env!("CARGO_BIN_EXE_sapwood-testkit")).args(arguments).output().unwrap();
        assert!(!output.status.success() && !output.stderr.is_empty(), "{arguments:?}");
    }
}
