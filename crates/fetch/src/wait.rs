//! Waiting in blocking code, in a way that the user can interrupt.

use sapwood_core::{Call, Error, ErrorKind, Result};
use std::future::Future;
use std::pin::pin;
use std::time::Duration;
use tokio::runtime::Handle;

/// How often a wait checks for interrupts.
const HEARTBEAT: Duration = Duration::from_millis(100);

/// Blocks until `future` is done, and returns its result.
///
/// Checks every 100 ms, and once at the start, whether the call is interrupted: Python checks for Ctrl-C there.
/// Giving up drops the future, which cancels it. Must not be called inside an asynchronous task.
///
/// # Errors
/// Those of the future; `Timeout` after the deadline of the call; `Cancelled` if it is interrupted.
pub fn wait<T>(handle: &Handle, future: impl Future<Output = Result<T>>, call: &mut Call<'_>) -> Result<T> {
    let deadline = call.deadline();
    handle.block_on(async {
        let mut future = pin!(future);
        loop {
            call.check()?;
            // Polls the future before it looks at the clock, so that an available result is returned.
            match tokio::time::timeout(HEARTBEAT.min(deadline.remaining()), &mut future).await {
                Ok(done) => return done,
                Err(_) if deadline.has_passed() => return Err(late()),
                Err(_) => {}
            }
        }
    })
}

/// The error of a wait that took too long.
pub(crate) fn late() -> Error {
    Error::new(ErrorKind::Timeout, "no answer before the deadline")
        .hint("ask for a later deadline if the connection is slow")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::Deadline;
    use std::future::{pending, ready};
    use std::time::Instant;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap()
    }

    #[test]
    fn available_results_are_returned_even_after_the_deadline() {
        let runtime = runtime();
        let (past, mut never) = (Deadline::after(Duration::ZERO), || false);
        let mut call = Call::new(past, &mut never);
        assert_eq!(wait(runtime.handle(), ready(Ok(7)), &mut call).unwrap(), 7);
    }

    #[test]
    fn the_deadline_ends_the_wait() {
        let (runtime, start) = (runtime(), Instant::now());
        let (soon, mut never) = (Deadline::after(Duration::from_millis(50)), || false);
        let error = wait::<()>(runtime.handle(), pending(), &mut Call::new(soon, &mut never)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn an_interruption_ends_the_wait() {
        let (runtime, mut beats) = (runtime(), 0);
        let mut interrupted = || {
            beats += 1;
            beats > 2
        };
        let error =
            wait::<()>(runtime.handle(), pending(), &mut Call::new(Deadline::default(), &mut interrupted))
                .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(beats, 3);
    }
}
