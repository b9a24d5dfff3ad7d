//! Work in the background.

use crate::pool::{runtime, wait};
use sapwood_core::{Call, Error, ErrorKind, Result};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::JoinHandle;

/// Work in the background that returns a `T`.
#[derive(Debug)]
pub struct Background<T> {
    task: JoinHandle<T>,
    cancelled: Arc<AtomicBool>,
    /// The process whose thread does the work.
    owner: u32,
}

impl<T: Send + 'static> Background<T> {
    /// Begins the work on a thread that may wait for computing threads. Dropping the handle sets the flag that `work`
    /// gets, which should then return early.
    ///
    /// # Errors
    /// `Io` if no threads can be started.
    pub fn begin(work: impl FnOnce(&AtomicBool) -> T + Send + 'static) -> Result<Self> {
        let cancelled = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&cancelled);
        let task = runtime()?.spawn_blocking(move || work(&flag));
        Ok(Background { task, cancelled, owner: process::id() })
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// `Usage` in a fork of the process that began it; `Timeout`; `Cancelled` if the call is interrupted.
    pub fn finish(mut self, call: &mut Call<'_>) -> Result<T> {
        if self.owner != process::id() {
            return Err(Error::usage("this read was begun by the parent process, before the fork")
                .hint("begin the read again in this process"));
        }
        let task = &mut self.task;
        let done = async {
            task.await
                .map_err(|error| Error::new(ErrorKind::Io, "a background thread panicked").caused_by(error))
        };
        wait(done, call)
    }
}

impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::Deadline;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn finish_returns_the_result() {
        let work = Background::begin(|_| 7).unwrap();
        assert_eq!(work.finish(&mut Call::new(Deadline::default(), &mut || false)).unwrap(), 7);
    }

    #[test]
    fn a_timeout_or_an_interruption_ends_the_work() {
        for (patience, interrupted, kind) in [
            (Duration::from_millis(20), false, ErrorKind::Timeout),
            (Duration::from_secs(600), true, ErrorKind::Cancelled),
        ] {
            let (ended, end) = channel();
            let work = Background::begin(move |cancelled| {
                while !cancelled.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                ended.send(()).unwrap();
            });
            let error = work
                .unwrap()
                .finish(&mut Call::new(Deadline::after(patience), &mut || interrupted))
                .unwrap_err();
            assert_eq!(error.kind(), kind);
            end.recv_timeout(Duration::from_secs(60)).unwrap();
        }
    }

    #[test]
    fn a_panic_is_an_error() {
        let work = Background::begin(|_| -> u8 { panic!("on purpose") }).unwrap();
        assert_eq!(
            work.finish(&mut Call::new(Deadline::default(), &mut || false)).unwrap_err().kind(),
            ErrorKind::Io
        );
    }
}
