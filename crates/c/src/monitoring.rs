//! Exports what was read from a file when it is closed, as `SAPWOOD_MONITORING` says: as a line of JSON, or as UDP packets
//! of CMSSW, one for each server.

use crate::open_files::OpenFile;
use crate::report::{Report, SourceReport, client};
use serde_json::{Map, Value, json};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::{ToSocketAddrs, UdpSocket};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

const VARIABLE: &str = "SAPWOOD_MONITORING";
/// The logger of messages about it.
const LOG: &str = "sapwood.monitoring";
/// How long closing a file waits for exporters.
const LONGEST: Duration = Duration::from_secs(2);
/// The port of CMSSW's collectors.
const DEFAULT_PORT: u16 = 3334;
/// Most bytes of a text in a packet.
const LONGEST_TEXT: usize = 1024;
const UNKNOWN: &str = "unknown";
const APPLICATION: &str = concat!("sapwood/", env!("CARGO_PKG_VERSION"));

/// Exports the record of a file that is closed. What collectors do not take is dropped.
pub(crate) fn export(open: &OpenFile) {
    let Some(destinations) = variable(VARIABLE) else { return };
    let report = Report::of(open);
    let line = format!("{}\n", report.json(open, true));
    let packets: Vec<String> = packets(open, &report).iter().map(Value::to_string).collect();
    let (done, finished) = channel();
    // A collector's name or disk may take its time, and the reader shall not.
    let exporter = thread::Builder::new().name("sapwood-export".into()).spawn(move || {
        for place in destinations.split(',').map(str::trim).filter(|place| !place.is_empty()) {
            if let Err(failure) = send(place, &line, &packets) {
                log::warn!(target: LOG, "{VARIABLE}: {place}: {failure}");
            }
        }
        let _ = done.send(()); // Nobody waits any more if it took too long.
    });
    if exporter.is_ok() && finished.recv_timeout(LONGEST).is_err() {
        log::warn!(target: LOG, "{VARIABLE}: the record of a file was not exported in time");
    }
}

fn send(place: &str, line: &str, packets: &[String]) -> io::Result<()> {
    if let Some(path) = place.strip_prefix("jsonl:") {
        if ![".jsonl", ".json"].iter().any(|ending| path.ends_with(ending)) {
            return Err(io::Error::other("the name of lines of JSON must end with .jsonl or .json"));
        }
        // One write at the end, so that lines of several processes do not mix.
        return OpenOptions::new().create(true).append(true).open(path)?.write_all(line.as_bytes());
    }
    let Some(address) = place.strip_prefix("udp://") else {
        return Err(io::Error::other("only jsonl:PATH and udp://HOST:PORT are possible outside of Python"));
    };
    let (host, port) = split(address);
    let port = if port == 0 { DEFAULT_PORT } else { port };
    let place =
        (host, port).to_socket_addrs()?.next().ok_or_else(|| io::Error::other("the host is unknown"))?;
    let socket = UdpSocket::bind(if place.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" })?;
    socket.set_nonblocking(true)?;
    packets.iter().try_for_each(|packet| socket.send_to(packet.as_bytes(), place).map(|_| ()))
}

/// The packets, with the fields of CMSSW's StatisticsSenderService and those that `sapwood.monitoring` adds.
fn packets(open: &OpenFile, report: &Report) -> Vec<Value> {
    let first = report.sources.first().map(|source| &source.server);
    // Not those that sent nothing, such as redirectors.
    let used = report.sources.iter().filter(|source| source.is_active()).enumerate();
    used.map(|(number, source)| {
        let mut packet = Map::new();
        let mut set = |name: &str, value: Value| packet.insert(name.to_owned(), value);
        if let Some(site) = variable("SAPWOOD_SITE").or_else(|| variable("GLIDEIN_CMSSite")) {
            set("site_name", cut(&site).into());
        }
        set("cmssw_version", variable("CMSSW_VERSION").unwrap_or_else(|| APPLICATION.to_owned()).into());
        set("read_type", "primary".into());
        if Some(&source.server) != first {
            set("fallback", true.into());
        }
        set("user_dn", "not reported".into());
        let server = if source.is_local() { UNKNOWN } else { &source.server };
        for (what, name) in [("client", client().as_str()), ("server", server)] {
            let (host, domain) = host_and_domain(split(name).0);
            set(&format!("{what}_host"), cut(host).into());
            set(&format!("{what}_domain"), cut(domain).into());
        }
        set("unique_id", format!("{}-{number}", open.unique_id).into());
        set("file_lfn", cut(logical_name(open.file.url())).into());
        if let Some(job) = variable("CRAB_UNIQUE_JOB_ID").or_else(|| variable("DashboardJobId")) {
            set("app_info", cut(&job).into());
        }
        set("file_size", open.file.size().into());
        set("start_time", (report.start as i64).into());
        set("end_time", (report.end as i64).into());
        packet.extend(figures(source));
        packet.extend(further(open, source));
        Value::Object(packet)
    })
    .collect()
}

/// What a server sent, in CMSSW's fields.
fn figures(source: &SourceReport) -> Map<String, Value> {
    let (single, vector) = (&source.used.single, &source.used.vector);
    let bytes = single.bytes.saturating_add(vector.bytes);
    let mut found = Map::new();
    let mut spread = |name: &str, count: u64, total: u64, squares: u64| {
        if count > 0 {
            let (count, total, squares) = (count as f64, total as f64, squares as f64);
            found.insert(format!("read_{name}_average"), (total / count).into());
            let variance = (squares * count - total * total).max(0.0);
            found.insert(format!("read_{name}_sigma"), (variance.sqrt() / count).into());
        }
    };
    spread("single", single.requests, single.bytes, single.byte_squares);
    spread("vector", vector.requests, vector.bytes, vector.byte_squares);
    spread("vector_count", vector.requests, vector.ranges, vector.range_squares);
    found.extend(fields(json!({
        "read_bytes": bytes,
        "read_bytes_at_close": bytes,
        "read_single_operations": single.requests,
        "read_single_bytes": single.bytes,
        "read_vector_operations": vector.requests,
        "read_vector_bytes": vector.bytes,
    })));
    found
}

/// Fields that CMSSW does not send.
fn further(open: &OpenFile, source: &SourceReport) -> Map<String, Value> {
    fields(json!({
        "read_seconds": source.used.busy.as_secs_f64(),
        "read_errors": source.failures(),
        "server_port": split(&source.server).1,
        "closed": true,
        "file_id": open.unique_id,
        "app": APPLICATION,
    }))
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// The logical name of a file of CMS, `/store/…`; of other files, the path or URL.
fn logical_name(url: &str) -> &str {
    let path = url.split('?').next().unwrap_or(url);
    path.find("/store/").and_then(|at| path.get(at..)).unwrap_or(url)
}

/// Host and port of `host:port` or `[::1]:port`; the port is 0 if there is none.
fn split(server: &str) -> (&str, u16) {
    let (host, port) = match server.rsplit_once(':').map(|(host, port)| (host, port.parse())) {
        Some((host, Ok(port))) if !host.is_empty() => (host, port),
        _ => (server, 0),
    };
    (host.trim_matches(['[', ']']), port)
}

/// The name of a host and its domain; addresses have none.
fn host_and_domain(host: &str) -> (&str, &str) {
    let is_address = host.contains(':') || host.chars().all(|c| c.is_ascii_digit() || c == '.');
    match host.split_once('.').filter(|_| !is_address) {
        Some((name, domain)) => (name, domain),
        None => (host, UNKNOWN),
    }
}

fn cut(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).collect()
}

/// A variable of the environment, unless it is empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_as_collectors_expect() {
        assert_eq!(split("[::1]:1094"), ("::1", 1094));
        assert_eq!(split("host"), ("host", 0));
        assert_eq!(host_and_domain("data1.example.org"), ("data1", "example.org"));
        assert_eq!(host_and_domain("127.0.0.1"), ("127.0.0.1", UNKNOWN));
        assert_eq!(logical_name("root://h//eos/store/x.root?a"), "/store/x.root");
        assert_eq!(logical_name("/data/x.root"), "/data/x.root");
    }
}
