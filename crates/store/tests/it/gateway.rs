//! Real S3 servers: versitygw over a folder, and Ceph, if they are installed.

use sapwood_core::Deadline;
use sapwood_source::SourceOptions;
use sapwood_testkit::TestDirectory;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const KEYS: [(&str, &str); 3] = [
    ("AWS_ACCESS_KEY_ID", "testaccess"),
    ("AWS_SECRET_ACCESS_KEY", "testtesttesttest"),
    ("AWS_REGION", "us-east-1"),
];

/// versitygw with the bucket `data`; it ends when this is dropped.
pub(crate) struct Gateway {
    process: Child,
    pub(crate) address: SocketAddr,
    directory: TestDirectory,
}

impl Gateway {
    /// Starts one; `None`, and a word of it, where it is not installed.
    pub(crate) fn start() -> Option<Gateway> {
        let Some(program) = program() else {
            eprintln!("skipped: versitygw is not installed (make servers builds it, where there is Go)");
            return None;
        };
        let directory = TestDirectory::new();
        let [data, meta] = ["data", "meta"].map(|name| directory.0.join(name));
        std::fs::create_dir_all(data.join("data")).unwrap();
        std::fs::create_dir_all(&meta).unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let process = Command::new(program)
            .args(["--access", KEYS[0].1, "--secret", KEYS[1].1, "--region", KEYS[2].1, "--keep-alive"])
            .args(["--port", &address.to_string(), "--quiet", "posix", "--sidecar"])
            .args([&meta, &data])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let gateway = Gateway { process, address, directory };
        let end = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < end, "the S3 server does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(gateway)
    }

    /// What reaches the server at an address: its own, or that of a proxy.
    pub(crate) fn options(&self, address: SocketAddr) -> SourceOptions {
        let mut options = self.directory.options(&KEYS);
        options.storage.endpoint = Some(format!("http://{address}"));
        options.deadline = Deadline::after(Duration::from_secs(60));
        options
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It holds nothing that is still needed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A Ceph cluster with two gateways, where it is installed (`SAPWOOD_RADOSGW=1 make servers` does that).
pub(crate) struct Ceph {
    process: Child,
    endpoints: Vec<String>,
    directory: TestDirectory,
}

impl Ceph {
    /// Starts one; `None`, and a word of it, where it is not installed.
    pub(crate) fn start() -> Option<Ceph> {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
        let process = Command::new("python3")
            .arg(scripts.join("radosgw_server.py"))
            .args(["--gateways", "2"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut ceph =
            Ceph { process: process.ok()?, endpoints: Vec::new(), directory: TestDirectory::new() };
        let mut line = String::new();
        BufReader::new(ceph.process.stdout.take()?).read_line(&mut line).unwrap();
        let Ok(said) = serde_json::from_str::<serde_json::Value>(&line) else {
            eprintln!("skipped: Ceph is not installed");
            return None;
        };
        let endpoints = said["endpoints"].as_array().unwrap();
        ceph.endpoints = endpoints.iter().map(|endpoint| endpoint.as_str().unwrap().to_owned()).collect();
        Some(ceph)
    }

    /// What reaches each of its gateways.
    pub(crate) fn options(&self) -> Vec<SourceOptions> {
        let options = |endpoint: &String| {
            let mut options = self.directory.options(&KEYS);
            options.storage.endpoint = Some(endpoint.clone());
            options
        };
        self.endpoints.iter().map(options).collect()
    }
}

impl Drop for Ceph {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn program() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/versitygw");
    let named = std::env::var_os("VERSITYGW_BIN").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|directory| directory.join("versitygw"));
    named.into_iter().chain([beside]).chain(found).find(|program| program.is_file())
}
