//! Retries: one policy for all protocols.

use sapwood_core::{Counters, Deadline, Error, Result, SourceEvent, redact, server_of};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The target of log messages about sources: the name of Python's logger for them.
pub const LOG: &str = "sapwood.source";

/// How often a call repeats requests that failed for a reason that may pass, and after which pauses.
///
/// Every protocol uses the same policy: HTTP, XRootD and object stores. A retry asks only for what did not come, and no
/// retry begins after the deadline of its call. Before retry `n` (from 1) a call waits for the pause that the server asks for,
/// if it does, and for a random part of `backoff` times 2 to the power `n - 1`, so that clients that failed together
/// do not come back together.
///
/// ```
/// use sapwood_source::{SourceOptions, RetryPolicy};
/// use std::time::Duration;
/// let retry = RetryPolicy { tries: 8, budget: Duration::from_secs(120), ..RetryPolicy::default() };
/// let options = SourceOptions { retry, ..SourceOptions::default() };
/// assert_eq!(options.retry.backoff, Duration::from_millis(250));
/// assert_eq!(RetryPolicy::NEVER.tries, 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Most times that one call tries, the first time included. Default: 4.
    pub tries: u32,
    /// Longest random pause before the first retry; it doubles with each. Default: 250 ms.
    pub backoff: Duration,
    /// Longest pause that is accepted from a server (`Retry-After`). Default: 60 s.
    pub longest_pause: Duration,
    /// Time after the first failure of a call in which its retries begin. Default: one hour.
    pub budget: Duration,
}

impl RetryPolicy {
    /// No retries.
    pub const NEVER: RetryPolicy = RetryPolicy {
        tries: 1,
        backoff: Duration::ZERO,
        longest_pause: Duration::ZERO,
        budget: Duration::ZERO,
    };

    /// Most retries of one call.
    pub(crate) fn retries(&self) -> u32 {
        self.tries.saturating_sub(1)
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy {
            tries: 4,
            backoff: Duration::from_millis(250),
            longest_pause: Duration::from_secs(60),
            budget: Deadline::DEFAULT,
        }
    }
}

/// Logs an event at a source of the file at `url`: to the event log of the file, and as a warning.
pub fn log_event(counters: &Counters, url: &str, server: Option<&str>, event: SourceEvent, text: &str) {
    counters.events.log(server, event, text);
    log::warn!(target: LOG, "{}: {} {}: {text}", redact(url), server.unwrap_or("a source"), event.name());
}

tokio::task_local! {
    /// Set inside [`without_retries`].
    static WITHOUT_RETRIES: ();
}

/// Runs a read that repeats nothing, for callers that have other sources to ask, and decide themselves when to try this
/// one again. Its error holds the pause that the server asks for, if it does.
pub fn without_retries<F: Future>(read: F) -> impl Future<Output = F::Output> {
    WITHOUT_RETRIES.scope((), read)
}

/// The retries of one call, each counted and logged.
#[derive(Debug)]
pub struct Retries {
    policy: RetryPolicy,
    counters: Arc<Counters>,
    /// What is read, without secrets.
    name: String,
    deadline: Deadline,
    count: u32,
    first_failure: Option<Instant>,
    /// Inside [`without_retries`].
    disabled: bool,
}

impl Retries {
    /// The retries of a call about what is called `name`, which holds no secrets.
    pub fn new(policy: RetryPolicy, counters: &Arc<Counters>, name: &str, deadline: Deadline) -> Self {
        let (counters, disabled) = (Arc::clone(counters), WITHOUT_RETRIES.try_with(|()| ()).is_ok());
        let (name, first_failure) = (name.to_owned(), None);
        Retries { policy, counters, name, deadline, count: 0, first_failure, disabled }
    }

    /// Waits before the next try, at least for the pause that the server asks for (`asked`).
    ///
    /// # Errors
    /// `error`, if there were enough tries, or if the next would begin too late.
    pub async fn pause(&mut self, error: Error, asked: Option<Duration>) -> Result<()> {
        let RetryPolicy { tries, backoff, longest_pause, budget } = self.policy;
        let asked = asked.map(|asked| asked.min(longest_pause));
        if self.disabled {
            return Err(asked.into_iter().fold(error, Error::pause));
        }
        let retries = self.policy.retries();
        if self.count >= retries {
            let times = if tries == 1 { "once".to_owned() } else { format!("{tries} times") };
            return Err(error.hint(format!("it was tried {times}; try again later")));
        }
        let longest = backoff.saturating_mul(2_u32.saturating_pow(self.count));
        let pause = asked.unwrap_or_default() + longest.mul_f64(fastrand::f64());
        let since = self.first_failure.get_or_insert_with(Instant::now).elapsed();
        if pause >= self.deadline.remaining() || since + pause > budget {
            return Err(match asked {
                Some(asked) => {
                    let seconds = asked.as_secs();
                    error.hint(format!("the server asks to come back in {seconds} s: after the deadline"))
                }
                None => error,
            });
        }
        self.count += 1;
        self.counters.retry(&error);
        self.counters.events.log(server_of(&self.name).as_deref(), SourceEvent::Retried, error.message());
        let (name, count, seconds) = (&self.name, self.count, pause.as_secs_f32());
        log::warn!(target: LOG, "{name}: {error}; retry {count} of {retries} in {seconds:.2} s");
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::ErrorKind;

    const MOST: u32 = 3;

    fn error() -> Error {
        Error::new(ErrorKind::Network, "the connection failed")
    }

    #[tokio::test]
    async fn they_are_few_and_counted() {
        let counters = Arc::<Counters>::default();
        let mut retries = Retries::new(RetryPolicy::default(), &counters, "f", Deadline::default());
        for _ in 0..MOST {
            retries.pause(error(), None).await.unwrap();
        }
        assert!(retries.pause(error(), None).await.is_err());
        assert_eq!(counters.snapshot().retries, u64::from(MOST));
        let events = counters.events.entries();
        assert_eq!((events.len(), events[0].times), (1, u64::from(MOST)));
        assert_eq!(
            (events[0].event, events[0].text.as_str()),
            (SourceEvent::Retried, "the connection failed")
        );
    }

    #[tokio::test]
    async fn retries_can_be_disabled() {
        let counters = Arc::<Counters>::default();
        let asked = Some(Duration::from_secs(7));
        let ask = async {
            Retries::new(RetryPolicy::default(), &counters, "f", Deadline::default())
                .pause(error(), asked)
                .await
        };
        assert_eq!(without_retries(ask).await.unwrap_err().asked_pause(), asked);
        assert!(counters.snapshot().retries == 0 && counters.events.entries().is_empty());
    }

    #[tokio::test]
    async fn a_pause_that_the_server_asks_for_is_kept() {
        let mut retries = Retries::new(RetryPolicy::default(), &Arc::default(), "f", Deadline::default());
        let begin = Instant::now();
        retries.pause(error(), Some(Duration::from_millis(50))).await.unwrap();
        assert!(begin.elapsed() >= Duration::from_millis(50));
    }

    #[tokio::test]
    async fn a_retry_that_would_come_too_late_is_not_waited_for() {
        let counters = Arc::<Counters>::default();
        let mut retries =
            Retries::new(RetryPolicy::default(), &counters, "f", Deadline::after(Duration::from_secs(9)));
        let failure = retries.pause(error(), Some(Duration::from_secs(60))).await.unwrap_err();
        assert_eq!(failure.kind(), ErrorKind::Network);
        assert!(failure.to_string().contains("in 60 s"), "{failure}");
        assert_eq!(counters.snapshot().retries, 0);
    }

    #[tokio::test]
    async fn a_budget_bounds_the_retries() {
        let policy = RetryPolicy { budget: Duration::from_millis(50), ..RetryPolicy::default() };
        let mut retries = Retries::new(policy, &Arc::default(), "f", Deadline::default());
        assert!(retries.pause(error(), Some(Duration::from_secs(1))).await.is_err());
        assert!(
            Retries::new(RetryPolicy::NEVER, &Arc::default(), "f", Deadline::default())
                .pause(error(), None)
                .await
                .is_err()
        );
    }
}
