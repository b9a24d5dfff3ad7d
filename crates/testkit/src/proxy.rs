//! A TCP proxy that emulates the distance between a client and a server.
//!
//! Each direction is an emulated link: bytes are passed on half a round trip after they arrive, however many are in
//! flight, so that the delay does not reduce the bandwidth. The first byte of a connection takes one more round trip,
//! for the handshake, which the proxy cannot delay. Only a [window](EmulatedLink::window) or
//! [losses](EmulatedLink::loss) limit what a connection has in flight.
//!
//! # Round trips
//! On each connection, a wait begins when bytes come from the client after bytes to the client, or at the start. It ends
//! with the next bytes to the client. The count over all connections is the longest chain of waits in which each began
//! after the previous one had ended: see [`RoundTrips`](sapwood_source::RoundTrips). Requests sent together over many
//! connections count once. Handshakes are not counted, but `connections` is.

use crate::flow::Flow;
use crate::port::listen;
use crate::stats::{Stats, add};
use bytes::{BufMut, Bytes, BytesMut};
use sapwood_source::RequestDepth;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep_until};

/// Most bytes to pass on at once.
const CHUNK: usize = 64 << 10;

/// How often throttled bytes pass.
const TRICKLES_PER_SECOND: u64 = 10;

/// Chunks in flight in one direction of a connection: enough for a second at 500 MB/s.
const IN_FLIGHT: usize = 8 << 10;

/// The emulated link between client and server.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EmulatedLink {
    /// Round-trip time.
    pub round_trip: Duration,
    /// Bandwidth in each direction, shared by all connections, in 10⁶ bits per second; `None` for no limit.
    pub megabits: Option<f64>,
    /// Most bytes in flight on each connection in each direction, like the window of TCP; `None` for no limit.
    pub window: Option<u64>,
    /// The share of lost packets; each halves the window of its connection, which then grows by a packet in each round
    /// trip.
    pub loss: f64,
    /// The fault of connections.
    pub fault: Option<LinkFault>,
    /// Number of further connections with the fault.
    pub faulty_connections: u64,
}

/// A fault of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkFault {
    /// It is closed immediately.
    Refuse,
    /// It is closed after this number of bytes to the client.
    CloseAfter(u64),
    /// The traffic stops after this number of bytes to the client.
    StallAfter(u64),
}

/// A proxy on the loopback interface; dropping it stops it and closes its connections.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<ProxyState>,
    task: AbortHandle,
}

#[derive(Debug)]
struct ProxyState {
    server: SocketAddr,
    link: Mutex<EmulatedLink>,
    stats: Stats,
    up: Pacer,
    down: Pacer,
    /// Limit of bytes per second to clients.
    throttle: watch::Sender<Option<u64>>,
    throttled: Pacer,
}

impl Proxy {
    /// Starts a proxy for a server, on a port that this process has not used before.
    ///
    /// # Errors
    /// Those of binding a socket.
    pub async fn start(server: SocketAddr, link: EmulatedLink) -> io::Result<Proxy> {
        let listener = listen().await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(ProxyState {
            server,
            link: Mutex::new(link),
            stats: Stats::default(),
            up: Pacer::default(),
            down: Pacer::default(),
            throttle: watch::Sender::new(None),
            throttled: Pacer::default(),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared))).abort_handle();
        Ok(Proxy { address, shared, task })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path, which begins with a slash.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Changes the link for new connections.
    pub fn change(&self, change: impl FnOnce(&mut EmulatedLink)) {
        change(&mut self.shared.link.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Limits the bytes per second to clients, over all connections, including existing ones. 0 stops the traffic, `None`
    /// ends the limit.
    pub fn throttle(&self, bytes_per_second: Option<u64>) {
        self.shared.throttle.send_replace(bytes_per_second);
    }

    /// Its counts.
    pub fn stats(&self) -> &Stats {
        &self.shared.stats
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Computes when bytes have passed a link of limited bandwidth.
#[derive(Debug, Default)]
struct Pacer {
    free: Mutex<Option<Instant>>,
}

impl Pacer {
    /// The time when `bytes` that arrive now have passed, after all earlier ones.
    fn pass(&self, bytes: usize, megabits: Option<f64>) -> Instant {
        let now = Instant::now();
        let Some(megabits) = megabits.filter(|&megabits| megabits > 0.0) else { return now };
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = free.map_or(now, |free| free.max(now));
        let end = begin + Duration::from_secs_f64(bytes as f64 * 8.0 / (megabits * 1e6));
        *free = Some(end);
        end
    }
}

/// A connection; both directions share it.
struct Connection {
    shared: Arc<ProxyState>,
    link: EmulatedLink,
    accepted: Instant,
    wait: Mutex<Option<RequestDepth>>,
    to_client: AtomicU64,
}

/// Waits more precisely than the timers of tokio, which have a resolution of one millisecond.
async fn pause_until(moment: Instant) {
    const LATE: Duration = Duration::from_millis(2);
    // The typical delay of a sleeping thread.
    const SLACK: Duration = Duration::from_micros(60);
    if moment.saturating_duration_since(Instant::now()) > LATE {
        sleep_until(moment - LATE).await;
    }
    let left = moment.saturating_duration_since(Instant::now()).saturating_sub(SLACK);
    if !left.is_zero() {
        // Fails only when the runtime ends.
        let _ = spawn_blocking(move || std::thread::sleep(left)).await;
    }
}

async fn accept(listener: TcpListener, shared: Arc<ProxyState>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        add(&shared.stats.connections, 1);
        let link = {
            let mut link = shared.link.lock().unwrap_or_else(PoisonError::into_inner);
            let fault = link.fault.filter(|_| link.faulty_connections > 0);
            link.faulty_connections = link.faulty_connections.saturating_sub(1);
            EmulatedLink { fault, ..*link }
        };
        if link.fault != Some(LinkFault::Refuse) {
            connections.spawn(connect(client, Arc::clone(&shared), link));
        }
        while connections.try_join_next().is_some() {}
    }
}

/// Serves one connection until either side ends it, which is not an error.
async fn connect(client: TcpStream, shared: Arc<ProxyState>, link: EmulatedLink) -> io::Result<()> {
    let accepted = Instant::now();
    let server = TcpStream::connect(shared.server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let connection =
        Connection { shared, link, accepted, wait: Mutex::new(None), to_client: AtomicU64::new(0) };
    let up = connection.pass(from_client, to_server, Direction::Up);
    let down = connection.pass(from_server, to_client, Direction::Down);
    // A client that has sent everything may still wait for the answer, so both must end; but an error in one, such as a
    // fault of the link, ends both.
    futures::try_join!(up, down).map(|_| ())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

impl Connection {
    async fn pass(
        &self,
        from: impl AsyncRead + Unpin,
        to: impl AsyncWrite + Unpin,
        direction: Direction,
    ) -> io::Result<()> {
        let (sender, receiver) = mpsc::channel(IN_FLIGHT);
        futures::try_join!(self.receive(from, sender, direction), self.release(receiver, to, direction))?;
        Ok(())
    }

    /// Schedules when to pass on each chunk.
    async fn receive(
        &self,
        mut from: impl AsyncRead + Unpin,
        sender: mpsc::Sender<(Instant, Bytes)>,
        direction: Direction,
    ) -> io::Result<()> {
        let number = self.shared.stats.snapshot().connections;
        let mut flow = Flow::new(self.link.window, self.link.loss, number);
        loop {
            let most = flow.as_ref().map_or(CHUNK, |flow| flow.chunk().min(CHUNK));
            let mut chunk = BytesMut::with_capacity(CHUNK).limit(most);
            let len = from.read_buf(&mut chunk).await?;
            if let Some(flow) = &mut flow {
                pause_until(flow.admit(len, Instant::now())).await;
            }
            let passed = match direction {
                Direction::Up => {
                    self.asked(len);
                    // On a real link, the handshake would have taken one round trip.
                    let connected = self.accepted + self.link.round_trip;
                    self.shared.up.pass(len, self.link.megabits).max(connected)
                }
                Direction::Down => self.shared.down.pass(len, self.link.megabits),
            };
            let arrival = passed + self.link.round_trip / 2;
            if let Some(flow) = &mut flow {
                flow.sent(len, arrival, self.link.round_trip);
            }
            // An empty chunk marks the end.
            let sent = sender.send((arrival, chunk.into_inner().freeze())).await;
            if len == 0 || sent.is_err() {
                return Ok(());
            }
        }
    }

    /// Passes on each chunk at its scheduled time.
    async fn release(
        &self,
        mut receiver: mpsc::Receiver<(Instant, Bytes)>,
        mut to: impl AsyncWrite + Unpin,
        direction: Direction,
    ) -> io::Result<()> {
        while let Some((moment, mut chunk)) = receiver.recv().await {
            pause_until(moment).await;
            if direction == Direction::Down {
                chunk = self.faulty(chunk, &mut to).await?;
            }
            if chunk.is_empty() {
                break;
            }
            match direction {
                Direction::Up => to.write_all(&chunk).await?,
                Direction::Down => self.answer(chunk, &mut to).await?,
            }
        }
        to.shutdown().await
    }

    /// Passes bytes to the client, within the current limit.
    async fn answer(&self, mut chunk: Bytes, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        while !chunk.is_empty() {
            let rate = *self.shared.throttle.borrow();
            let mut len = chunk.len();
            if let Some(rate) = rate {
                let most = usize::try_from(rate / TRICKLES_PER_SECOND).unwrap_or(usize::MAX);
                len = len.min(most.max(1));
                let mut changes = self.shared.throttle.subscribe();
                let other = changes.wait_for(|now| *now != Some(rate));
                if tokio::time::timeout_at(self.throttled_until(len, rate), other).await.is_ok() {
                    continue;
                }
            }
            self.answered(len);
            to.write_all(&chunk.split_to(len)).await?;
        }
        Ok(())
    }

    /// When this many bytes have passed.
    fn throttled_until(&self, len: usize, rate: u64) -> Instant {
        const LONG: Duration = Duration::from_secs(86_400);
        match rate {
            0 => Instant::now() + LONG,
            rate => self.shared.throttled.pass(len, Some(rate as f64 * 8e-6)),
        }
    }

    fn asked(&self, len: usize) {
        add(&self.shared.stats.bytes_received, len);
        let mut wait = self.wait.lock().unwrap_or_else(PoisonError::into_inner);
        if len > 0 && wait.is_none() {
            *wait = Some(self.shared.stats.round_trips.asked());
        }
    }

    fn answered(&self, len: usize) {
        add(&self.shared.stats.bytes_sent, len);
        let mut wait = self.wait.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wait) = wait.take_if(|_| len > 0) {
            self.shared.stats.round_trips.answered(wait);
        }
    }

    /// Passes a chunk to the client, or executes the fault of the link.
    async fn faulty(&self, chunk: Bytes, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<Bytes> {
        let before = self.to_client.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        let (Some(LinkFault::CloseAfter(limit)) | Some(LinkFault::StallAfter(limit))) = self.link.fault
        else {
            return Ok(chunk);
        };
        let left = usize::try_from(limit.saturating_sub(before)).unwrap_or(usize::MAX);
        if chunk.len() <= left {
            return Ok(chunk);
        }
        to.write_all(&chunk.slice(..left)).await?;
        if matches!(self.link.fault, Some(LinkFault::StallAfter(_))) {
            std::future::pending::<()>().await;
        }
        Err(io::Error::other("closed by the emulated fault"))
    }
}
