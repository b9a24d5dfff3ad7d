//! What was read from a file and from where: the record that `sapwood.monitoring` writes as a line of JSON.

use crate::open_files::OpenFile;
use sapwood_core::{LoggedEvent, SourceEvent};
use sapwood_source::ServerUse;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// The server of bytes that came from none.
const LOCAL: &str = "local";

/// What was read so far.
pub(crate) struct Report {
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) sources: Vec<SourceReport>,
    events: Vec<LoggedEvent>,
}

/// What one server sent, and how often what happened there.
#[derive(Default)]
pub(crate) struct SourceReport {
    pub(crate) server: String,
    /// Messages to it, also those that brought no bytes of the file.
    requests: u64,
    /// Byte ranges in them.
    ranges: u64,
    pub(crate) used: ServerUse,
    pub(crate) events: BTreeMap<&'static str, u64>,
}

impl Report {
    /// The report of a file until now.
    pub(crate) fn of(open: &OpenFile) -> Report {
        let events = open.file.counters().events.entries();
        let mut sources: Vec<SourceReport> =
            ServerUse::of(&open.file.trace().records()).into_iter().map(SourceReport::new).collect();
        for sent in open.file.counters().servers.entries() {
            let server = sent.server.as_deref().unwrap_or(LOCAL);
            change(&mut sources, server, |source| {
                (source.requests, source.ranges) = (sent.requests, sent.ranges);
            });
        }
        for LoggedEvent { server, event, times, .. } in &events {
            let Some(server) = server else { continue };
            change(&mut sources, server, |source| {
                *source.events.entry(event.name()).or_default() += times;
            });
        }
        Report { start: seconds(open.opened), end: seconds(SystemTime::now()), sources, events }
    }

    /// The report as JSON.
    pub(crate) fn json(&self, open: &OpenFile, closed: bool) -> Value {
        let mut record = Map::new();
        let mut set = |name: &str, value: Value| record.insert(name.to_owned(), value);
        set("event", if closed { "closed" } else { "open" }.into());
        set("file", open.file.url().into());
        set("size", open.file.size().into());
        set("unique_id", open.unique_id.clone().into());
        set("start", self.start.into());
        set("end", self.end.into());
        set("client", client().into());
        set("pid", std::process::id().into());
        for (name, value) in open.file.counters().snapshot().entries() {
            set(name, value.into());
        }
        set("sources", self.sources.iter().map(SourceReport::json).collect());
        set("log", self.events.iter().map(event_json).collect());
        Value::Object(record)
    }
}

/// Changes the report of a server, which is added if there is none yet.
fn change(sources: &mut Vec<SourceReport>, server: &str, with: impl FnOnce(&mut SourceReport)) {
    match sources.iter_mut().find(|source| source.server == server) {
        Some(known) => with(known),
        None => {
            let mut new = SourceReport { server: server.to_owned(), ..SourceReport::default() };
            with(&mut new);
            sources.push(new);
        }
    }
}

impl SourceReport {
    fn new(used: ServerUse) -> SourceReport {
        let server = used.server.as_deref().unwrap_or(LOCAL).to_owned();
        SourceReport { server, used, ..SourceReport::default() }
    }

    /// Whether there was no server.
    pub(crate) fn is_local(&self) -> bool {
        self.server == LOCAL
    }

    /// Whether it answered reads, or anything happened there.
    pub(crate) fn is_active(&self) -> bool {
        self.used.single.requests + self.used.vector.requests > 0 || !self.events.is_empty()
    }

    /// How often something failed there.
    pub(crate) fn failures(&self) -> u64 {
        let kinds = [SourceEvent::Failed, SourceEvent::Retried, SourceEvent::Left, SourceEvent::Refused];
        kinds.iter().filter_map(|kind| self.events.get(kind.name())).sum()
    }

    fn json(&self) -> Value {
        let ServerUse { single, vector, busy, .. } = &self.used;
        json!({
            "server": self.server,
            "requests": self.requests,
            "ranges": self.ranges,
            "fetched_bytes": single.bytes.saturating_add(vector.bytes),
            "busy_seconds": busy.as_secs_f64(),
            "single_reads": single.requests,
            "single_bytes": single.bytes,
            "single_squares": single.byte_squares,
            "vector_reads": vector.requests,
            "vector_bytes": vector.bytes,
            "vector_squares": vector.byte_squares,
            "vector_ranges": vector.ranges,
            "vector_range_squares": vector.range_squares,
            "events": self.events,
        })
    }
}

fn event_json(event: &LoggedEvent) -> Value {
    json!({
        "seconds": event.when.as_secs_f64(),
        "server": event.server,
        "event": event.event.name(),
        "text": event.text,
        "times": event.times,
    })
}

/// The name of this machine.
pub(crate) fn client() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn seconds(moment: SystemTime) -> f64 {
    moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
