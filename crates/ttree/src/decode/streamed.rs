//! Entries that a program decodes.

use super::piece::Piece;
use rayon::prelude::*;
use sapwood_core::{Column, Counters, Result};
use sapwood_streamer::{Input, Part, Program};
use std::time::Instant;

/// The column of all pieces.
pub(super) fn decode(program: &Program, pieces: &[Piece<'_>], counters: &Counters) -> Result<Column> {
    if pieces.is_empty() {
        return Part::join(vec![program.run().finish()]);
    }
    let parts = pieces.par_iter().map(|piece| build(program, piece)).collect::<Result<_>>()?;
    let start = Instant::now();
    let column = Part::join(parts);
    counters.decode_ns.add_time(start.elapsed());
    column
}

fn build(program: &Program, piece: &Piece<'_>) -> Result<Part> {
    let mut run = program.run();
    piece.with_content(|content| {
        let mut boundaries = Vec::new();
        piece.boundaries(&content, &mut boundaries)?;
        for (begin, end) in boundaries.iter().zip(boundaries.iter().skip(1)) {
            run.entry(Input::new(content.data, *begin..*end, piece.header.key_len)?)?;
        }
        Ok(())
    })?;
    Ok(run.finish())
}
