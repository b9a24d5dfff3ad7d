//! Closes files, in the background and at the end of the process.
#![expect(unsafe_code, reason = "functions of a shared library")]

use super::call::{Reply, begin, end};
use super::raw::Raw;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use std::collections::HashMap;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot::{Receiver, error::TryRecvError};

/// Seconds that a server may take to close a file.
const CLOSE: u16 = 5;

/// How long the end of the process waits for files to be closed.
const EXIT: Duration = Duration::from_secs(1);

static STATE: Mutex<Option<OpenFiles>> = Mutex::new(None);

/// The open files of one process. After a fork, they belong to the parent.
struct OpenFiles {
    process: u32,
    /// Files that are in use, by their address, and whether they are open.
    in_use: HashMap<usize, (Raw, Arc<AtomicBool>)>,
    /// Receives files that are no longer in use.
    closer: Option<UnboundedSender<RetiredFile>>,
    ending: bool,
}

/// A file that is no longer in use, with no outstanding operations.
struct RetiredFile {
    raw: Raw,
    opened: bool,
}

fn with_state<T>(work: impl FnOnce(&mut OpenFiles) -> T) -> T {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    if state.as_ref().is_some_and(|state| state.process != process::id()) {
        std::mem::forget(state.take());
    }
    work(state.get_or_insert_with(|| OpenFiles {
        process: process::id(),
        in_use: HashMap::new(),
        closer: None,
        ending: false,
    }))
}

/// Notes a file, so that it is closed when the process ends; `opened` says whether it is open.
pub(super) fn register(raw: Raw, opened: Arc<AtomicBool>) {
    with_state(|state| state.in_use.insert(raw.address(), (raw, opened)));
}

/// Closes and frees a file that is no longer in use. It does not wait and calls nothing of XrdCl: the last user may
/// be a thread of XrdCl that holds locks.
pub(super) fn retire(raw: Raw, opened: bool) {
    with_state(|state| {
        // A file of the parent of a fork is missing here; it is not ours to close.
        if state.in_use.remove(&raw.address()).is_none() || state.ending {
            return;
        }
        if state.closer.is_none() {
            state.closer = start();
        }
        if let Some(closer) = &state.closer {
            // The thread lives as long as its sender, which is never dropped.
            let _ = closer.send(RetiredFile { raw, opened });
        }
    });
}

/// Starts the thread that closes files. Without one, they stay open until the process ends.
fn start() -> Option<UnboundedSender<RetiredFile>> {
    let (sender, mut receiver) = unbounded_channel::<RetiredFile>();
    let runtime = tokio::runtime::Builder::new_current_thread().build().ok()?;
    let close = move || {
        runtime.block_on(async {
            // All at once, so that a server that does not answer delays no other.
            let mut closing = FuturesUnordered::new();
            loop {
                tokio::select! {
                    retired = receiver.recv() => match retired {
                        Some(retired) => closing.push(finish(retired)),
                        None => return,
                    },
                    Some(()) = closing.next() => {}
                }
            }
        });
    };
    thread::Builder::new().name("sapwood-close".to_owned()).spawn(close).ok()?;
    Some(sender)
}

async fn finish(RetiredFile { raw, opened }: RetiredFile) {
    if opened {
        // XrdCl answers by itself after CLOSE seconds at the latest.
        let _ = end(close(raw)).await;
    }
    if !with_state(|state| state.ending) {
        // SAFETY: nobody uses it, nothing is outstanding, and it is closed.
        unsafe { (raw.library().free)(raw.pointer()) };
    }
}

fn close(raw: Raw) -> Receiver<Reply> {
    // SAFETY: the file is not freed before the answer.
    begin((), |done, context| unsafe { (raw.library().close)(raw.pointer(), CLOSE, done, context) })
}

/// Closes files at the end of the process before XrdCl ends: exit handlers run in reverse order, and XrdCl registered
/// its own when it was loaded.
pub(super) fn at_exit() {
    // SAFETY: the handler does not unwind, and may run at any time.
    unsafe { libc::atexit(close_all) };
}

extern "C" fn close_all() {
    // From here on nothing is freed: threads that outlive the exit handlers may still use it.
    let files: Vec<_> = with_state(|state| {
        state.ending = true;
        state.in_use.drain().map(|(_, file)| file).collect()
    });
    let opened = files.iter().filter(|(_, opened)| opened.load(Ordering::Acquire));
    let mut answers: Vec<_> = opened.map(|(raw, _)| close(*raw)).collect();
    let begin = Instant::now();
    while !answers.is_empty() && begin.elapsed() < EXIT {
        answers.retain_mut(|answer| matches!(answer.try_recv(), Err(TryRecvError::Empty)));
        thread::sleep(Duration::from_millis(1));
    }
}
