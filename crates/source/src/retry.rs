//! The one policy of repeating what failed for a reason that may pass, for all protocols.

use crate::redact;
use crate::server::server_of;
use sapwood_core::{Counters, Deadline, Error, Event, Result};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// The target of what is logged about sources: the name of Python's logger for it.
pub const LOG: &str = "sapwood.source";

/// Tells of what happened at a source of the file at `url`: in the file's story, and by a line of the log.
pub fn tell(counters: &Counters, url: &str, server: Option<&str>, event: Event, text: &str) {
    counters.story.tell(server, event, text);
    log::warn!(target: LOG, "{}: {} {}: {text}", redact(url), server.unwrap_or("a source"), event.name());
}

tokio::task_local! {
    /// Set while what is asked is asked [`once`].
    static ONCE: ();
}

/// A read that repeats nothing: for those who have other sources to ask, and decide by themselves when this one is
/// asked again. Its error says how long the server wants to be left alone, if it does.
pub fn once<F: Future>(read: F) -> impl Future<Output = F::Output> {
    ONCE.scope((), read)
}

/// Times that one call repeats what failed.
pub(crate) const MOST_RETRIES: u32 = 3;

/// Longest pause before the first retry; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The retries of one call: few, within its deadline, each counted and logged.
#[derive(Debug)]
pub(crate) struct Retries {
    counters: Arc<Counters>,
    /// What is read, without secrets.
    name: String,
    deadline: Deadline,
    count: u32,
    /// Nothing is repeated here.
    once: bool,
}

impl Retries {
    pub(crate) fn new(counters: &Arc<Counters>, name: &str, deadline: Deadline) -> Self {
        let (counters, once) = (Arc::clone(counters), ONCE.try_with(|()| ()).is_ok());
        Retries { counters, name: name.to_owned(), deadline, count: 0, once }
    }

    /// Waits before the next try; fails with `error` if there were enough, or if the next would come too late.
    ///
    /// The pause is drawn evenly between zero and its longest, so that many clients that failed together do not
    /// come back together. One that the server asks for (`asked`) is kept, and the other added to it.
    pub(crate) async fn pause(&mut self, error: Error, asked: Option<Duration>) -> Result<()> {
        if self.once {
            return Err(asked.into_iter().fold(error, Error::pause));
        }
        if self.count >= MOST_RETRIES {
            return Err(error.hint(format!("it was tried {} times; try again later", MOST_RETRIES + 1)));
        }
        let longest = FIRST_PAUSE * 2_u32.pow(self.count);
        let pause = asked.unwrap_or_default() + longest.mul_f64(fastrand::f64());
        if pause >= self.deadline.remaining() {
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
        self.counters.story.tell(server_of(&self.name).as_deref(), Event::Retried, error.message());
        let (name, count, seconds) = (&self.name, self.count, pause.as_secs_f32());
        log::warn!(target: LOG, "{name}: {error}; retry {count} of {MOST_RETRIES} in {seconds:.2} s");
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::ErrorKind;

    fn error() -> Error {
        Error::new(ErrorKind::Network, "the connection failed")
    }

    #[tokio::test]
    async fn they_are_few_and_counted() {
        let counters = Arc::<Counters>::default();
        let mut retries = Retries::new(&counters, "f", Deadline::default());
        for _ in 0..MOST_RETRIES {
            retries.pause(error(), None).await.unwrap();
        }
        assert!(retries.pause(error(), None).await.is_err());
        assert_eq!(counters.snapshot().retries, u64::from(MOST_RETRIES));
        let told = counters.story.told();
        assert_eq!((told.len(), told[0].times), (1, u64::from(MOST_RETRIES)));
        assert_eq!((told[0].event, told[0].text.as_str()), (Event::Retried, "the connection failed"));
    }

    #[tokio::test]
    async fn what_is_asked_once_is_not_repeated() {
        let counters = Arc::<Counters>::default();
        let asked = Some(Duration::from_secs(7));
        let ask = async { Retries::new(&counters, "f", Deadline::default()).pause(error(), asked).await };
        assert_eq!(once(ask).await.unwrap_err().asked_pause(), asked);
        assert!(counters.snapshot().retries == 0 && counters.story.told().is_empty());
    }

    #[tokio::test]
    async fn a_pause_that_the_server_asks_for_is_kept() {
        let mut retries = Retries::new(&Arc::default(), "f", Deadline::default());
        let begin = std::time::Instant::now();
        retries.pause(error(), Some(Duration::from_millis(50))).await.unwrap();
        assert!(begin.elapsed() >= Duration::from_millis(50));
    }

    #[tokio::test]
    async fn a_retry_that_would_come_too_late_is_not_waited_for() {
        let counters = Arc::<Counters>::default();
        let mut retries = Retries::new(&counters, "f", Deadline::after(Duration::from_secs(9)));
        let told = retries.pause(error(), Some(Duration::from_secs(60))).await.unwrap_err();
        assert_eq!(told.kind(), ErrorKind::Network);
        assert!(told.to_string().contains("in 60 s"), "{told}");
        assert_eq!(counters.snapshot().retries, 0);
    }
}
