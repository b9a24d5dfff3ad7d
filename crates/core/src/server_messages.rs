//! How many messages went to which server.

use std::sync::{Mutex, PoisonError};

/// The messages to one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessagesTo {
    /// The server, as `host:port`; `None` for local files.
    pub server: Option<String>,
    /// Messages sent to it.
    pub requests: u64,
    /// Byte ranges in those messages.
    pub ranges: u64,
}

/// The messages to each server, in the order of the first ones.
#[derive(Debug, Default)]
pub struct ServerMessages(Mutex<Vec<MessagesTo>>);

impl ServerMessages {
    /// Adds to the messages to a server.
    pub(crate) fn add(&self, server: Option<&str>, requests: u64, ranges: u64) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Few: a file has a handful of servers.
        match known.iter_mut().find(|known| known.server.as_deref() == server) {
            Some(known) => {
                known.requests += requests;
                known.ranges += ranges;
            }
            None => known.push(MessagesTo { server: server.map(str::to_owned), requests, ranges }),
        }
    }

    /// The messages so far.
    pub fn entries(&self) -> Vec<MessagesTo> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
