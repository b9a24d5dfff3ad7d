//! Lanes: work on several batches at the same time, and deliver them in order.

use super::claim::Claim;
use super::feed::Feed;
use super::lane_output::{LaneOutput, Output};
use super::stages::Stages;
use rayon::ThreadPool;
use sapwood_core::{Call, Deadline, Error, ErrorKind, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How often waiting threads check for interruption.
const HEARTBEAT: Duration = Duration::from_millis(100);

/// What all lanes share.
pub(super) struct Lanes<'a> {
    pub(super) stages: &'a Stages<'a>,
    pub(super) pool: &'a ThreadPool,
    pub(super) deadline: Deadline,
}

/// The totals of all lanes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LaneTotals {
    pub(super) events: u64,
    pub(super) batches: u64,
    pub(super) read_bytes: u64,
    pub(super) bytes: u64,
    pub(super) objects: u64,
}

/// The output, and the number of the next batch.
struct Turn<'o> {
    output: Box<dyn Output + 'o>,
    next: u64,
    done: LaneTotals,
}

/// State that the lanes share while they run.
struct LaneState<'o> {
    feed: Mutex<Feed>,
    turn: Mutex<Turn<'o>>,
    moved: Condvar,
    stop: AtomicBool,
}

impl Lanes<'_> {
    /// Runs all batches through the lanes, and completes the output.
    pub(super) fn run(
        &self,
        lanes: usize,
        feed: Feed,
        output: Box<dyn Output + '_>,
        call: &mut Call<'_>,
    ) -> Result<LaneTotals> {
        let turn = Turn { output, next: 0, done: LaneTotals::default() };
        let shared = LaneState {
            feed: Mutex::new(feed),
            turn: Mutex::new(turn),
            moved: Condvar::new(),
            stop: AtomicBool::new(false),
        };
        thread::scope(|scope| {
            let (ended, ends) = channel();
            for number in 0..lanes {
                let (shared, ended) = (&shared, ended.clone());
                let named = thread::Builder::new().name(format!("sapwood-lane-{number}"));
                let lane = named.spawn_scoped(scope, move || self.lane(shared, &ended));
                if let Err(error) = lane {
                    shared.stop();
                    return Err(Error::new(ErrorKind::Io, "no threads can be started").caused_by(error));
                }
            }
            drop(ended);
            let mut first: Result<()> = Ok(());
            loop {
                match ends.recv_timeout(HEARTBEAT) {
                    Ok(Ok(())) => {}
                    // The other lanes were cancelled because one failed: its error is the one to report.
                    Ok(Err(error)) => match &first {
                        Err(known) if known.kind() != ErrorKind::Cancelled => {}
                        _ => first = Err(error),
                    },
                    Err(RecvTimeoutError::Disconnected) => return first,
                    Err(RecvTimeoutError::Timeout) if call.is_interrupted() => {
                        shared.stop();
                        first = Err(Call::interrupted());
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        })?;
        let Turn { output, mut done, .. } = shared.turn.into_inner().unwrap_or_else(PoisonError::into_inner);
        (done.bytes, done.objects) = output.finish(call)?;
        Ok(done)
    }

    /// Runs one lane, batch after batch, until there are none or a lane fails.
    fn lane(&self, shared: &LaneState<'_>, ended: &Sender<Result<()>>) {
        let result = self.batches(shared);
        if result.is_err() {
            shared.stop();
        }
        // The receiver may be gone already.
        let _ = ended.send(result);
    }

    fn batches(&self, shared: &LaneState<'_>) -> Result<()> {
        let mut stopped = || shared.stop.load(Ordering::Relaxed);
        let mut call = Call::new(self.deadline, &mut stopped);
        loop {
            let claim = locked(&shared.feed).claim(&mut call)?;
            let Some(claim) = claim else { return Ok(()) };
            if self.deadline.has_passed() {
                return Err(Error::new(ErrorKind::Timeout, "the chain did not finish before the deadline"));
            }
            let made = self.pool.install(|| self.stages.work(&claim, &shared.stop))?;
            shared.hand_over(&claim, made, &mut call)?;
        }
    }
}

impl LaneState<'_> {
    /// Stops all lanes.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.moved.notify_all();
    }

    /// Waits until all earlier batches are in the output, and adds this one.
    fn hand_over(&self, claim: &Claim, made: LaneOutput, call: &mut Call<'_>) -> Result<()> {
        let mut turn = locked(&self.turn);
        while turn.next != claim.number {
            call.check()?;
            turn = self.moved.wait_timeout(turn, HEARTBEAT).unwrap_or_else(PoisonError::into_inner).0;
        }
        turn.output.put(claim.first, claim.entries, made, call)?;
        turn.next += 1;
        turn.done.events += claim.entries;
        turn.done.batches += 1;
        turn.done.read_bytes += claim.read_bytes;
        drop(turn);
        self.moved.notify_all();
        Ok(())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
