//! Summaries of a recording as JSON: files, operations, requests, bytes, waits, and the links.

use super::policy::LinkModel;
use super::recorded::{Action, RecordedJob, RecordedProcess, RecordedRequest};
use super::run::Cost;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Answers of at most this many bytes measure the round trip.
const SMALL: u64 = 64 << 10;

/// Files, operations, requests, bytes and waits of a job, process by process.
pub fn summary(job: &RecordedJob) -> Value {
    let processes: Vec<Value> = job.processes.iter().map(process).collect();
    let ends = job.processes.iter().map(|process| process.begin + process.end);
    let links: BTreeMap<String, Value> = links(job)
        .into_iter()
        .map(|(server, model)| {
            let model = json!({"rtt": model.round_trip.as_secs_f64(), "bandwidth": model.bandwidth});
            (server, model)
        })
        .collect();
    json!({
        "seconds": seconds(ends.max().unwrap_or_default()),
        "unreadable_bytes": job.unreadable_bytes,
        "links": links,
        "processes": processes,
    })
}

fn process(process: &RecordedProcess) -> Value {
    let waited = process.steps.iter().map(|step| step.waited).sum();
    let opening = process.files.values();
    let asked = requests(process.requests.iter());
    json!({
        "process": process.number,
        "program": process.program,
        "begin": seconds(process.begin),
        "seconds": seconds(process.end),
        "waited": seconds(waited),
        "lost_events": process.lost,
        "requests": asked["requests"].as_u64().unwrap_or_default()
            + opening.clone().map(|file| file.opening_requests).sum::<u64>(),
        "bytes": asked["bytes"].as_u64().unwrap_or_default()
            + opening.map(|file| file.opening_bytes).sum::<u64>(),
        "files": process.files.iter().map(|(number, file)| {
            let of_file = requests(process.requests.iter().filter(|request| request.file == *number));
            json!({
                "url": file.url,
                "size": file.size,
                "server": file.server,
                "opening": {
                    "seconds": seconds(file.opening_time),
                    "requests": file.opening_requests,
                    "round_trips": file.opening_round_trips,
                    "bytes": file.opening_bytes,
                },
                "reading": of_file,
            })
        }).collect::<Vec<_>>(),
        "operations": operations(process),
        "writes": process.writes.iter().map(|write| {
            json!({
                "url": write.url,
                "size": write.size,
                "entries": write.entries,
                "seconds": seconds(write.took),
            })
        }).collect::<Vec<_>>(),
        "wall": wall(process),
        "cpu": process.spent.map(|spent| {
            let known = spent.decompress.saturating_add(spent.decode).saturating_add(spent.compress);
            json!({
                "seconds": seconds(spent.cpu),
                "decompressing": seconds(spent.decompress),
                "decoding": seconds(spent.decode),
                "compressing": seconds(spent.compress),
                "other": seconds(spent.cpu.saturating_sub(known)),
            })
        }),
    })
}

/// What the time of a process went to: seconds of all its threads, of which several may have been at work at once.
fn wall(process: &RecordedProcess) -> Value {
    let (mut opening, mut waiting, mut decoding) = (0_u64, 0_u64, 0_u64);
    for step in &process.steps {
        let took = step.end - step.begin.min(step.end);
        match step.action {
            Action::Open(_) | Action::Structure(..) => opening = opening.saturating_add(took),
            _ => {
                waiting = waiting.saturating_add(step.waited);
                decoding = decoding.saturating_add(took - step.waited.min(took));
            }
        }
    }
    let writing = process.writes.iter().fold(0_u64, |sum, write| sum.saturating_add(write.took));
    let known = [opening, waiting, decoding, writing].into_iter().fold(0, u64::saturating_add);
    json!({
        "seconds": seconds(process.end),
        "opening": seconds(opening),
        "waiting": seconds(waiting),
        "decoding": seconds(decoding),
        "writing": seconds(writing),
        "other": seconds(process.end.saturating_sub(known)),
    })
}

fn requests<'r>(requests: impl Iterator<Item = &'r RecordedRequest>) -> Value {
    let (mut count, mut ranges, mut bytes, mut failed, mut unanswered) = (0_u64, 0, 0_u64, 0_u64, 0_u64);
    let mut servers: BTreeMap<&str, u64> = BTreeMap::new();
    for request in requests {
        (count, ranges, bytes) = (count + 1, ranges + request.ranges, bytes.saturating_add(request.bytes));
        failed += u64::from(!request.error.is_empty());
        unanswered += u64::from(request.answered.is_none());
        if !request.server.is_empty() {
            *servers.entry(&request.server).or_default() += request.bytes;
        }
    }
    json!({
        "requests": count,
        "ranges": ranges,
        "bytes": bytes,
        "failed": failed,
        "unanswered": unanswered,
        "bytes_by_server": servers,
    })
}

fn operations(process: &RecordedProcess) -> Vec<Value> {
    let mut cost: HashMap<u64, (u64, u64, u64)> = HashMap::new();
    for step in &process.steps {
        if let Action::Next(read) | Action::Begin(read) | Action::End(read) = step.action {
            let (begin, took, waited) = cost.entry(read).or_insert((step.begin, 0, 0));
            *begin = (*begin).min(step.begin);
            *took += step.end - step.begin.min(step.end);
            *waited += step.waited;
        }
    }
    let one = |(number, read): (&u64, &super::recorded::RecordedRead)| {
        let (begin, took, waited) = cost.get(number).copied().unwrap_or_default();
        let chunks = read.ranges.iter().flat_map(|range| &range.chunks);
        let bytes = chunks.clone().fold(0_u64, |sum, chunk| sum.saturating_add(chunk.range.len));
        let entries = read.ranges.iter().map(|range| [range.entries.start, range.entries.end]);
        json!({
            "kind": read.kind,
            "file": process.files.get(&read.file).map(|file| &file.url),
            "tree": read.tree,
            "columns": read.columns,
            "entries": entries.collect::<Vec<_>>(),
            "baskets": chunks.count(),
            "bytes": bytes,
            "begin": seconds(begin),
            "seconds": seconds(took),
            "waited": seconds(waited),
        })
    };
    process.reads.iter().map(one).collect()
}

/// The link to each server, from the requests of a job: the shortest round trip, and the highest bandwidth of
/// all requests together. Where the requests do not determine it, the default applies.
pub fn links(job: &RecordedJob) -> BTreeMap<String, LinkModel> {
    let mut by_server: BTreeMap<String, Vec<(u64, u64, u64)>> = BTreeMap::new();
    for process in &job.processes {
        for request in &process.requests {
            let distant = process.files.get(&request.file).is_some_and(|file| !file.cost_model.immediate);
            if let (Some(answered), true, false) = (request.answered, distant, request.server.is_empty()) {
                let at = |time| process.begin + time;
                let request_of = (at(request.asked), at(answered), request.bytes);
                by_server.entry(request.server.clone()).or_default().push(request_of);
            }
        }
    }
    by_server.into_iter().map(|(server, requests)| (server, model(requests))).collect()
}

fn model(mut requests: Vec<(u64, u64, u64)>) -> LinkModel {
    let took = |request: &&(u64, u64, u64)| request.1 - request.0.min(request.1);
    let shortest = requests.iter().filter(|request| request.2 <= SMALL).map(|request| took(&request)).min();
    let round_trip = shortest.or_else(|| requests.iter().map(|request| took(&request)).min());
    let round_trip = round_trip.unwrap_or_default();
    requests.sort_unstable();
    let (mut best, mut busy) = (0_u64, None::<(u64, u64, u64)>);
    for (asked, answered, bytes) in requests {
        let (since, until, sum) = busy.filter(|(_, until, _)| *until >= asked).unwrap_or((asked, asked, 0));
        let (until, sum) = (until.max(answered), sum + bytes);
        busy = Some((since, until, sum));
        let transfer = (until - since).saturating_sub(round_trip).max(1);
        if sum > 16 * SMALL {
            best = best
                .max(u64::try_from(u128::from(sum) * 1_000_000 / u128::from(transfer)).unwrap_or(u64::MAX));
        }
    }
    let bandwidth = Some(best).filter(|best| *best > 0).unwrap_or(LinkModel::default().bandwidth);
    LinkModel { round_trip: Duration::from_micros(round_trip), bandwidth, ..LinkModel::default() }
}

/// The cost of a replay, as JSON.
pub fn cost_json(cost: &Cost) -> Value {
    json!({
        "policy": cost.policy,
        "seconds": cost.seconds,
        "waited": cost.waited,
        "requests": cost.counts.requests,
        "round_trips": cost.counts.round_trips,
        "bytes": cost.counts.fetched_bytes,
        "wanted": cost.counts.wanted_bytes,
        "overread": cost.counts.overread_bytes,
    })
}

fn seconds(micros: u64) -> f64 {
    Duration::from_micros(micros).as_secs_f64()
}
