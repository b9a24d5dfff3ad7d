//! Recorded jobs, replayed over modeled links.

use sapwood_core::ByteRange;
use sapwood_fetch::replay::{Cost, LinkModel, Policy, RecordedJob, ReplayTarget, replay};
use sapwood_source::record::{ProcessId, RecordedChunk, RecordedEvent, Recording};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const MB: u64 = 1_000_000;
const FILE: u64 = 7;
const READ: u64 = 8;
const SCHEME: [u64; 5] = [4096, 16 << 20, 100, 16, 0];

/// A job that scans `ranges` entry ranges of `count` baskets each, of which it works on each for `work`.
fn scan(ranges: u64, count: u64, len: u64, work: Duration) -> Vec<(u64, RecordedEvent)> {
    let gap = 100_000;
    let known = vec![ByteRange { start: 0, len: 4096 }];
    let mut events = vec![(
        1000,
        RecordedEvent::Opened {
            file: FILE,
            thread: 1,
            took: 1000,
            url: "https://example.org/a.root".to_owned(),
            size: 1 << 50,
            server: "example.org:443".to_owned(),
            requests: 1,
            round_trips: 1,
            cost_model: SCHEME.to_vec(),
            known,
        },
    )];
    let (kind, tree) = ("scan".to_owned(), "Events".to_owned());
    events.push((
        1000,
        RecordedEvent::Read { read: READ, thread: 1, kind, file: FILE, tree, columns: Vec::new() },
    ));
    for range in 0..ranges {
        let place = |i: u64| 10_000 + (range * count + i) * (len + gap);
        let chunk =
            |i| RecordedChunk { file: FILE, first_entry: range, range: ByteRange { start: place(i), len } };
        let (start, stop, clusters) = (range, range + 1, vec![range, range + 1]);
        let chunks = (0..count).map(chunk).collect();
        events.push((1000, RecordedEvent::Range { read: READ, start, stop, clusters, chunks }));
    }
    let mut time = 1000;
    for _ in 0..ranges {
        events.push((time, RecordedEvent::Next { read: READ, thread: 1 }));
        time += u64::try_from(work.as_micros()).unwrap();
        events.push((
            time,
            RecordedEvent::Delivered { read: READ, thread: 1, waited: 0, error: String::new() },
        ));
    }
    events.push((time, RecordedEvent::Ended { read: READ }));
    events
}

fn job(processes: impl IntoIterator<Item = Vec<(u64, RecordedEvent)>>) -> RecordedJob {
    let id = |number| ProcessId { number, begin: 1 };
    let processes = (1..).map(id).zip(processes).collect();
    RecordedJob::new(&Recording { processes, unreadable_bytes: 0 })
}

fn cost(job: &RecordedJob, milliseconds: u64, bandwidth: u64, policy: &str) -> Cost {
    let line =
        LinkModel { round_trip: Duration::from_millis(milliseconds), bandwidth, ..LinkModel::default() };
    at(job, line, Vec::new(), policy)
}

fn at(job: &RecordedJob, others: LinkModel, replicas: Vec<LinkModel>, policy: &str) -> Cost {
    let place = ReplayTarget::Model { servers: HashMap::new(), others, replicas };
    replay(job, &place, &Policy::parse(policy).unwrap(), &AtomicBool::new(false)).unwrap()
}

fn modelled() -> ReplayTarget {
    ReplayTarget::Model { servers: HashMap::new(), others: LinkModel::default(), replicas: Vec::new() }
}

fn near(seconds: f64, expected: f64) -> bool {
    (seconds - expected).abs() < 0.02 * expected + 0.005
}

#[test]
fn a_read_takes_its_round_trips_and_its_bytes() {
    // Connecting, opening and reading: a round trip each.
    let job = job([scan(1, 4, 5 * MB, Duration::ZERO)]);
    let cost = cost(&job, 100, 100 * MB, "default");
    assert_eq!((cost.counts.requests, cost.counts.ranges, cost.counts.round_trips), (1 + 4, 4, 2));
    assert_eq!(cost.counts.fetched_bytes, 20 * MB + 4096);
    assert!(near(cost.seconds, 0.5), "{cost:?}");
}

#[test]
fn processes_share_the_link_to_their_server() {
    let one = || scan(1, 4, 25 * MB, Duration::ZERO);
    assert!(near(cost(&job([one()]), 100, 100 * MB, "default").seconds, 1.3));
    assert!(near(cost(&job([one(), one()]), 100, 100 * MB, "default").seconds, 2.3));
}

#[test]
fn computing_hides_fetching() {
    let work = Duration::from_secs(1);
    let cost = cost(&job([scan(600, 4, 5 * MB, work)]), 100, 100 * MB, "default");
    // Ten minutes of work, in a moment.
    assert!(near(cost.seconds, 600.5), "{cost:?}");
    assert!(cost.waited < 1.0, "{cost:?}");
}

#[test]
fn policies_decide() {
    let job = job([scan(20, 30, 50_000, Duration::ZERO)]);
    let of = |policy| cost(&job, 100, 100 * MB, policy);
    let unmerged = of("unmerged");
    assert_eq!((unmerged.counts.requests, unmerged.counts.overread_bytes), (1 + 600, 0));
    let gaps = of("gap-1M");
    assert_eq!(gaps.counts.overread_bytes, 20 * 29 * 100_000);
    assert!(of("unmerged,concurrency=1").seconds > unmerged.seconds);
    assert!(of("shallow").seconds > of("ahead=8").seconds);
    assert_eq!(of("ahead=8,ranges=10").counts.requests, 1 + 20 * 3);
}

#[test]
fn blocks_are_fetched_once() {
    let cost = cost(&job([scan(10, 2, 50_000, Duration::ZERO)]), 10, 100 * MB, "block=1M");
    // 20 baskets in 3 MB.
    assert_eq!(cost.counts.fetched_bytes.div_ceil(1 << 20), 4, "{cost:?}");
}

#[test]
fn nonsense_is_an_error_and_takes_no_memory() {
    let mut events = scan(1, 1, 1 << 49, Duration::ZERO);
    let (job, place) = (job([events.clone()]), modelled());
    let cancelled = AtomicBool::new(false);
    assert!(replay(&job, &place, &Policy::default(), &cancelled).is_err());
    // Events without those that they follow from.
    for _ in 0..events.len() {
        events.rotate_left(1);
        let job = RecordedJob::new(&Recording {
            processes: [(ProcessId { number: 1, begin: 0 }, events.get(1..).unwrap_or_default().to_vec())]
                .into(),
            unreadable_bytes: 1,
        });
        let _ = replay(&job, &place, &Policy::default(), &cancelled);
        let _ = sapwood_fetch::replay::summary(&job);
    }
}

#[test]
fn a_replay_can_be_interrupted() {
    let place = modelled();
    let error =
        replay(&job([scan(1, 1, 1, Duration::ZERO)]), &place, &Policy::default(), &AtomicBool::new(true));
    assert_eq!(error.unwrap_err().kind(), sapwood_core::ErrorKind::Cancelled);
}

#[test]
fn a_file_with_several_replicas_is_read_from_all() {
    let job = job([scan(40, 4, 5 * MB, Duration::ZERO)]);
    let line = |milliseconds, bandwidth| LinkModel {
        round_trip: Duration::from_millis(milliseconds),
        bandwidth,
        ..LinkModel::default()
    };
    let near_by = line(20, 25 * MB);
    let alone = at(&job, near_by, Vec::new(), "default").seconds;
    assert!(near(alone, 32.0), "{alone}");
    let two = at(&job, near_by, Vec::new(), "replicas");
    assert!(alone / two.seconds > 1.8, "{alone} s, {two:?}");
    let slow = at(&job, near_by, vec![line(20, 25 * MB / 10)], "replicas");
    assert!(alone / slow.seconds > 0.95, "{alone} s, {slow:?}");
    // However far they are, three are read from if that is the policy.
    let three = at(&job, near_by, vec![line(100, 25 * MB); 2], "sources=3");
    assert!(alone / three.seconds > 2.3, "{alone} s, {three:?}");
    assert_eq!(
        at(&job, near_by, vec![near_by], "replicas"),
        two,
        "what one replay measured, another one does not know"
    );
}

#[test]
fn several_replicas_need_a_model() {
    let place = ReplayTarget::Real {
        urls: HashMap::new(),
        options: Box::default(),
        deadline: Duration::from_secs(10),
    };
    let job = job([scan(1, 1, 1, Duration::ZERO)]);
    let error = replay(&job, &place, &Policy::parse("replicas").unwrap(), &AtomicBool::new(false));
    assert_eq!(error.unwrap_err().kind(), sapwood_core::ErrorKind::Usage);
}

#[test]
fn new_files_and_spent_time_are_in_the_summary() {
    let mut events = scan(1, 1, 100, Duration::from_secs(2));
    let last = events.last().map_or(0, |(time, _)| *time);
    let url = "/new.root".to_owned();
    let second = 1_000_000;
    events.push((last + second, RecordedEvent::Wrote { thread: 1, took: second, url, size: 9, entries: 4 }));
    for times in 1..=2 {
        let [cpu, decompress, decode, compress, write] =
            [20, 3, 4, 5, 6].map(|tenths| times * tenths * second / 10);
        events.push((last + 4 * second, RecordedEvent::Spent { cpu, decompress, decode, compress, write }));
    }
    let summary = sapwood_fetch::replay::summary(&job([events]));
    let process = &summary["processes"][0];
    let write = &process["writes"][0];
    assert_eq!((write["url"].as_str(), write["size"].as_u64()), (Some("/new.root"), Some(9)));
    let numbers = |what: &str, names: &[&str]| -> Vec<f64> {
        names.iter().map(|name| (process[what][name].as_f64().unwrap() * 100.0).round() / 100.0).collect()
    };
    let wall = numbers("wall", &["seconds", "opening", "waiting", "decoding", "writing", "other"]);
    assert_eq!(wall, [6.0, 0.0, 0.0, 2.0, 1.0, 3.0]);
    // The last event counts: its times are sums.
    let cpu = numbers("cpu", &["seconds", "decompressing", "decoding", "compressing", "other"]);
    assert_eq!(cpu, [4.0, 0.6, 0.8, 1.0, 1.6]);
}
