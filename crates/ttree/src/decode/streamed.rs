//! Entries that a program decodes.

use super::Counts;
use super::piece::Piece;
use rayon::prelude::*;
use sapwood_core::{Column, Counters, Error, Result};
use sapwood_streamer::{Input, Part, Program};
use std::time::Instant;

/// The column of all pieces, the first of which begins with the entry `first`.
pub(super) fn decode(
    program: &Program,
    pieces: &[Piece<'_>],
    first: u64,
    counts: Option<Counts<'_>>,
    counters: &Counters,
) -> Result<Column> {
    if pieces.is_empty() {
        return Part::join(vec![program.run().finish()]);
    }
    let starts = pieces.iter().scan(first, |next, piece| {
        let start = *next;
        *next += piece.len() as u64;
        Some(start)
    });
    let work: Vec<_> = pieces.iter().zip(starts).collect();
    let parts = work.into_par_iter().map(|(piece, first)| build(program, piece, first, counts));
    let parts = parts.collect::<Result<_>>()?;
    let start = Instant::now();
    let column = Part::join(parts);
    counters.decode_ns.add_time(start.elapsed());
    column
}

fn build(program: &Program, piece: &Piece<'_>, first: u64, counts: Option<Counts<'_>>) -> Result<Part> {
    let mut run = program.run();
    piece.with_content(|content| {
        let mut boundaries = Vec::new();
        piece.boundaries(&content, &mut boundaries)?;
        for ((begin, end), entry) in boundaries.iter().zip(boundaries.iter().skip(1)).zip(first..) {
            let input = Input::new(content.data, *begin..*end, piece.header.key_len)?;
            match program.counter {
                Some(_) => run.entry_counted(input, of_objects(counts, entry)?)?,
                None => run.entry(input)?,
            }
        }
        Ok(())
    })?;
    Ok(run.finish())
}

/// What the objects of an entry count (root-io-spec ReadingEntries §4.2).
fn of_objects(counts: Option<Counts<'_>>, entry: u64) -> Result<&[i64]> {
    counts.and_then(|counts| counts.of_objects(entry)).ok_or_else(|| {
        Error::corrupt(format!("the branch that counts for each object has no counts for entry {entry}"))
    })
}
