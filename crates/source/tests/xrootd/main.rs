//! Tests of root:// with real servers; they print why they are skipped without these or without XRootD's client.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests fail loudly")]

use bytes::Bytes;
use sapwood_core::{ByteRange, Deadline, ErrorKind};
use sapwood_source::{SHORT_HEAD, SourceOptions, list, open};
use sapwood_testkit::{conformance, sample};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const TAIL: u64 = 10_000;

/// Folders on servers started by `scripts/xrootd_server.py`, which stop on drop.
struct Servers {
    url: String,
    folders: Vec<PathBuf>,
    process: Child,
}

impl Servers {
    /// One server, or several behind a redirector.
    fn start(name: &str, count: usize) -> Option<Servers> {
        if std::env::var("SAPWOOD_XRDCL").unwrap_or_default().is_empty() {
            eprintln!("root:// is not tested: SAPWOOD_XRDCL names no client (make test-rust)");
            return None;
        }
        let base = std::env::temp_dir().join(format!("sapwood-{name}-{}", std::process::id()));
        let folders: Vec<_> = (0..count).map(|i| base.join(i.to_string())).collect();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/xrootd_server.py");
        let mut command = Command::new("python3");
        command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
        for folder in &folders {
            std::fs::create_dir_all(folder).unwrap();
            command.arg("--root").arg(folder);
        }
        // The servers may run as another user.
        for folder in folders.iter().chain([&base]) {
            std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let mut process = command.spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let url = ready.split('"').nth(3).map(str::to_owned);
        let servers = Servers { url: url.clone().unwrap_or_default(), folders, process };
        if url.is_none() {
            eprintln!("root:// is not tested: there are no servers (make servers)");
        }
        url.map(|_| servers)
    }

    /// Puts a file on one of the servers; returns its URL.
    fn file(&self, server: usize, name: &str, content: &[u8]) -> String {
        let path = self.folders[server].join(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        format!("{}//{name}", self.url)
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
        let _ = self.folders[0].parent().map(std::fs::remove_dir_all);
    }
}

fn options() -> SourceOptions {
    SourceOptions {
        tail_size: TAIL,
        deadline: Deadline::after(Duration::from_secs(60)),
        ..SourceOptions::default()
    }
}

async fn keeps_the_contract(url: &str, content: Bytes) {
    let opened = open(url, &options()).await.unwrap();
    let size = content.len() as u64;
    let (head, tail) = (SHORT_HEAD.min(size), TAIL.min(size));
    for range in [ByteRange { start: 0, len: head }, ByteRange { start: size - tail, len: tail }] {
        let known = opened.known.get(range).unwrap_or_default();
        assert_eq!(known, content[range.start as usize..range.end() as usize]);
    }
    assert!(!opened.source.cost_model().immediate && opened.source.identity().version.is_some());
    conformance(opened.source, &content).await;
}

#[tokio::test]
async fn files_of_all_sizes() {
    let Some(servers) = Servers::start("sizes", 1) else { return };
    for size in [0, 1, 2, 4096, 4097, TAIL as usize + 4095, TAIL as usize + 4097, 100_003, (5 << 20) + 1] {
        let content = sample(size);
        let url = servers.file(0, &format!("{size}.root"), &content);
        keeps_the_contract(&url, content).await;
    }
}

#[tokio::test]
async fn behind_a_redirector() {
    let Some(servers) = Servers::start("redirector", 2) else { return };
    for server in 0..2 {
        let content = sample(100_003 + server);
        let url = servers.file(server, &format!("{server}.root"), &content);
        keeps_the_contract(&url, content).await;
    }
    let entries = list(&format!("{}//", servers.url), &options()).await.unwrap();
    let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["0.root", "1.root"]);
    let missing = open(&format!("{}//2.root", servers.url), &options()).await.err().unwrap();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn requests_are_counted_and_few() {
    // On a busy machine, the query of the limits may start too late to overlap: each attempt has a server of its own.
    let mut round_trips = Vec::new();
    for name in ["counts-1", "counts-2", "counts-3", "counts-4"] {
        let Some(servers) = Servers::start(name, 1) else { return };
        let url = servers.file(0, "f.root", &sample(1 << 20));
        let options = options();
        let opened = open(&url, &options).await.unwrap();
        let first = options.counters.snapshot();
        // Opening, one vector read and, at first contact, a concurrent query of the limits.
        assert_eq!((first.requests, first.ranges), (3, 2));
        assert_eq!(first.fetched_bytes, SHORT_HEAD + TAIL);
        let ranges = [20_000, 50_000, 90_000].map(|start| ByteRange { start, len: 10 });
        opened.source.read_ranges(&ranges, options.deadline).await.unwrap();
        let second = options.counters.snapshot();
        assert_eq!((second.requests, second.ranges), (4, 5));
        assert_eq!(second.round_trips, first.round_trips + 1);
        round_trips.push(first.round_trips);
        if first.round_trips == 2 {
            return;
        }
    }
    panic!("opening took {round_trips:?} round trips, never 2");
}
