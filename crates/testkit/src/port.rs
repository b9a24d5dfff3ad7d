//! Ports that are not given twice: clients remember, for as long as they run, what the server of an address can do.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, PoisonError};
use tokio::net::TcpListener;

static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// Listens on a free port of the loopback interface that none of this process listened on before.
pub(crate) async fn listen() -> io::Result<TcpListener> {
    // Those that were given before stay taken meanwhile, so that another comes each time.
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
    async fn no_port_comes_twice() {
        let mut ports = BTreeSet::new();
        for _ in 0..3000 {
            // It is free again at once.
            let port = listen().await.unwrap().local_addr().unwrap().port();
            assert!(ports.insert(port));
        }
    }
}
