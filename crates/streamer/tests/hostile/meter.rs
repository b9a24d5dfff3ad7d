//! Peak memory and time of a piece of work, on a stack as small as that of worker threads.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

/// Counts what each thread has allocated, and refuses what no test may ask for, before the machine suffers.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// More than this is not given.
const MOST: usize = 2 << 30;

fn count(bytes: isize) {
    // A thread that ends frees its memory after its counters.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
    });
}

fn fits(bytes: usize) -> bool {
    NOW.try_with(|now| usize::try_from(now.get()).unwrap_or(0).saturating_add(bytes) < MOST).unwrap_or(true)
}

#[expect(unsafe_code, reason = "an allocator cannot be counted otherwise")]
// SAFETY: all calls are handed on unchanged to the system's allocator; null is a permitted answer.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !fits(layout.size()) {
            return std::ptr::null_mut();
        }
        count(layout.size().cast_signed());
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: the caller's promises are the same.
        unsafe { System.dealloc(place, layout) }
    }
}

/// What was taken.
#[derive(Debug)]
pub(crate) struct Taken<T> {
    /// Bytes at the peak, beyond those before.
    pub(crate) memory: usize,
    pub(crate) time: Duration,
    /// What the work answered.
    pub(crate) answer: T,
}

/// Does some work on a thread with the stack that worker threads have.
pub(crate) fn measure<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Taken<T> {
    let measured = move || {
        let before = NOW.get();
        PEAK.set(before);
        let start = Instant::now();
        let answer = work();
        let memory = usize::try_from(PEAK.get() - before).unwrap_or(0);
        Taken { memory, time: start.elapsed(), answer }
    };
    thread::Builder::new().stack_size(2 << 20).spawn(measured).unwrap().join().unwrap()
}
