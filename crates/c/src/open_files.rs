//! The open files, by the numbers that callers have for them.

use crate::outcome::refused;
use sapwood_core::{Call, Deadline, Error, ErrorKind, Result, Segments, stated_time};
use sapwood_root::RawFile;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

/// An open file.
pub(crate) struct OpenFile {
    pub(crate) file: RawFile,
    /// Parts of it that are in memory.
    pub(crate) structure: Segments,
    /// The time for a call that names none.
    pub(crate) deadline: Duration,
    /// When opening began.
    pub(crate) opened: SystemTime,
    /// A name of this opening of the file that no other one has.
    pub(crate) unique_id: String,
}

static OPEN: LazyLock<RwLock<HashMap<u64, Arc<OpenFile>>>> = LazyLock::new(RwLock::default);
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// Keeps a file open, and returns its number, which is never used again.
pub(crate) fn keep(file: OpenFile) -> u64 {
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    OPEN.write().unwrap_or_else(PoisonError::into_inner).insert(number, Arc::new(file));
    number
}

/// The file with a number.
pub(crate) fn find(number: u64) -> Result<Arc<OpenFile>> {
    OPEN.read().unwrap_or_else(PoisonError::into_inner).get(&number).cloned().ok_or_else(closed)
}

/// Forgets the file with a number.
pub(crate) fn forget(number: u64) -> Result<Arc<OpenFile>> {
    OPEN.write().unwrap_or_else(PoisonError::into_inner).remove(&number).ok_or_else(closed)
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the file is not open").hint("open it again")
}

/// Runs `work` for at most `seconds`; 0 stands for `usual`.
pub(crate) fn timed<T>(
    seconds: f64,
    usual: Duration,
    work: impl FnOnce(&mut Call<'_>) -> Result<T>,
) -> Result<T> {
    let given =
        stated_time(seconds).ok_or_else(|| refused(format!("a deadline of {seconds} seconds is invalid")))?;
    let time = if given.is_zero() { usual } else { given };
    work(&mut Call::new(Deadline::after(time), &mut || false))
}
