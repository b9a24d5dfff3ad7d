//! One fetch that is under way: whoever needs its bytes waits for it; when nobody does, it is abandoned.

use sapwood_core::{Error, Result};
use std::sync::{Mutex, OnceLock, PoisonError};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A fetch, or a piece of work, that others wait for.
#[derive(Debug)]
pub(super) struct Flight {
    done: watch::Sender<bool>,
    error: Mutex<Option<Error>>,
    task: OnceLock<Task>,
}

/// A task that is abandoned when dropped.
#[derive(Debug)]
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Flight {
    pub(super) fn new() -> Self {
        Flight { done: watch::Sender::new(false), error: Mutex::default(), task: OnceLock::new() }
    }

    /// The task that does it: it is abandoned when the flight is dropped.
    pub(super) fn carried_by(&self, task: JoinHandle<()>) {
        // Set once, by who made the flight.
        let _ = self.task.set(Task(task));
    }

    /// True for a fetch: a task carries it.
    pub(super) fn is_fetch(&self) -> bool {
        self.task.get().is_some()
    }

    /// It is over; whoever waits goes on.
    pub(super) fn end(&self, error: Option<Error>) {
        *self.error.lock().unwrap_or_else(PoisonError::into_inner) = error;
        self.done.send_replace(true);
    }

    pub(super) fn is_done(&self) -> bool {
        *self.done.borrow()
    }

    /// True if nobody waits for it.
    pub(super) fn is_unwatched(&self) -> bool {
        self.done.receiver_count() == 0
    }

    /// Its error, if it failed.
    pub(super) fn failure(&self) -> Option<Error> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Error::copy)
    }

    /// Returns when it is over.
    pub(super) async fn over(&self) -> Result<()> {
        // The sender lives as long as the flight, so that waiting cannot fail.
        let _ = self.done.subscribe().wait_for(|done| *done).await;
        Ok(())
    }
}
