//! What was read from a file, as JSON.

use sapwood_root::RawFile;
use sapwood_source::ServerUse;
use serde_json::{Map, Value, json};

/// The report of a file: its counters, what each server sent, and what happened there.
pub(crate) fn report(file: &RawFile) -> Value {
    let counters: Map<_, _> = file
        .counters()
        .snapshot()
        .entries()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    let sources: Vec<_> = ServerUse::of(&file.trace().records()).iter().map(source).collect();
    let events: Vec<_> = file.counters().events.entries().iter().map(ToString::to_string).collect();
    json!({
        "file": file.url(),
        "size": file.size(),
        "counters": counters,
        "sources": sources,
        "events": events,
    })
}

fn source(used: &ServerUse) -> Value {
    json!({
        "server": used.server.as_deref(),
        "requests": used.single.requests + used.vector.requests,
        "ranges": used.single.ranges + used.vector.ranges,
        "fetched_bytes": used.single.bytes.saturating_add(used.vector.bytes),
        "busy_seconds": used.busy.as_secs_f64(),
    })
}
