//! Type codes of elements (root-io-spec ElementTypes §1).

use crate::{CppType, StoredNumber, basic};
use sapwood_core::Primitive;
use sapwood_tfile::{ElementKind, StreamerElement};

pub(super) const NOTHING: i32 = -1;
pub(super) const ARRAY: i32 = 20;
pub(super) const COUNTED: i32 = 40;
pub(super) const COUNTER: i32 = 6;
pub(super) const CHAR_STAR: i32 = 7;
pub(super) const DOUBLE32: i32 = 9;
pub(super) const BITS: i32 = 15;
pub(super) const FLOAT16: i32 = 19;
pub(super) const OBJECT_INLINE: i32 = 63;
pub(super) const TSTRING: i32 = 65;
pub(super) const TOBJECT: i32 = 66;
pub(super) const TNAMED: i32 = 67;
pub(super) const ANY_INLINE: i32 = 68;
pub(super) const ARRAY_OF_TOBJECTS: i32 = 86;
pub(super) const ARRAY_OF_TNAMEDS: i32 = 87;
pub(super) const STL_STRING: i32 = 365;

/// The number that a member of a basic type is.
pub(crate) fn number(element: &StreamerElement) -> Option<StoredNumber> {
    let code = match &element.kind {
        ElementKind::BasicPointer(_) => element.type_code - COUNTED,
        _ if element.array_dims.is_empty() => element.type_code,
        _ => element.type_code - ARRAY,
    };
    match code {
        DOUBLE32 | FLOAT16 => Some(StoredNumber::packed(element.range, code == DOUBLE32)),
        // A counter keeps the code 6 whether or not it has a sign (ElementTypes §2.1).
        COUNTER => match CppType::parse(&element.type_name) {
            CppType::Number(number @ StoredNumber::Plain(Primitive::U32)) => Some(number),
            _ => Some(StoredNumber::Plain(Primitive::I32)),
        },
        _ => basic(code).map(StoredNumber::Plain),
    }
}
