//! Elements of columns: how a page of them is encoded before compression.

use sapwood_core::Primitive;
use std::array;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Elements {
    /// Booleans of one byte each.
    Bits,
    Chars,
    Numbers {
        primitive: Primitive,
        split: bool,
    },
    /// Ends of lists: 64-bit numbers. Split ones are stored as differences.
    Ends {
        split: bool,
    },
    /// Positions and tags of variants.
    Switch,
}

impl Elements {
    pub(super) fn of_numbers(primitive: Primitive, split: bool) -> Elements {
        match primitive {
            Primitive::Bool => Elements::Bits,
            _ => Elements::Numbers { primitive, split: split && primitive.size() > 1 },
        }
    }

    /// Its type and the bits of an element in the file.
    pub(super) fn stored_as(self) -> (u16, u16) {
        match self {
            Elements::Bits => (0x00, 1),
            Elements::Chars => (0x02, 8),
            Elements::Ends { split } => (if split { 0x1B } else { 0x0F }, 64),
            Elements::Switch => (0x10, 96),
            Elements::Numbers { primitive, split } => {
                let (plain, in_bytes) = match primitive {
                    Primitive::Bool => (0x00, 0x00),
                    Primitive::I8 => (0x03, 0x03),
                    Primitive::U8 => (0x04, 0x04),
                    Primitive::I16 => (0x05, 0x11),
                    Primitive::U16 => (0x06, 0x12),
                    Primitive::I32 => (0x07, 0x13),
                    Primitive::U32 => (0x08, 0x14),
                    Primitive::I64 => (0x09, 0x15),
                    Primitive::U64 => (0x0A, 0x16),
                    Primitive::F32 => (0x0C, 0x18),
                    Primitive::F64 => (0x0D, 0x19),
                };
                (if split { in_bytes } else { plain }, 8 * primitive.size() as u16)
            }
        }
    }

    /// Bytes of an element before it is encoded.
    pub(super) fn size(self) -> usize {
        match self {
            Elements::Bits | Elements::Chars => 1,
            Elements::Numbers { primitive, .. } => primitive.size(),
            Elements::Ends { .. } => 8,
            Elements::Switch => 12,
        }
    }

    /// The bytes of a page of these elements, in `room` if they are not as given.
    pub(super) fn encode<'a>(self, elements: &'a [u8], room: &'a mut Vec<u8>) -> &'a [u8] {
        use Primitive::{F32, F64, I16, I32, I64, U16, U32, U64};
        let Elements::Numbers { primitive, split: true } = self else {
            match self {
                Elements::Bits => pack(elements, room),
                Elements::Ends { split: true } => {
                    let mut last = 0;
                    split(elements, room, |end: [u8; 8]| {
                        let end = u64::from_le_bytes(end);
                        let step = end.wrapping_sub(last);
                        last = end;
                        step.to_le_bytes()
                    });
                }
                _ => return elements,
            }
            return room;
        };
        // Signed numbers are stored with their sign in the lowest bit.
        macro_rules! zigzag {
            ($type:ty) => {
                split(elements, room, |bytes| {
                    let value = <$type>::from_le_bytes(bytes);
                    (value << 1 ^ value >> (<$type>::BITS - 1)).to_le_bytes()
                })
            };
        }
        match primitive {
            I16 => zigzag!(i16),
            I32 => zigzag!(i32),
            I64 => zigzag!(i64),
            U16 => split(elements, room, |bytes: [u8; 2]| bytes),
            U32 | F32 => split(elements, room, |bytes: [u8; 4]| bytes),
            U64 | F64 => split(elements, room, |bytes: [u8; 8]| bytes),
            Primitive::Bool | Primitive::I8 | Primitive::U8 => return elements,
        }
        room
    }
}

/// The first bytes of all elements, then all second bytes, and so on.
fn split<const SIZE: usize>(
    elements: &[u8],
    room: &mut Vec<u8>,
    mut map: impl FnMut([u8; SIZE]) -> [u8; SIZE],
) {
    let (elements, _) = elements.as_chunks::<SIZE>();
    let count = elements.len();
    room.clear();
    room.resize(count * SIZE, 0);
    let mut rest = room.as_mut_slice();
    let mut planes: [&mut [u8]; SIZE] = array::from_fn(|_| {
        let (plane, behind) = std::mem::take(&mut rest).split_at_mut(count);
        rest = behind;
        plane
    });
    for (at, element) in elements.iter().enumerate() {
        for (plane, byte) in planes.iter_mut().zip(map(*element)) {
            plane[at] = byte;
        }
    }
}

/// Booleans as bits, the first one lowest.
fn pack(elements: &[u8], room: &mut Vec<u8>) {
    let byte = |bits: &[u8]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit != 0));
    room.clear();
    room.extend(elements.chunks(8).map(byte));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elements::PageBytes;
    use crate::encoding::Encoding;
    use sapwood_core::Buffer;

    #[test]
    fn what_is_encoded_is_decoded() {
        let bytes: Vec<u8> = (0..13 * 8_u32).map(|n| ((n * n * 37) >> 2) as u8).collect();
        for primitive in Primitive::ALL {
            for split in [false, true] {
                let count = 13;
                let mut elements = bytes[..count * primitive.size()].to_vec();
                if primitive == Primitive::Bool {
                    elements.iter_mut().for_each(|byte| *byte &= 1);
                }
                let encoder = Elements::of_numbers(primitive, split);
                let (kind, bits) = encoder.stored_as();
                let encoding = Encoding::of(kind, bits, None).unwrap().unwrap();
                let mut room = Vec::new();
                let page = PageBytes { encoding, count, bytes: encoder.encode(&elements, &mut room) };
                assert_eq!(page.bytes.len() as u64, encoding.bytes(count as u64));
                let mut out = Buffer::zeroed(elements.len());
                macro_rules! decode {
                    ($($variant:ident $type:ty),*) => { match primitive {
                        $(Primitive::$variant => page.numbers(0..count, out.view_mut::<$type>()),)*
                        Primitive::Bool => page.bools(0..count, out.view_mut()),
                    } };
                }
                decode!(I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64, F32 f32, F64 f64)
                    .unwrap();
                assert_eq!(out.as_bytes(), elements, "{primitive:?}, split: {split}");
            }
        }
    }

    #[test]
    fn ends_are_differences_that_begin_anew_in_each_page() {
        let ends = [10_u64, 10, 300, 70_000].map(u64::to_le_bytes).concat();
        for split in [false, true] {
            let encoder = Elements::Ends { split };
            let (kind, bits) = encoder.stored_as();
            let encoding = Encoding::of(kind, bits, None).unwrap().unwrap();
            let (mut room, mut read) = (Vec::new(), [0; 4]);
            let page = PageBytes { encoding, count: 4, bytes: encoder.encode(&ends, &mut room) };
            page.ends(0..4, &mut read).unwrap();
            assert_eq!(read, [10, 10, 300, 70_000]);
        }
    }
}
