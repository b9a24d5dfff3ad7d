//! Connections made ahead of need: from afar, a new one costs a reader as much as an answer, or more.

use super::remote::Remote;
use super::{CONCURRENCY, CONCURRENCY_OF_SINGLE_RANGES};
use futures::future::{Either, select};
use std::future::Future;
use std::pin::pin;
use std::time::Duration;
use tokio::time::timeout;

/// A server that has not answered for this long is far, or slow.
const FAR: Duration = Duration::from_millis(60);

/// The same for an object store: most are far, and all are slow to begin.
const FAR_STORE: Duration = Duration::from_millis(20);

/// Waits for the first answer of a server. While it is on its way from afar, connections are made that the reads after
/// it will find; once a minute for each server, however many files are opened. They are few: a thousand jobs may do this
/// at the same time.
///
/// A connection is made by asking for a single byte: HTTP has no smaller request that all servers answer.
pub(super) async fn beside<T>(remote: &Remote, first: impl Future<Output = T>) -> T {
    let is_store = remote.concurrency > CONCURRENCY_OF_SINGLE_RANGES;
    let far = if is_store { FAR_STORE } else { FAR };
    let mut first = pin!(first);
    if let Ok(answer) = timeout(far, &mut first).await {
        return answer;
    }
    if !remote.server().wants_spares() {
        return first.await;
    }
    // Together: to sign a request may have to wait for what the first one is about to find out.
    match select(first, pin!(knock(remote))).await {
        Either::Left((answer, _)) => answer,
        Either::Right(((), first)) => first.await,
    }
}

async fn knock(remote: &Remote) {
    for _ in 0..CONCURRENCY {
        let Some(knock) = remote.knock().await else { return };
        // Nobody waits for it. It ends by itself, at the latest when the server was silent for too long.
        drop(tokio::spawn(knock));
    }
}
