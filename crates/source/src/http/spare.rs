//! Connections made ahead of need: from afar, a new one costs a reader as much as an answer, or more.

use super::remote::Remote;
use super::{CONCURRENCY, CONCURRENCY_OF_SINGLE_RANGES};
use std::future::Future;
use std::pin::pin;
use std::time::Duration;
use tokio::time::timeout;

/// A server that has not answered for this long is far, or slow.
const FAR: Duration = Duration::from_millis(60);

/// The same for an object store: most are far, and all are slow to begin.
const FAR_STORE: Duration = Duration::from_millis(20);

/// Connections to an object store, where every range is a request of its own.
const TO_STORES: usize = 64;

/// Waits for the first answer of a server. While it is on its way from afar, connections are made that the reads after
/// it will find; once a minute for each server, however many files are opened.
///
/// A connection is made by asking for a single byte: HTTP has no smaller request that all servers answer.
pub(super) async fn beside<T>(remote: &Remote, first: impl Future<Output = T>) -> T {
    let is_store = remote.concurrency > CONCURRENCY_OF_SINGLE_RANGES;
    let (far, count) = if is_store { (FAR_STORE, TO_STORES) } else { (FAR, CONCURRENCY) };
    let mut first = pin!(first);
    if let Ok(answer) = timeout(far, &mut first).await {
        return answer;
    }
    if remote.server().wants_spares() {
        for _ in 0..count {
            // Nobody waits for it. It ends by itself, at the latest when the server was silent for too long.
            match remote.knock().await {
                Some(knock) => drop(tokio::spawn(knock)),
                None => break,
            }
        }
    }
    first.await
}
