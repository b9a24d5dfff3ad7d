//! Connections made ahead of need: at a long distance, a new one costs a reader as much as an answer, or more.

use super::exchange::{Exchange, Message};
use super::header::range_value;
use super::limits::CONCURRENCY;
use super::server::{Server, SpareMaker};
use bytes::Bytes;
use futures::future::{Either, select};
use reqwest::header::{HeaderMap, HeaderValue, RANGE};
use reqwest::{Method, Url};
use sapwood_core::ByteRange;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// A server that has not answered for this long is distant, or slow.
const FAR: Duration = Duration::from_millis(60);

/// If the first answer, including the connection, takes this long, it pays to wait for connections that are being
/// made.
const FIRST_FAR: Duration = Duration::from_millis(3 * 60);

/// The same for an object store: most are distant, and all are slow to begin.
const FAR_STORE: Duration = Duration::from_millis(20);

/// An object store that has not answered for this long is so distant that reads are much faster if they find
/// connections.
const FAR_AWAY_STORE: Duration = Duration::from_millis(30);

/// Further connections to such a store: with the first ones, as many as a read of some branches uses.
const FURTHER: usize = 64;

/// The environment variable for the number of connections made ahead: 0 for none.
const MOST_VARIABLE: &str = "SAPWOOD_CONNECTIONS_AHEAD";

/// Most connections made ahead.
static MOST: LazyLock<usize> = LazyLock::new(|| {
    let Some(value) = std::env::var_os(MOST_VARIABLE) else { return CONCURRENCY + FURTHER };
    value
        .to_str()
        .and_then(|value| value.parse().ok())
        .map_or(CONCURRENCY + FURTHER, |value: usize| value.min(CONCURRENCY + FURTHER))
});

/// A server, and an object on it to request.
pub(super) struct Route<'a> {
    pub(super) exchange: &'a Exchange,
    pub(super) url: Url,
    pub(super) server: Arc<Server>,
    /// True if the server is that of a store, which is many machines.
    pub(super) is_store: bool,
    /// Requests that may be in flight together.
    pub(super) concurrency: usize,
}

/// Waits for the first answer of a server. If it is distant, this makes connections for the reads that follow; once a
/// minute for each server, however many files are opened. They are few, since a thousand jobs may do this at the same
/// time. For a distant store they are more: it is many machines, and a read would make them anyway.
///
/// A connection is made by requesting a single byte: HTTP has no smaller request that all servers answer.
pub(super) async fn beside<T>(way: Route<'_>, first: impl Future<Output = T>) -> T {
    let far = if way.is_store { FAR_STORE } else { FAR };
    let mut first = pin!(first);
    if let Ok(answer) = timeout(far, &mut first).await {
        return answer;
    }
    let Some(making) = Some(&way.server).filter(|_| *MOST > 0).and_then(|server| server.wants_spares())
    else {
        return first.await;
    };
    // Together, since signing a request may have to wait for what the first request finds out.
    match select(first, pin!(knock(&way, making))).await {
        Either::Left((answer, _)) => answer,
        Either::Right(((), first)) => first.await,
    }
}

async fn knock(way: &Route<'_>, making: Arc<SpareMaker>) {
    make(way, CONCURRENCY.min(*MOST), &making).await;
    if way.is_store && *MOST > CONCURRENCY {
        sleep(FAR_AWAY_STORE - FAR_STORE).await;
        make(way, FURTHER.min(way.concurrency / 2).min(*MOST - CONCURRENCY), &making).await;
    }
}

async fn make(way: &Route<'_>, connections: usize, making: &Arc<SpareMaker>) {
    let mut headers = HeaderMap::new();
    if let Ok(first) = HeaderValue::try_from(range_value(&[ByteRange { start: 0, len: 1 }], None)) {
        headers.insert(RANGE, first);
    }
    let message = Message { method: Method::GET, headers, body: Bytes::new(), ranges: 1 };
    for _ in 0..connections {
        let Some(knock) = way.exchange.knock(&way.url, &message).await else { return };
        Arc::clone(making).make(knock);
    }
}

/// Waits for one of the connections that are being made, if it will be there sooner than one that would be made now:
/// they were begun soon after the first request, whose answer took `first_answer`.
pub(super) async fn made(server: &Server, first_answer: Duration) {
    if first_answer > FIRST_FAR {
        server.spare_made(first_answer * 4 / 3).await;
    }
}
