//! An HTTP/1.1 server on the loopback interface with a configurable behavior.

use crate::objects::Objects;
use crate::port::listen;
use crate::respond::{self, Answer, BodyPiece, Response};
use crate::stats::{Stats, add};
use crate::{Behaviour, HttpRequest};
use bytes::Bytes;
use sapwood_core::{ByteRange, Deadline};
use sapwood_source::Source;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// Bytes to read from an object and send at once.
const PIECE: u64 = 256 << 10;

/// Most requests to keep; later ones are only counted.
const MOST_REMEMBERED: usize = 10_000;

/// An HTTP server; dropping it stops it and closes its connections.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<ServerState>,
    task: AbortHandle,
}

#[derive(Debug)]
struct ServerState {
    objects: Objects,
    behaviour: Mutex<Behaviour>,
    stats: Stats,
    requests: Mutex<Vec<HttpRequest>>,
}

impl Server {
    /// Starts a server on a port that this process has not used before.
    ///
    /// # Errors
    /// Those of binding a socket.
    pub async fn start(objects: Objects, behaviour: Behaviour) -> io::Result<Server> {
        let listener = listen().await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(ServerState {
            objects,
            behaviour: Mutex::new(behaviour),
            stats: Stats::default(),
            requests: Mutex::default(),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared))).abort_handle();
        Ok(Server { address, shared, task })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path, which begins with a slash.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Changes its behavior, starting with the next request.
    pub fn change(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.shared.behaviour());
    }

    /// Its counts.
    pub fn stats(&self) -> &Stats {
        &self.shared.stats
    }

    /// The requests so far, up to a limit.
    pub fn requests(&self) -> Vec<HttpRequest> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ServerState {
    fn behaviour(&self) -> MutexGuard<'_, Behaviour> {
        self.behaviour.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, request: &HttpRequest) {
        add(&self.stats.requests, 1);
        add(&self.stats.ranges, respond::count_ranges(request));
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.len() < MOST_REMEMBERED {
            requests.push(request.clone());
        }
    }

    fn respond(&self, request: &HttpRequest) -> (Response, Option<Arc<dyn Source>>) {
        let mut behaviour = self.behaviour();
        if let Some(response) = respond::before_object(request, &mut behaviour) {
            return (response, None);
        }
        match self.objects.find(&request.path) {
            Ok(Some(object)) => {
                let size = object.identity().size;
                (respond::object(request, &behaviour, size), Some(object))
            }
            Ok(None) => (Response::status(404), None),
            Err(_) => (Response::status(403), None),
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<ServerState>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        add(&shared.stats.connections, 1);
        connections.spawn(serve(stream, Arc::clone(&shared)));
        while connections.try_join_next().is_some() {}
    }
}

/// Serves one connection until it ends; a client that disconnects is not an error.
async fn serve(mut stream: TcpStream, shared: Arc<ServerState>) {
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::new();
    while let Ok(Some(request)) = HttpRequest::read(&mut stream, &mut buffer).await {
        let wait = shared.stats.round_trips.asked();
        shared.remember(&request);
        let think = shared.behaviour().think;
        tokio::time::sleep(think).await;
        let (response, object) = shared.respond(&request);
        shared.stats.round_trips.answered(wait);
        let Response::Answer(mut answer) = response else { return };
        let behaviour = shared.behaviour().clone();
        let head = answer.head(&behaviour);
        if request.method == "HEAD" {
            answer.body.clear();
        }
        let sent = async {
            stream.write_all(head.as_bytes()).await?;
            send_body(&mut stream, &shared, &behaviour, answer, object.as_deref()).await
        };
        if sent.await.is_err() || behaviour.close {
            return;
        }
    }
}

/// Sends a body; an error means that the connection must be closed.
async fn send_body(
    stream: &mut TcpStream,
    shared: &ServerState,
    behaviour: &Behaviour,
    answer: Answer,
    object: Option<&dyn Source>,
) -> io::Result<()> {
    let mut left = match (&behaviour.cut_off, &mut shared.behaviour().cut_off) {
        (Some(cut_off), Some(now)) if cut_off.times > 0 && !answer.body.is_empty() => {
            now.times = now.times.saturating_sub(1);
            cut_off.after
        }
        _ => u64::MAX,
    };
    let chunked = behaviour.chunked && !answer.body.is_empty();
    for piece in answer.body {
        let mut sent = 0;
        while sent < piece.len() {
            let most = behaviour.bytes_per_second.map_or(PIECE, |rate| (rate / 50).clamp(1, PIECE)).min(left);
            let bytes = read(&piece, sent, most, object).await?;
            if chunked {
                stream.write_all(format!("{:x}\r\n", bytes.len()).as_bytes()).await?;
            }
            stream.write_all(&bytes).await?;
            if chunked {
                stream.write_all(b"\r\n").await?;
            }
            add(&shared.stats.bytes_sent, bytes.len());
            sent += bytes.len() as u64;
            left -= bytes.len() as u64;
            if left == 0 {
                return Err(io::Error::other("cut off by the behaviour"));
            }
            if let Some(rate) = behaviour.bytes_per_second {
                tokio::time::sleep(Duration::from_secs_f64(bytes.len() as f64 / rate.max(1) as f64)).await;
            }
        }
    }
    if chunked {
        stream.write_all(b"0\r\n\r\n").await?;
    }
    Ok(())
}

async fn read(piece: &BodyPiece, sent: u64, most: u64, object: Option<&dyn Source>) -> io::Result<Bytes> {
    let len = (piece.len() - sent).min(most);
    match (piece, object) {
        (BodyPiece::Text(text), _) => Ok(text.slice(sent as usize..(sent + len) as usize)),
        (BodyPiece::Object(range), Some(object)) => {
            let range = ByteRange { start: range.start + sent, len };
            let bytes = object.read_ranges(&[range], Deadline::default()).await.map_err(io::Error::other)?;
            bytes.into_iter().next().ok_or_else(|| io::Error::other("no answer"))
        }
        (BodyPiece::Object(_), None) => Err(io::Error::other("no object")),
    }
}
