//! The recorder of this process: it gathers events, and writes them every quarter of a second.

use super::event::RecordedEvent;
use super::frame::{self, ProcessId};
use super::spent::{Spent, micros};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The variable that names the file to record to, for a process and its children.
pub const TRACE_VARIABLE: &str = "SAPWOOD_TRACE";

/// How often gathered events are written.
const PERIOD: Duration = Duration::from_millis(250);
/// Bytes of events that are written at once, without waiting for that interval.
const MANY: usize = 1 << 20;
/// Bytes of events that are gathered while writing fails; further events are only counted.
const MOST: usize = 8 << 20;

const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

static SWITCH: AtomicU8 = AtomicU8::new(UNKNOWN);
static RECORDER: Mutex<Option<Recorder>> = Mutex::new(None);
static NUMBERS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static THREAD: u64 = number();
}

struct Recorder {
    path: PathBuf,
    program: String,
    process: ProcessId,
    begin: Instant,
    /// Events one after the other, and the time of the last.
    events: Vec<u8>,
    before: u64,
    lost: u64,
    names: HashMap<String, u64>,
    /// What the process had spent when it began to record, and when that was last recorded.
    spent: (Spent, Spent),
    /// Shared with the thread that writes. After a fork, a child has its own.
    file: Arc<Mutex<File>>,
    writer: std::thread::Thread,
}

/// True if events of this process are recorded: because [`start`] was called, or because the environment variable
/// `SAPWOOD_TRACE` names a file.
pub fn is_on() -> bool {
    match SWITCH.load(Ordering::Relaxed) {
        UNKNOWN => follow_environment(),
        switch => switch == ON,
    }
}

fn follow_environment() -> bool {
    let wanted = std::env::var_os(TRACE_VARIABLE).filter(|path| !path.is_empty());
    // Another thread may have come this far: the first one starts.
    let first = SWITCH.compare_exchange(UNKNOWN, OFF, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    if let Some(path) = wanted.filter(|_| first) {
        let program = std::env::args_os().next().unwrap_or_default();
        let program = Path::new(&program).file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Err(error) = start(Path::new(&path), &program) {
            log::warn!(target: "sapwood", "nothing is recorded: {} cannot be written: {error}", path.display());
        }
    }
    SWITCH.load(Ordering::Relaxed) == ON
}

/// Records to a file from now on, appending to it. `program` is the name of this process in the recording.
///
/// # Errors
/// Those of opening the file; `AlreadyExists` if this process already records.
pub fn start(path: &Path, program: &str) -> io::Result<()> {
    let mut slot = lock();
    if slot.is_some() {
        let message = "this process already records";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    }
    *slot = Some(Recorder::new(path.to_owned(), program.to_owned())?);
    SWITCH.store(ON, Ordering::Relaxed);
    Ok(())
}

/// Writes the gathered events, and stops recording.
///
/// # Errors
/// Those of writing.
pub fn stop() -> io::Result<()> {
    SWITCH.store(OFF, Ordering::Relaxed);
    let written = flush();
    let recorder = lock().take();
    if let Some(recorder) = recorder {
        recorder.writer.unpark();
    }
    written
}

/// Writes the gathered events.
///
/// # Errors
/// Those of writing.
pub fn flush() -> io::Result<()> {
    let Some(file) = lock().as_ref().map(|recorder| Arc::clone(&recorder.file)) else { return Ok(()) };
    write(&file).map(drop)
}

/// Records an event that happened now.
pub fn record(event: impl FnOnce() -> RecordedEvent) {
    if is_on() {
        record_named(|_| event());
    }
}

/// Records an event that needs numbers of names.
pub(super) fn record_named(event: impl FnOnce(&mut dyn FnMut(&str) -> u64) -> RecordedEvent) {
    let mut slot = lock();
    let Some(recorder) = slot.as_mut() else { return };
    if recorder.process.number != std::process::id() {
        // In a child of the recording process, the gathered events are the parent's.
        match Recorder::new(recorder.path.clone(), recorder.program.clone()) {
            Ok(own) => std::mem::forget(std::mem::replace(recorder, own)),
            Err(_) => return SWITCH.store(OFF, Ordering::Relaxed),
        }
    }
    let time = micros(recorder.begin.elapsed());
    let event = event(&mut |text| recorder.name(text, time));
    recorder.put(&event, time);
}

/// A number that is new in this process.
pub(super) fn number() -> u64 {
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

/// The number of the current thread.
pub(super) fn thread() -> u64 {
    THREAD.with(|number| *number)
}

fn lock() -> MutexGuard<'static, Option<Recorder>> {
    RECORDER.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    fn new(path: PathBuf, program: String) -> io::Result<Recorder> {
        let file = OpenOptions::new().append(true).create(true).open(&path)?;
        let file = Arc::new(Mutex::new(file));
        let begin = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let process = ProcessId { number: std::process::id(), begin: micros(begin) };
        let own = Arc::clone(&file);
        let writer = std::thread::Builder::new().name("sapwood-trace".to_owned()).spawn(move || {
            loop {
                std::thread::park_timeout(PERIOD);
                match write(&own) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        log::warn!(target: "sapwood", "the recording ends: {error}");
                        SWITCH.store(OFF, Ordering::Relaxed);
                        break;
                    }
                }
            }
        })?;
        let writer = writer.thread().clone();
        let (begin, events, names) = (Instant::now(), Vec::new(), HashMap::new());
        let (before, lost, spent) = (0, 0, (Spent::now(), Spent::now()));
        let mut recorder =
            Recorder { path, program, process, begin, events, before, lost, names, spent, file, writer };
        let (program, version) = (recorder.program.clone(), env!("CARGO_PKG_VERSION").to_owned());
        recorder.put(&RecordedEvent::Process { parent: parent(), program, version }, 0);
        Ok(recorder)
    }

    fn put(&mut self, event: &RecordedEvent, time: u64) {
        if self.events.len() > MOST {
            self.lost += 1;
            return;
        }
        let before = self.events.len();
        let last = self.before;
        frame::put_event(event, time, &mut self.before, &mut self.events);
        if self.events.len() > frame::MOST_BYTES {
            self.events.truncate(before);
            (self.before, self.lost) = (last, self.lost + 1);
        }
        if before < MANY && self.events.len() >= MANY {
            self.writer.unpark();
        }
    }

    fn name(&mut self, text: &str, time: u64) -> u64 {
        if let Some(name) = self.names.get(text) {
            return *name;
        }
        let name = self.names.len() as u64;
        self.names.insert(text.to_owned(), name);
        self.put(&RecordedEvent::Name { name, text: text.to_owned() }, time);
        name
    }

    /// The gathered events, and what was spent; their times count from 0.
    fn gathered(&mut self) -> (ProcessId, Vec<u8>) {
        let now = Spent::now();
        if self.process.number == std::process::id()
            && (!self.events.is_empty() || now.is_news(&self.spent.1))
        {
            self.spent.1 = now;
            self.put(&now.since(&self.spent.0), micros(self.begin.elapsed()));
        }
        if self.lost > 0 {
            let events = std::mem::take(&mut self.lost);
            frame::put_event(
                &RecordedEvent::Lost { events },
                self.before,
                &mut self.before,
                &mut self.events,
            );
        }
        self.before = 0;
        (self.process, std::mem::take(&mut self.events))
    }
}

/// Appends the gathered events to the file. False if recording has moved to another file or ended.
fn write(file: &Arc<Mutex<File>>) -> io::Result<bool> {
    // In this order, so that frames are written in the order of their events.
    let mut out = file.lock().unwrap_or_else(PoisonError::into_inner);
    let (process, events) = {
        let mut slot = lock();
        match slot.as_mut().filter(|recorder| Arc::ptr_eq(&recorder.file, file)) {
            Some(recorder) => recorder.gathered(),
            None => return Ok(false),
        }
    };
    if !events.is_empty() {
        // In one write: several processes append to the file.
        out.write_all(&frame::frame(process, &events)?)?;
    }
    Ok(true)
}

#[cfg(unix)]
fn parent() -> u64 {
    rustix::process::getppid().map_or(0, |parent| parent.as_raw_nonzero().get().unsigned_abs().into())
}

#[cfg(not(unix))]
fn parent() -> u64 {
    0
}
