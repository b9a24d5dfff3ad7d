//! Containers and small bases inside a tree's record.

use super::Friend;
use sapwood_core::Result;
use sapwood_tfile::{Cursor, ObjectSlot};

/// The smallest slot of an array of objects: a null pointer or a reference.
const SLOT: usize = 4;

/// Reads a `TObjArray` and hands each slot, with its index, to `each`. The cursor that `each` gets stands
/// behind the slot, or, for an object without a byte count, before its body.
pub(super) fn obj_array<'a>(
    cursor: &mut Cursor<'a>,
    mut each: impl FnMut(&mut Cursor<'a>, usize, ObjectSlot<'a>) -> Result<()>,
) -> Result<()> {
    let header = cursor.read_header()?;
    if header.version > 2 {
        cursor.tobject()?;
    }
    if header.version > 1 {
        cursor.tstring_bytes()?;
    }
    let at = cursor.position();
    let count = cursor.i32()?;
    cursor.i32()?; // fLowerBound
    let count = usize::try_from(count).ok().filter(|n| n.saturating_mul(SLOT) <= cursor.remaining());
    let count =
        count.ok_or_else(|| cursor.corrupt_at(at, "an array announces more objects than can follow"))?;
    for index in 0..count {
        let slot = cursor.read_object_any()?;
        each(cursor, index, slot)?;
    }
    cursor.finish(&header)
}

/// Reads a pointer to a `TList` of `TNamed`: names and titles.
pub(super) fn named_list(cursor: &mut Cursor<'_>) -> Result<Vec<(String, String)>> {
    list(cursor, |item| item.tnamed().map(|named| (named.name, named.title)))
}

/// Reads a pointer to a `TList` of `TFriendElement` (root-io-spec Auxiliary §3).
pub(super) fn friends(cursor: &mut Cursor<'_>) -> Result<Vec<Friend>> {
    list(cursor, |item| {
        let header = item.read_header()?;
        let named = item.tnamed()?;
        let tree = item.tstring()?;
        // fOwnFile says nothing that the name of the file does not.
        if header.end.is_none() {
            item.skip(1)?;
        }
        item.finish(&header)?;
        Ok(Friend { name: named.name, file: named.title, tree })
    })
}

/// Reads a pointer to a `TList`, each object of which `each` reads.
fn list<'a, T>(
    cursor: &mut Cursor<'a>,
    mut each: impl FnMut(&mut Cursor<'a>) -> Result<T>,
) -> Result<Vec<T>> {
    let ObjectSlot::Object { mut body, bounded, .. } = cursor.read_object_any()? else {
        return Ok(Vec::new());
    };
    let header = body.read_header()?;
    body.tobject()?;
    body.tstring_bytes()?;
    let count = body.count(SLOT + 1)?;
    let mut items = Vec::with_capacity(count);
    for _ in 0..count {
        if let ObjectSlot::Object { body: mut item, bounded, .. } = body.read_object_any()? {
            items.push(each(&mut item)?);
            if !bounded {
                body.seek(item.position())?;
            }
        }
        let option = match body.u8()? {
            255 if header.version > 4 => body.count(1)?,
            short => usize::from(short),
        };
        body.skip(option)?;
    }
    if !bounded {
        cursor.seek(body.position())?;
    }
    Ok(items)
}

/// Passes over an array of numbers of `size` bytes each, such as `TArrayD`.
pub(crate) fn skip_array(cursor: &mut Cursor<'_>, size: usize) -> Result<()> {
    let count = cursor.count(size)?;
    cursor.skip(count.saturating_mul(size))
}

/// Passes over `TAttLine`, `TAttFill` or `TAttMarker`, which have `len` bytes if they have no byte count.
pub(crate) fn skip_attributes(cursor: &mut Cursor<'_>, len: usize) -> Result<()> {
    match cursor.read_header()?.end {
        Some(end) => cursor.seek(end),
        None => cursor.skip(len),
    }
}

/// Reads `ROOT::TIOFeatures`, a class without a version: a checksum and a byte of bits (TBranch §8).
pub(crate) fn io_features(cursor: &mut Cursor<'_>) -> Result<u8> {
    let header = cursor.read_header()?;
    if header.version <= 0 {
        cursor.u32()?;
    }
    let bits = cursor.u8()?;
    cursor.finish(&header)?;
    Ok(bits)
}

/// Reads a number of entries or bytes, which was a `double` before it became a 64-bit integer.
/// Negative numbers, which only statistics have, count as 0.
pub(crate) fn count(cursor: &mut Cursor<'_>, is_double: bool) -> Result<u64> {
    if !is_double {
        return Ok(u64::try_from(cursor.i64()?).unwrap_or(0));
    }
    let at = cursor.position();
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
