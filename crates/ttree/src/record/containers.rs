//! Arrays and lists of pointers inside a tree's record.

use super::positions::PointerArray;
use sapwood_core::Result;
use sapwood_tfile::{Pointer, Walker};

/// The smallest pointer: null, or a reference.
const POINTER: usize = 4;

/// Walks over a `TObjArray`; `each` reads one pointer and the object behind it.
pub(super) fn pointer_array<'a>(
    walker: &mut Walker<'a>,
    mut each: impl FnMut(&mut Walker<'a>) -> Result<Pointer>,
) -> Result<PointerArray> {
    let header = walker.open()?;
    if header.version > 2 {
        walker.cursor.tobject()?;
    }
    if header.version > 1 {
        walker.cursor.tstring_bytes()?;
    }
    let count_at = walker.position();
    let count = walker.cursor.i32()?;
    walker.cursor.i32()?; // fLowerBound
    let room = walker.cursor.remaining() / POINTER;
    let count = usize::try_from(count).ok().filter(|&count| count <= room).ok_or_else(|| {
        walker.cursor.corrupt_at(count_at, "an array announces more objects than can follow")
    })?;
    let mut pointers = Vec::with_capacity(if walker.is_outlining() { count } else { 0 });
    for _ in 0..count {
        let pointer = each(walker)?;
        if walker.is_outlining() {
            pointers.push(pointer);
        }
    }
    walker.close(&header, "TObjArray")?;
    Ok(PointerArray { count_at, pointers })
}

/// Walks over a `TList`, where each pointer has an option (StreamerInfo §4); `each` reads a pointer and the object
/// behind it.
pub(super) fn list<'a>(
    walker: &mut Walker<'a>,
    class: &str,
    mut each: impl FnMut(&mut Walker<'a>) -> Result<Pointer>,
) -> Result<()> {
    let header = walker.open()?;
    if header.version > 3 {
        walker.cursor.tobject()?;
    }
    if header.version > 1 {
        walker.cursor.tstring_bytes()?;
    }
    for _ in 0..walker.cursor.count(POINTER)? {
        each(walker)?;
        if header.version <= 3 {
            continue;
        }
        let len = match walker.cursor.u8()? {
            255 if header.version > 4 => walker.cursor.count(1)?,
            len => usize::from(len),
        };
        walker.cursor.skip(len)?;
    }
    walker.close(&header, class)
}
