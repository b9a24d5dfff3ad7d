//! The bases of objects of ROOT: `TObject` and `TRef`.

use crate::StreamInput;
use sapwood_core::Result;
use sapwood_tfile::IS_REFERENCED;

/// `TRef::kHasUUID`: a string follows in place of the process number (root-io-spec References §3.1).
const HAS_UUID: u32 = 1 << 5;

/// Reads the base `TObject`: its bits (Buffer §7).
pub(super) fn object_base(input: &mut StreamInput<'_>) -> Result<u32> {
    // Some writers put a byte count in front.
    let mut framed = input.frame()?;
    let input = framed.as_mut().unwrap_or(input);
    input.take(2 + 4)?;
    let bits = input.u32()?;
    if bits & IS_REFERENCED != 0 {
        input.take(2)?;
    }
    Ok(bits)
}

/// Reads a `TRef`: the number of the object (References §3).
pub(super) fn reference(input: &mut StreamInput<'_>) -> Result<u32> {
    input.take(2)?;
    let number = input.u32()?;
    if input.u32()? & HAS_UUID != 0 {
        input.text()?;
    } else {
        input.take(2)?;
    }
    Ok(number)
}
