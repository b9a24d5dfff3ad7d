//! Sources behind modeled links, on a clock that only the test moves.

use super::list::{Candidate, List};
use bytes::Bytes;
use futures::FutureExt;
use sapwood_core::BoxFuture;
use sapwood_core::{ByteRange, Counters, Deadline, Error, ErrorKind, Result, Segments};
use sapwood_fetch::replicas::{ReplicaReadOptions, Replicas};
use sapwood_source::{Checksum, CostModel, Identity, OpenedSource, Source, Trace};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// Size of the modeled file.
pub(super) const SIZE: u64 = 64 << 20;

/// What a server does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Manner {
    Well,
    Fails(ErrorKind),
    Hangs,
    /// So much of its bandwidth is left.
    Slow(f64),
    /// Sends nothing until then, and afterwards all that was asked for.
    SilentUntil(Instant),
    /// Leaves out the last byte of each answer.
    Short,
    /// Leaves out the last answer.
    Few,
}

/// A server behind a link that carries one byte after the other.
#[derive(Debug)]
pub(super) struct Server {
    identity: Identity,
    name: String,
    content: Bytes,
    pub(super) latency: Duration,
    pub(super) bandwidth: f64,
    manner: Mutex<Manner>,
    free: Mutex<Option<Instant>>,
    pub(super) sent: AtomicU64,
    pub(super) requests: Mutex<Vec<Vec<ByteRange>>>,
    pub(super) opened: AtomicU64,
    /// What it states of its file, and after how many seconds.
    pub(super) states: Mutex<Option<(u64, Checksum)>>,
}

/// The content of a file; another one for each `kind`.
pub(super) fn content(kind: u8) -> Bytes {
    static RIGHT: std::sync::OnceLock<Bytes> = std::sync::OnceLock::new();
    let make =
        |kind: u8| (0..SIZE as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8 ^ kind).collect();
    if kind == 0 { RIGHT.get_or_init(|| make(0)).clone() } else { make(kind) }
}

impl Server {
    /// A server of that many milliseconds and megabytes per second.
    pub(super) fn new(name: &str, latency: u64, bandwidth: f64) -> Arc<Server> {
        Server::with(name, latency, bandwidth, content(0))
    }

    pub(super) fn with(name: &str, latency: u64, bandwidth: f64, content: Bytes) -> Arc<Server> {
        // What is known of servers is known by their names in the whole process: no two tests may share one.
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let url = format!("test://{name}/f.root");
        Arc::new(Server {
            identity: Identity { url, size: content.len() as u64, version: None },
            name: format!("{name}-{number}:1"),
            content,
            latency: Duration::from_millis(latency),
            bandwidth: bandwidth * 1e6,
            manner: Mutex::new(Manner::Well),
            free: Mutex::default(),
            sent: AtomicU64::new(0),
            requests: Mutex::default(),
            opened: AtomicU64::new(0),
            states: Mutex::default(),
        })
    }

    pub(super) fn behave(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
        // What was under way is lost: the link is free.
        *self.free.lock().unwrap() = None;
    }

    pub(super) fn manner(&self) -> Manner {
        *self.manner.lock().unwrap()
    }

    pub(super) fn bytes_sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    pub(super) fn is_right(&self) -> bool {
        self.content.as_ptr() == content(0).as_ptr()
    }

    fn slice(&self, range: ByteRange) -> Bytes {
        self.content.slice(range.start as usize..range.end() as usize)
    }

    fn candidate(self: &Arc<Self>) -> Candidate {
        let server = Arc::clone(self);
        Candidate::new(server.identity.url.clone(), move |_| {
            let server = Arc::clone(&server);
            async move {
                tokio::time::sleep(server.latency).await;
                match server.manner() {
                    Manner::Fails(kind) => return Err(Error::new(kind, "it cannot be opened")),
                    Manner::Hangs => std::future::pending().await,
                    _ => {}
                }
                server.opened.fetch_add(1, Ordering::Relaxed);
                let mut known = Segments::default();
                known.insert(0, server.slice(ByteRange { start: 0, len: 4096 }));
                Ok(OpenedSource { source: server as Arc<dyn Source>, known })
            }
            .boxed()
        })
    }

    /// When all of an answer has come.
    fn arrival(&self, bytes: u64, part: f64) -> Instant {
        let first = Instant::now() + self.latency;
        let mut free = self.free.lock().unwrap();
        let begin = free.map_or(first, |free| free.max(first));
        let end = begin + Duration::from_secs_f64(bytes as f64 / (self.bandwidth * part));
        *free = Some(end);
        end
    }
}

impl Source for Server {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn cost_model(&self) -> CostModel {
        CostModel {
            gap: 0,
            largest_request: 8 << 20,
            ranges_per_request: 64,
            concurrency: 16,
            immediate: false,
            tied: false,
            deals_out: false,
        }
    }

    fn server(&self) -> Option<String> {
        Some(self.name.clone())
    }

    fn checksums(&self, _: Deadline) -> BoxFuture<'_, Vec<Checksum>> {
        let states = self.states.lock().unwrap().clone();
        Box::pin(async move {
            let Some((seconds, checksum)) = states else { return Vec::new() };
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            vec![checksum]
        })
    }

    fn read_ranges<'a>(&'a self, ranges: &'a [ByteRange], _: Deadline) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        Box::pin(async move {
            self.requests.lock().unwrap().push(ranges.to_vec());
            let bytes = ranges.iter().map(|range| range.len).sum();
            let manner = self.manner();
            match manner {
                Manner::Hangs => std::future::pending().await,
                Manner::Fails(kind) => {
                    tokio::time::sleep(self.latency).await;
                    return Err(Error::new(kind, "it fails"));
                }
                Manner::SilentUntil(end) => {
                    tokio::time::sleep_until(end).await;
                    tokio::time::sleep_until(self.arrival(bytes, 1.0)).await;
                }
                Manner::Slow(part) => tokio::time::sleep_until(self.arrival(bytes, part)).await,
                _ => tokio::time::sleep_until(self.arrival(bytes, 1.0)).await,
            }
            self.sent.fetch_add(bytes, Ordering::Relaxed);
            let mut answers: Vec<_> = ranges.iter().map(|&range| self.slice(range)).collect();
            match (manner, answers.last_mut()) {
                (Manner::Short, Some(last)) => last.truncate(last.len().saturating_sub(1)),
                (Manner::Few, Some(_)) => drop(answers.pop()),
                _ => {}
            }
            Ok(answers)
        })
    }
}

/// A file at all of these servers.
pub(super) async fn open(
    servers: &[Arc<Server>],
    options: ReplicaReadOptions,
    deadline: Deadline,
) -> Result<(Arc<dyn Source>, Arc<Counters>)> {
    open_stated(servers, Vec::new(), options, deadline).await
}

/// The same, of which this is stated.
pub(super) async fn open_stated(
    servers: &[Arc<Server>],
    stated: Vec<Checksum>,
    options: ReplicaReadOptions,
    deadline: Deadline,
) -> Result<(Arc<dyn Source>, Arc<Counters>)> {
    let candidates = servers.iter().map(Server::candidate).collect();
    let list = Arc::new(List::new(candidates).stating(stated));
    let counters = Arc::<Counters>::default();
    let trace = Trace::new(Instant::now().into_std());
    let opened = Replicas::open(list, options, Arc::clone(&counters), trace, deadline).await?;
    Ok((opened.source, counters))
}

/// A deadline on the clock of the test.
pub(super) fn within(seconds: u64) -> Deadline {
    Deadline::at((Instant::now() + Duration::from_secs(seconds)).into_std())
}

/// Reads all of the file as the planner does, eight requests of 4 MiB at a time, and checks it. Returns the seconds.
pub(super) async fn read_all(source: &Arc<dyn Source>, deadline: Deadline) -> Result<f64> {
    use futures::stream::{StreamExt, TryStreamExt};
    let begin = Instant::now();
    let step = 4 << 20;
    let read = |i: u64| async move {
        let range = ByteRange { start: i * step, len: step };
        let answers = source.read_ranges(&[range], deadline).await?;
        assert_eq!(answers, [content(0).slice(range.start as usize..range.end() as usize)]);
        Ok::<_, Error>(())
    };
    futures::stream::iter(0..SIZE / step).map(read).buffered(8).try_collect::<Vec<_>>().await?;
    Ok(begin.elapsed().as_secs_f64())
}
