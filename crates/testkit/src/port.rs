//! Ports that are never reused: clients remember the abilities of each server address.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, PoisonError};
use tokio::net::TcpListener;

static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// Listens on a free loopback port that this process has not used before.
pub(crate) async fn listen() -> io::Result<TcpListener> {
    // Used ports stay open in the meantime, so that each try yields another one.
    let mut others = Vec::new();
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        if GIVEN.lock().unwrap_or_else(PoisonError::into_inner).insert(port) {
            return Ok(listener);
        }
        others.push(listener);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_port_is_reused() {
        let mut ports = BTreeSet::new();
        for _ in 0..3000 {
            // Dropping the listener frees the port at once.
            let port = listen().await.unwrap().local_addr().unwrap().port();
            assert!(ports.insert(port));
        }
    }
}
