//! A fetch in flight: threads that need its bytes wait for it; when none does, it is cancelled.

use sapwood_core::{Error, Result};
use std::sync::{Mutex, OnceLock, PoisonError};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A fetch, or some decoding, that other threads wait for.
#[derive(Debug)]
pub(super) struct Flight {
    done: watch::Sender<bool>,
    error: Mutex<Option<Error>>,
    task: OnceLock<Task>,
}

/// A task that is cancelled when dropped.
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

    /// Sets the task that carries it out: it is cancelled when the flight is dropped.
    pub(super) fn carried_by(&self, task: JoinHandle<()>) {
        // Set once, by the creator of the flight.
        let _ = self.task.set(Task(task));
    }

    /// True for a fetch: a task carries it out.
    pub(super) fn is_fetch(&self) -> bool {
        self.task.get().is_some()
    }

    /// Ends it and wakes the waiting threads.
    pub(super) fn end(&self, error: Option<Error>) {
        *self.error.lock().unwrap_or_else(PoisonError::into_inner) = error;
        self.done.send_replace(true);
    }

    pub(super) fn is_done(&self) -> bool {
        *self.done.borrow()
    }

    /// True if no thread waits for it.
    pub(super) fn is_unwatched(&self) -> bool {
        self.done.receiver_count() == 0
    }

    /// Its error, if it failed.
    pub(super) fn failure(&self) -> Option<Error> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Error::copy)
    }

    /// Returns when it has ended.
    pub(super) async fn over(&self) -> Result<()> {
        // The sender lives as long as the flight, so that waiting cannot fail.
        let _ = self.done.subscribe().wait_for(|done| *done).await;
        Ok(())
    }
}
