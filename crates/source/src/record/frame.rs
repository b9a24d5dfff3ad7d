//! Frames: the pieces that a recording is written in, each readable without the others.

use super::event::RecordedEvent;
use super::wire::Wire;
use std::io;
use xxhash_rust::xxh64::xxh64;

/// Begins each frame; the digit is the version of the format.
pub(super) const MAGIC: &[u8; 4] = b"SWT1";
/// Bytes before the compressed events.
pub(super) const HEADER: usize = 32;
/// Most bytes of events in one frame.
pub(super) const MOST_BYTES: usize = 64 << 20;
/// Zstandard's fastest level that compresses well.
const LEVEL: i32 = 1;

/// The process that recorded. No two processes share both values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId {
    /// Microseconds from the beginning of 1970 to the beginning of the recording in this process; times count from
    /// there.
    pub begin: u64,
    /// The process id.
    pub number: u32,
}

/// Appends an event to others: its length, its number, its time as the difference from the event before, its values.
pub(super) fn put_event(event: &RecordedEvent, time: u64, before: &mut u64, out: &mut Vec<u8>) {
    let mut whole = Vec::with_capacity(64);
    event.put(time.wrapping_sub(*before).cast_signed(), &mut whole);
    *before = time;
    (whole.len() as u64).put(out);
    out.extend_from_slice(&whole);
}

/// All events in some bytes, with their times; events of unknown kind are skipped.
pub(super) fn take_events(mut input: &[u8]) -> Option<Vec<(u64, RecordedEvent)>> {
    let (mut events, mut time) = (Vec::new(), 0_u64);
    while !input.is_empty() {
        let len = usize::try_from(u64::take(&mut input)?).ok()?;
        let (mut one, rest) = input.split_at_checked(len)?;
        input = rest;
        let number = u64::take(&mut one)?;
        time = time.wrapping_add(i64::take(&mut one)?.cast_unsigned());
        events.extend(RecordedEvent::take(number, &mut one).map(|event| (time, event)));
    }
    Some(events)
}

/// A frame of events that were put one after the other.
///
/// # Errors
/// Those of the compressor.
pub(super) fn frame(process: ProcessId, events: &[u8]) -> io::Result<Vec<u8>> {
    let mut body = vec![0; zstd_safe::compress_bound(events.len())];
    let len = zstd_safe::compress(body.as_mut_slice(), events, LEVEL)
        .map_err(|code| io::Error::other(zstd_safe::get_error_name(code)))?;
    body.truncate(len);
    let size = |len: usize| u32::try_from(len).map_err(io::Error::other);
    let mut frame = Vec::with_capacity(HEADER + body.len());
    frame.extend_from_slice(MAGIC);
    frame.extend_from_slice(&size(body.len())?.to_le_bytes());
    frame.extend_from_slice(&size(events.len())?.to_le_bytes());
    frame.extend_from_slice(&process.number.to_le_bytes());
    frame.extend_from_slice(&process.begin.to_le_bytes());
    let sum = checksum(&frame, &body);
    frame.extend_from_slice(&sum.to_le_bytes());
    frame.extend_from_slice(&body);
    Ok(frame)
}

/// The frame at the front of some bytes: its process, its events one after the other, and its length. `None` if there
/// is no valid one.
pub(super) fn unframe(input: &[u8]) -> Option<(ProcessId, Vec<u8>, usize)> {
    let (header, rest) = input.split_at_checked(HEADER)?;
    let word = |at: usize| Some(u32::from_le_bytes(header.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| Some(u64::from_le_bytes(header.get(at..at + 8)?.try_into().ok()?));
    let body = rest.get(..usize::try_from(word(4)?).ok()?)?;
    let len = usize::try_from(word(8)?).ok().filter(|len| *len <= MOST_BYTES)?;
    let sound = header.starts_with(MAGIC) && long(24)? == checksum(header.get(..24)?, body);
    if !sound {
        return None;
    }
    let mut events = vec![0; len];
    let written = zstd_safe::decompress(events.as_mut_slice(), body).ok()?;
    let process = ProcessId { number: word(12)?, begin: long(16)? };
    (written == len).then_some((process, events, HEADER + body.len()))
}

fn checksum(header: &[u8], body: &[u8]) -> u64 {
    xxh64(body, xxh64(header, 0))
}
