//! A server that counts its requests, and can fail or stay silent.

use crate::source::content;
use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Error, ErrorKind, Result, Segments};
use sapwood_fetch::blocks::Reopen;
use sapwood_source::{CostModel, Identity, OpenedSource, Source};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const FAR: CostModel = CostModel {
    gap: 4,
    largest_request: 250,
    ranges_per_request: 3,
    concurrency: 3,
    immediate: false,
    tied: false,
    deals_out: false,
};

/// A server with one file, which counts what it is asked.
#[derive(Debug)]
pub(crate) struct Server {
    content: Mutex<Bytes>,
    pub(crate) version: Mutex<Option<String>>,
    opened: AtomicUsize,
    /// Sources that are open.
    pub(crate) open: Arc<AtomicUsize>,
    pub(crate) requested: Arc<AtomicU64>,
    pub(crate) fails: Arc<AtomicBool>,
    pub(crate) silent: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn new(size: usize) -> Arc<Server> {
        Arc::new(Server {
            content: Mutex::new(content(size).into()),
            version: Mutex::new(Some("first".into())),
            opened: AtomicUsize::new(0),
            open: Arc::default(),
            requested: Arc::default(),
            fails: Arc::default(),
            silent: Arc::default(),
        })
    }

    /// Bytes that were asked for since the last call, without those of opening.
    pub(crate) fn requested(&self) -> u64 {
        self.requested.swap(0, Ordering::SeqCst)
    }

    pub(crate) fn opened(&self) -> usize {
        self.opened.swap(0, Ordering::SeqCst)
    }

    pub(crate) fn replace(&self, content: Vec<u8>, version: &str) {
        *self.content.lock().unwrap() = content.into();
        *self.version.lock().unwrap() = Some(version.into());
    }
}

/// Like a server that is asked by one process, which has its own connections to it.
#[derive(Debug)]
pub(crate) struct Client(pub(crate) Arc<Server>);

impl Reopen for Client {
    fn open<'a>(&'a self, tail: bool, _: Deadline) -> BoxFuture<'a, Result<OpenedSource>> {
        Box::pin(async move {
            let Client(server) = self;
            server.opened.fetch_add(1, Ordering::SeqCst);
            server.open.fetch_add(1, Ordering::SeqCst);
            let bytes = server.content.lock().unwrap().clone();
            let version = server.version.lock().unwrap().clone();
            let mut known = Segments::default();
            known.insert(0, bytes.slice(..bytes.len().min(10)));
            if tail {
                let start = bytes.len().saturating_sub(20);
                known.insert(start as u64, bytes.slice(start..));
            }
            let identity = Identity { url: "test://h/f".into(), size: bytes.len() as u64, version };
            let source = Far {
                identity,
                bytes,
                open: Arc::clone(&server.open),
                requested: Arc::clone(&server.requested),
                fails: Arc::clone(&server.fails),
                silent: Arc::clone(&server.silent),
            };
            Ok(OpenedSource { source: Arc::new(source), known })
        })
    }
}

#[derive(Debug)]
struct Far {
    identity: Identity,
    bytes: Bytes,
    open: Arc<AtomicUsize>,
    requested: Arc<AtomicU64>,
    fails: Arc<AtomicBool>,
    silent: Arc<AtomicBool>,
}

impl Drop for Far {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Source for Far {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn cost_model(&self) -> CostModel {
        FAR
    }

    fn server(&self) -> Option<String> {
        None
    }

    fn read_ranges<'a>(&'a self, ranges: &'a [ByteRange], _: Deadline) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        Box::pin(async move {
            self.requested.fetch_add(ranges.iter().map(|range| range.len).sum(), Ordering::SeqCst);
            tokio::task::yield_now().await;
            if self.silent.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            if self.fails.load(Ordering::SeqCst) {
                return Err(Error::new(ErrorKind::Server, "the server refuses"));
            }
            let slice = |range: &ByteRange| self.bytes.slice(range.start as usize..range.end() as usize);
            Ok(ranges.iter().map(slice).collect())
        })
    }
}
