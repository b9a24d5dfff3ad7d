//! Decodes entries with a program.

use super::input::Counts;
use super::slice::BasketSlice;
use rayon::prelude::*;
use sapwood_core::{Column, Counters, Error, ErrorKind, Result};
use sapwood_streamer::{ColumnPart, Program, StreamInput};
use std::time::Instant;

/// The column of all slices, starting at the entry `first`.
pub(super) fn decode(
    program: &Program,
    slices: &[BasketSlice<'_>],
    first: u64,
    counts: Option<Counts<'_>>,
    counters: &Counters,
) -> Result<Column> {
    if slices.is_empty() {
        return ColumnPart::join(vec![program.run().finish()]);
    }
    let starts = slices.iter().scan(first, |next, slice| {
        let start = *next;
        *next += slice.len() as u64;
        Some(start)
    });
    let work: Vec<_> = slices.iter().zip(starts).collect();
    let parts = work.into_par_iter().map(|(slice, first)| build(program, slice, first, counts));
    let parts = parts.collect::<Result<_>>()?;
    let start = Instant::now();
    let column = ColumnPart::join(parts);
    counters.decode_ns.add_time(start.elapsed());
    column
}

fn build(
    program: &Program,
    slice: &BasketSlice<'_>,
    first: u64,
    counts: Option<Counts<'_>>,
) -> Result<ColumnPart> {
    let mut run = program.run();
    slice.with_content(|content| {
        let mut boundaries = Vec::new();
        slice.boundaries(&content, &mut boundaries)?;
        let origins = content.origins.map(|words| words.as_chunks::<4>().0);
        for (index, (begin, end)) in boundaries.iter().zip(boundaries.iter().skip(1)).enumerate() {
            let entry = first + index as u64;
            let origin = origins.and_then(|words| words.get(slice.wanted.start + index));
            let input = match origin {
                None => StreamInput::new(content.data, *begin..*end, slice.header.key_len)?,
                // References count from the start of the basket that the entry was written to.
                Some(word) => {
                    let data = content.data.get(*begin..*end).unwrap_or_default();
                    StreamInput::new(data, 0..data.len(), u32::from_be_bytes(*word) as usize)?
                }
            };
            let result = match program.counter {
                Some(_) => run.entry_counted(input, of_objects(counts, entry)?),
                None => run.entry(input),
            };
            result.map_err(|error| not_as_described(program, error))?;
        }
        Ok(())
    })?;
    Ok(run.finish())
}

/// Objects that do not match the description of their class usually come from a custom streamer, in an intact
/// basket, so another copy of the file would not help (root-io-spec StreamerDriven §7).
fn not_as_described(program: &Program, error: Error) -> Error {
    if error.kind() != ErrorKind::Corrupt || !program.follows_descriptions() {
        return error;
    }
    let message =
        format!("an object does not match the file's description of its class: {}", error.message());
    let unsupported = Error::unsupported(message).hint(
        "its streamer may be written by hand, or the basket be damaged; members before it can be read by their paths",
    );
    match error.offset() {
        Some(offset) => unsupported.at(offset),
        None => unsupported,
    }
}

/// The counts of the objects of an entry (root-io-spec ReadingEntries §4.2).
fn of_objects(counts: Option<Counts<'_>>, entry: u64) -> Result<&[i64]> {
    counts.and_then(|counts| counts.of_objects(entry)).ok_or_else(|| {
        Error::corrupt(format!("the branch that counts for each object has no counts for entry {entry}"))
    })
}
