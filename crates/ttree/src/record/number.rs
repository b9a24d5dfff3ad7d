//! Numbers of entries and bytes, and small bases, inside a tree's record.

use super::positions::NumberPosition;
use sapwood_core::Result;
use sapwood_tfile::Cursor;

/// Reads a number of entries or bytes, and returns it with its position: `width` is a variant of
/// [`NumberPosition`]. Negative numbers, which only statistics have, count as 0.
pub(super) fn number(
    cursor: &mut Cursor<'_>,
    width: fn(usize) -> NumberPosition,
) -> Result<(u64, Option<NumberPosition>)> {
    let position = width(cursor.position());
    let value = match position {
        NumberPosition::I32(_) => u64::try_from(cursor.i32()?).unwrap_or(0),
        NumberPosition::I64(_) => u64::try_from(cursor.i64()?).unwrap_or(0),
        NumberPosition::F64(at) => from_double(cursor, at)?,
    };
    Ok((value, Some(position)))
}

/// Before they became 64-bit integers, these numbers were stored as `double`.
fn from_double(cursor: &mut Cursor<'_>, at: usize) -> Result<u64> {
    let value = cursor.f64()?;
    if value.is_finite() && value < 2f64.powi(53) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to lie below 2^53"
        )]
        return Ok(value.max(0.0) as u64);
    }
    Err(cursor.corrupt_at(at, format!("{value} is not a number of entries or bytes")))
}

/// Skips an array of numbers of `size` bytes each, such as `TArrayD`.
pub(super) fn skip_array(cursor: &mut Cursor<'_>, size: usize) -> Result<()> {
    let count = cursor.count(size)?;
    cursor.skip(count.saturating_mul(size))
}

/// Skips `TAttLine`, `TAttFill` or `TAttMarker`, which have `len` bytes if they have no byte count.
pub(super) fn skip_attributes(cursor: &mut Cursor<'_>, len: usize) -> Result<()> {
    match cursor.read_header()?.end {
        Some(end) => cursor.seek(end),
        None => cursor.skip(len),
    }
}

/// Reads `ROOT::TIOFeatures`, a class without a version: a checksum and a byte of bits (TBranch §8).
pub(super) fn io_features(cursor: &mut Cursor<'_>) -> Result<u8> {
    let header = cursor.read_header()?;
    if header.version <= 0 {
        cursor.u32()?;
    }
    let bits = cursor.u8()?;
    cursor.finish(&header)?;
    Ok(bits)
}
