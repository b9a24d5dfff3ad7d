//! Entries of one size: a number, or a fixed array of numbers.

use super::piece::Piece;
use rayon::prelude::*;
use sapwood_core::{Buffer, Error, Result};
use sapwood_streamer::Number;

/// The values of all pieces, one buffer.
pub(super) fn decode(number: Number, values: usize, pieces: &[Piece<'_>]) -> Result<Buffer> {
    let stride = number.size_on_file().saturating_mul(values);
    for piece in pieces {
        check(piece, stride)?;
    }
    let place_len = |piece: &Piece<'_>| piece.len() * values * number.size();
    let mut buffer = Buffer::zeroed(pieces.iter().map(place_len).sum());
    let mut work = Vec::with_capacity(pieces.len());
    let mut rest = buffer.as_bytes_mut();
    for piece in pieces {
        let (place, after) = rest.split_at_mut(place_len(piece));
        work.push((piece, place));
        rest = after;
    }
    work.into_par_iter().try_for_each(|(piece, place)| decode_piece(number, stride, piece, place))?;
    Ok(buffer)
}

/// Entries may have a table of offsets that says nothing new (some writers other than ROOT keep one),
/// but they must have the size of the type: checked before memory is taken.
fn check(piece: &Piece<'_>, stride: usize) -> Result<()> {
    let header = &piece.header;
    if header.entries.checked_mul(stride) == Some(header.data_len) {
        return Ok(());
    }
    Err(piece.placed(Error::corrupt(format!(
        "a basket has {} bytes for {} entries of {stride} bytes",
        header.data_len, header.entries
    ))))
}

fn decode_piece(number: Number, stride: usize, piece: &Piece<'_>, place: &mut [u8]) -> Result<()> {
    if number.keeps_size() && piece.decompress_whole(place, |place| number.decode_in_place(place))? {
        return Ok(());
    }
    piece.with_content(|content| {
        let bytes = content
            .data
            .get(piece.wanted.start * stride..piece.wanted.end * stride)
            .ok_or_else(|| Error::corrupt("a basket has fewer entries than it announces"))?;
        number.decode(bytes, place);
        Ok(())
    })
}
