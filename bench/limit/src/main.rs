//! The limit of reading a tree: only reads baskets, decompresses them, and byte-swaps them into new memory.
//!
//! `limit LIST THREADS [--sums]` reads the baskets in LIST (see `list.rs`), which contains all positions and uncompressed
//! sizes. It verifies no checksum and merges no reads. It prints one line of JSON: wall seconds, CPU seconds, bytes of
//! peak memory and of output; with `--sums` then a line per column with the sums of its bytes.

mod decompress;
mod list;
mod swap;

use decompress::Decompressor;
use list::{Basket, Column, List};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, error, fs, mem, thread};

type Result<T> = std::result::Result<T, Box<dyn error::Error + Send + Sync>>;

/// The memory for the values of a column.
#[derive(Default)]
struct Output {
    values: Vec<u8>,
    /// The first item of each entry; empty for a column of one item per entry.
    offsets: Vec<i64>,
}

/// Memory that a thread reuses for each basket.
#[derive(Default)]
struct Scratch {
    raw: Vec<u8>,
    object: Vec<u8>,
    decompressor: Decompressor,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [list, threads, rest @ ..] = arguments.as_slice() else {
        return Err("usage: limit LIST THREADS [--sums]".into());
    };
    let list = List::parse(&fs::read_to_string(list)?)?;
    let file = File::open(&list.path)?;

    let (begin, used_before) = (Instant::now(), processor_time());
    let outputs = read_all(&file, &list.columns, threads.parse()?)?;
    let (wall, used) = (begin.elapsed(), processor_time());

    println!(
        "{{\"open\": 0, \"wall\": {}, \"cpu\": {}, \"cpu_system\": {}, \"peak\": {}, \"bytes\": {}}}",
        wall.as_secs_f64(),
        (used.0 + used.1 - used_before.0 - used_before.1).as_secs_f64(),
        (used.1 - used_before.1).as_secs_f64(),
        peak_memory(),
        outputs.iter().map(|output| output.values.len() + 8 * output.offsets.len()).sum::<usize>(),
    );
    if rest.iter().any(|argument| argument == "--sums") {
        for (column, output) in list.columns.iter().zip(&outputs) {
            let values: u64 = output.values.iter().map(|&byte| u64::from(byte)).sum();
            println!("{} {values} {}", column.name, output.offsets.iter().sum::<i64>());
        }
    }
    Ok(())
}

/// Each thread takes the next column until none is left.
fn read_all(file: &File, columns: &[Column], threads: usize) -> Result<Vec<Output>> {
    let next = AtomicUsize::new(0);
    let outputs: Vec<Mutex<Output>> = columns.iter().map(|_| Mutex::default()).collect();
    let work = || -> Result<()> {
        let mut scratch = Scratch::default();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(column) = columns.get(index) else { return Ok(()) };
            let output = read_column(file, column, &mut scratch)?;
            *outputs[index].lock().unwrap_or_else(PoisonError::into_inner) = output;
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

fn read_column(file: &File, column: &Column, scratch: &mut Scratch) -> Result<Output> {
    let bytes: usize = column.baskets.iter().map(Basket::data_len).sum();
    let mut output = Output { values: Vec::with_capacity(bytes), offsets: Vec::new() };
    if column.jagged {
        let entries: usize = column.baskets.iter().map(|basket| basket.entries).sum();
        output.offsets.reserve_exact(entries + 1);
        output.offsets.push(0);
    }
    for basket in &column.baskets {
        read_basket(file, column, basket, scratch, &mut output)?;
    }
    Ok(output)
}

fn read_basket(
    file: &File,
    column: &Column,
    basket: &Basket,
    scratch: &mut Scratch,
    output: &mut Output,
) -> Result<()> {
    scratch.raw.resize(basket.nbytes - basket.keylen, 0);
    file.read_exact_at(&mut scratch.raw, basket.offset + basket.keylen as u64)?;
    let object = if basket.objlen > scratch.raw.len() {
        scratch.object.resize(basket.objlen, 0);
        scratch.decompressor.decompress(&scratch.raw, &mut scratch.object)?;
        &scratch.object
    } else {
        &scratch.raw
    };
    let (data, table) = object.split_at(basket.data_len());
    let base = output.values.len() / column.item_size;
    swap::append(data, column.item_size, &mut output.values);
    if column.jagged {
        // The table: a count, then the offset of each entry in bytes from the key; the last entry ends with the data.
        let begins = &table[4..4 * (1 + basket.entries)];
        swap::append_offsets(&begins[4..], basket.keylen, column.item_size, base, &mut output.offsets);
        output.offsets.push((base + data.len() / column.item_size) as i64);
    }
    Ok(())
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
