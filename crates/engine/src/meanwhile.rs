//! Work that goes on while its owner does something else.

use crate::Interrupt;
use crate::pool::runtime;
use sapwood_core::{Deadline, Error, ErrorKind, Result};
use sapwood_fetch::wait;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::JoinHandle;

/// Work that goes on, and in the end gives a `T`.
#[derive(Debug)]
pub(crate) struct Meanwhile<T> {
    task: JoinHandle<T>,
    cancelled: Arc<AtomicBool>,
    /// The process whose threads do it.
    owner: u32,
}

impl<T: Send + 'static> Meanwhile<T> {
    /// Begins it, on a thread that may wait for the computing ones. When this is dropped, the flag that `work` is given
    /// is set: it should then end early.
    ///
    /// # Errors
    /// `Io` if no threads can be started.
    pub(crate) fn begin(work: impl FnOnce(&AtomicBool) -> T + Send + 'static) -> Result<Self> {
        let cancelled = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&cancelled);
        let task = runtime()?.spawn_blocking(move || work(&flag));
        Ok(Meanwhile { task, cancelled, owner: process::id() })
    }

    /// Waits for what it gives.
    ///
    /// # Errors
    /// `Usage` in a fork of the process that began it; `Timeout`; `Cancelled` if `interrupt` says so.
    pub(crate) fn finish(mut self, deadline: Deadline, interrupt: Interrupt<'_>) -> Result<T> {
        if self.owner != process::id() {
            return Err(Error::usage("this was begun by another process, of which this one is a fork")
                .hint("begin it in the process that goes on with it"));
        }
        let task = &mut self.task;
        let done = async {
            task.await.map_err(|error| {
                Error::new(ErrorKind::Io, "a thread broke down in its work").caused_by(error)
            })
        };
        wait(&runtime()?, done, deadline, interrupt)
    }
}

impl<T> Drop for Meanwhile<T> {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn what_it_gives_is_there_when_it_is_asked_for() {
        let work = Meanwhile::begin(|_| 7).unwrap();
        assert_eq!(work.finish(Deadline::default(), &mut || false).unwrap(), 7);
    }

    #[test]
    fn who_waits_too_long_or_is_interrupted_is_told_so_and_the_work_ends() {
        for (patience, interrupted, kind) in [
            (Duration::from_millis(20), false, ErrorKind::Timeout),
            (Duration::from_secs(600), true, ErrorKind::Cancelled),
        ] {
            let (ended, end) = channel();
            let work = Meanwhile::begin(move |cancelled| {
                while !cancelled.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                ended.send(()).unwrap();
            });
            let error = work.unwrap().finish(Deadline::after(patience), &mut || interrupted).unwrap_err();
            assert_eq!(error.kind(), kind);
            end.recv_timeout(Duration::from_secs(60)).unwrap();
        }
    }

    #[test]
    fn what_breaks_down_is_an_error() {
        let work = Meanwhile::begin(|_| -> u8 { panic!("on purpose") }).unwrap();
        assert_eq!(work.finish(Deadline::default(), &mut || false).unwrap_err().kind(), ErrorKind::Io);
    }
}
