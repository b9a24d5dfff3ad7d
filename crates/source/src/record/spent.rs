//! What this process has spent since it began to record.

use super::event::RecordedEvent;
use sapwood_core::{Counter, WORK};
use std::time::Duration;

/// Times in microseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spent {
    cpu: u64,
    decompress: u64,
    decode: u64,
    compress: u64,
    write: u64,
}

impl Spent {
    /// The times of the process so far.
    pub(super) fn now() -> Spent {
        let of = |time: &Counter| time.get() / 1000;
        Spent {
            cpu: cpu(),
            decompress: of(&WORK.decompress),
            decode: of(&WORK.decode),
            compress: of(&WORK.compress),
            write: of(&WORK.write),
        }
    }

    /// The event for the time since `begin`.
    pub(super) fn since(&self, begin: &Spent) -> RecordedEvent {
        RecordedEvent::Spent {
            cpu: self.cpu.saturating_sub(begin.cpu),
            decompress: self.decompress.saturating_sub(begin.decompress),
            decode: self.decode.saturating_sub(begin.decode),
            compress: self.compress.saturating_sub(begin.compress),
            write: self.write.saturating_sub(begin.write),
        }
    }

    /// True if the CPU time used since `before` is worth an event.
    pub(super) fn is_news(&self, before: &Spent) -> bool {
        self.cpu.saturating_sub(before.cpu) >= NEWS
    }
}

/// A time in whole microseconds.
pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// CPU time that is worth an event, in microseconds.
const NEWS: u64 = 50_000;

#[cfg(unix)]
fn cpu() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    micros(Duration::try_from(time).unwrap_or_default())
}

#[cfg(not(unix))]
fn cpu() -> u64 {
    0
}
