//! What both limits share: bare decompression, threads that take one column after the other, and the measurements.

pub mod decompress;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{error, fs, mem, thread};

pub type Result<T> = std::result::Result<T, Box<dyn error::Error + Send + Sync>>;

/// The memory for the values of a column.
#[derive(Default)]
pub struct Output {
    pub values: Vec<u8>,
    /// The first item of each entry; empty for a column of one item per entry.
    pub offsets: Vec<i64>,
}

/// Reads `columns` columns with `read`, and prints a line of JSON: wall seconds, CPU seconds, bytes of peak memory and of output.
pub fn measure<S: Default>(
    columns: usize,
    threads: usize,
    read: impl Fn(usize, &mut S) -> Result<Output> + Sync,
) -> Result<Vec<Output>> {
    let (begin, used_before) = (Instant::now(), processor_time());
    let outputs = read_all(columns, threads, read)?;
    let (wall, used) = (begin.elapsed(), processor_time());
    println!(
        "{{\"open\": 0, \"wall\": {}, \"cpu\": {}, \"cpu_system\": {}, \"peak\": {}, \"bytes\": {}}}",
        wall.as_secs_f64(),
        (used.0 + used.1 - used_before.0 - used_before.1).as_secs_f64(),
        (used.1 - used_before.1).as_secs_f64(),
        peak_memory(),
        outputs.iter().map(|output| output.values.len() + 8 * output.offsets.len()).sum::<usize>(),
    );
    Ok(outputs)
}

/// Each thread takes the next column until none is left.
fn read_all<S: Default>(
    columns: usize,
    threads: usize,
    read: impl Fn(usize, &mut S) -> Result<Output> + Sync,
) -> Result<Vec<Output>> {
    let next = AtomicUsize::new(0);
    let outputs: Vec<Mutex<Output>> = (0..columns).map(|_| Mutex::default()).collect();
    let work = || -> Result<()> {
        let mut scratch = S::default();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(output) = outputs.get(index) else { return Ok(()) };
            *output.lock().unwrap_or_else(PoisonError::into_inner) = read(index, &mut scratch)?;
        }
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        work()?;
        others.into_iter().try_for_each(|other| other.join().map_err(|_| "a thread failed")?)
    })?;
    Ok(outputs
        .into_iter()
        .map(|output| output.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect())
}

/// CPU time of this process so far, user and system.
fn processor_time() -> (Duration, Duration) {
    let time = |value: libc::timeval| Duration::new(value.tv_sec as u64, 1000 * value.tv_usec as u32);
    // SAFETY: the structure is plain numbers, for which zeros are valid, and the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    (time(usage.ru_utime), time(usage.ru_stime))
}

/// The peak memory of this process, in bytes.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<u64>().ok())
        .map_or(0, |kib| 1024 * kib)
}
