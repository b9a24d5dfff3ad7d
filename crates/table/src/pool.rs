//! What each process has once: a runtime that waits, thread pools that compute, a budget for read-ahead. After a fork,
//! the child makes its own.

use rayon::iter::{ParallelBridge, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};
use sapwood_core::{Call, Error, ErrorKind, Result};
use sapwood_fetch::{Ahead, Budget, Fetcher, FileIndex, Job, ReadAhead};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};

/// How often a computation checks for interruption.
pub const HEARTBEAT: Duration = Duration::from_millis(100);

/// The environment variable with the default number of computing threads.
const THREADS_VARIABLE: &str = "SAPWOOD_THREADS";

/// The environment variable with the budget for read-ahead of all reads together, in megabytes (10⁶ bytes).
const AHEAD_VARIABLE: &str = "SAPWOOD_READ_AHEAD";

/// The default budget, in bytes.
const AHEAD: u64 = 256_000_000;

/// A value, and the process that it belongs to.
type ProcessOwned<T> = Mutex<Option<(u32, T)>>;

static RUNTIME: ProcessOwned<Runtime> = Mutex::new(None);
static POOLS: ProcessOwned<HashMap<usize, Arc<ThreadPool>>> = Mutex::new(None);
static BUDGET: ProcessOwned<Arc<Budget>> = Mutex::new(None);

/// The runtime that waits for bytes.
pub fn runtime() -> Result<Handle> {
    let mut slot = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    match &*slot {
        Some((owner, runtime)) if *owner == process::id() => Ok(runtime.handle().clone()),
        _ => {
            let runtime = Builder::new_multi_thread()
                .worker_threads(2)
                .thread_name("sapwood-wait")
                .enable_all()
                .build()
                .map_err(|error| Error::new(ErrorKind::Io, "no threads can be started").caused_by(error))?;
            let handle = runtime.handle().clone();
            // The threads of a parent's runtime do not exist here: dropping it would wait for them forever.
            std::mem::forget(slot.replace((process::id(), runtime)));
            Ok(handle)
        }
    }
}

/// The budget for read-ahead.
pub fn budget() -> Result<Arc<Budget>> {
    let mut slot = BUDGET.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((owner, budget)) = &*slot
        && *owner == process::id()
    {
        return Ok(Arc::clone(budget));
    }
    let most = match std::env::var(AHEAD_VARIABLE) {
        Ok(text) => {
            text.trim().parse::<u64>().map(|megabytes| megabytes.saturating_mul(1_000_000)).map_err(|_| {
                Error::usage(format!("{AHEAD_VARIABLE} is '{text}': a number of megabytes is expected"))
            })?
        }
        Err(_) => AHEAD,
    };
    let budget = Budget::new(most);
    *slot = Some((process::id(), Arc::clone(&budget)));
    Ok(budget)
}

/// Fetches jobs from one or more files ahead of their reader, and starts with the first one at once.
///
/// # Errors
/// `Io` if no threads can be started.
pub fn read_ahead<T: 'static>(
    jobs: impl IntoIterator<Item = Job<T>, IntoIter: Send + 'static>,
    fetcher: impl Fn(FileIndex) -> Fetcher + Send + Sync + 'static,
    ahead: Ahead,
) -> Result<ReadAhead<T>> {
    Ok(ReadAhead::new(jobs, fetcher, runtime()?, ahead))
}

/// The pool of `threads` computing threads; the default is `SAPWOOD_THREADS`, or else one per processor.
pub fn computing(threads: Option<usize>) -> Result<Arc<ThreadPool>> {
    let threads = match threads {
        Some(0) => return Err(Error::usage("the number of threads must be at least 1")),
        Some(threads) => threads,
        None => default_threads()?,
    };
    let mut slot = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if slot.as_ref().is_none_or(|(owner, _)| *owner != process::id()) {
        std::mem::forget(slot.replace((process::id(), HashMap::new())));
    }
    let pools = &mut slot.get_or_insert_with(|| (process::id(), HashMap::new())).1;
    if let Some(pool) = pools.get(&threads) {
        return Ok(Arc::clone(pool));
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("sapwood-{index}"))
        .build()
        .map_err(|error| Error::new(ErrorKind::Io, "no threads can be started").caused_by(error))?;
    let pool = Arc::new(pool);
    pools.insert(threads, Arc::clone(&pool));
    Ok(pool)
}

fn default_threads() -> Result<usize> {
    match std::env::var(THREADS_VARIABLE) {
        Ok(text) => text.trim().parse().ok().filter(|threads| *threads > 0).ok_or_else(|| {
            Error::usage(format!("{THREADS_VARIABLE} is '{text}': a number of threads is expected"))
        }),
        Err(_) => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
    }
}

/// Blocks until `future` is done, fails, or the call gives up. Must not be called inside an asynchronous task.
///
/// # Errors
/// Those of the future; `Timeout` after the deadline; `Cancelled` if the call is interrupted.
pub fn wait<T>(future: impl Future<Output = Result<T>>, call: &mut Call<'_>) -> Result<T> {
    sapwood_fetch::wait(&runtime()?, future, call)
}

/// Runs `work` on a pool and waits for it. An interruption sets the flag that `work` gets, which should then return
/// early.
///
/// # Errors
/// Those of `work`; `Cancelled` if the call is interrupted.
pub fn compute<T: Send>(
    pool: &ThreadPool,
    call: &mut Call<'_>,
    work: impl FnOnce(&AtomicBool) -> Result<T> + Send,
) -> Result<T> {
    let cancelled = AtomicBool::new(false);
    let (done, result) = sync_channel(1);
    pool.in_place_scope(|scope| {
        let cancelled = &cancelled;
        scope.spawn(move |_| {
            // The receiver outlives this task: it is dropped after the scope has ended.
            let _ = done.send(work(cancelled));
        });
        loop {
            match result.recv_timeout(HEARTBEAT) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Timeout) => {
                    if call.is_interrupted() {
                        cancelled.store(true, Ordering::Relaxed);
                        return Err(Call::interrupted());
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::corrupt("a computing thread ended without a result"));
                }
            }
        }
    })
}

/// Runs `work` on each item, on the threads of the current pool: the largest items first, so that no thread is left with
/// a large one while the others have none. Results are in the order of the items.
///
/// # Errors
/// Those of `work`.
pub fn largest_first<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    size: impl Fn(&T) -> u64,
    work: impl Fn(T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let mut order: Vec<(usize, T)> = items.into_iter().enumerate().collect();
    order.sort_by_key(|(_, item)| Reverse(size(item)));
    // The bridge hands out one item after the other; a slice would be halved, with all large items in one half.
    let results = order.into_iter().par_bridge().map(|(index, item)| Ok((index, work(item)?)));
    let mut results = results.collect::<Result<Vec<(usize, R)>>>()?;
    results.sort_unstable_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn the_largest_items_are_begun_first_and_results_keep_their_order() {
        let begun = Mutex::new(Vec::new());
        let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
        let results = pool.install(|| {
            largest_first(
                [3, 9, 1, 7],
                |item| *item,
                |item| {
                    begun.lock().expect("no panic").push(item);
                    Ok(item * 2)
                },
            )
        });
        assert_eq!(results.expect("no error"), [6, 18, 2, 14]);
        assert_eq!(begun.into_inner().expect("no panic"), [9, 7, 3, 1]);
    }

    #[test]
    fn an_error_ends_the_work_on_the_items() {
        let begun = AtomicU64::new(0);
        let pool = ThreadPoolBuilder::new().num_threads(2).build().expect("a pool");
        let result = pool.install(|| {
            largest_first(
                0..100_000_u64,
                |item| *item,
                |item| {
                    begun.fetch_add(1, Ordering::Relaxed);
                    if item > 99_000 { Err(Error::corrupt("broken")) } else { Ok(item) }
                },
            )
        });
        assert_eq!(result.expect_err("an error").message(), "broken");
        assert!(begun.into_inner() < 50_000, "most items are left");
    }
}
