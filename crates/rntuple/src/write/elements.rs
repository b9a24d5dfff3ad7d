//! Elements of columns: how a page of them is encoded before compression.

use crate::elements::{Number, Value, half, quantized};
use crate::encoding::{Encoding, Kind};
use sapwood_core::{Error, Primitive, Result};
use std::array;

/// What a field gives a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    /// Numbers; booleans of one byte each.
    Numbers(Primitive),
    /// Bytes of texts.
    Chars,
    /// Ends of lists: 64-bit numbers.
    Ends,
    /// Positions and tags of variants.
    Switch,
}

impl Memory {
    /// The type and the bits of the column that ROOT has for it; if `split`, one that compresses well.
    pub(super) fn usual_column(self, split: bool) -> (u16, u16) {
        match self {
            Memory::Numbers(primitive) => {
                let (plain, in_bytes) = match primitive {
                    Primitive::Bool => return (0x00, 1),
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
            Memory::Chars => (0x02, 8),
            Memory::Ends => (if split { 0x1B } else { 0x0F }, 64),
            Memory::Switch => (0x10, 96),
        }
    }

    /// Bytes of an element.
    pub(super) fn size(self) -> usize {
        match self {
            Memory::Numbers(primitive) => primitive.size(),
            Memory::Chars => 1,
            Memory::Ends => 8,
            Memory::Switch => 12,
        }
    }
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Elements {
    pub(super) memory: Memory,
    pub(super) encoding: Encoding,
}

impl Elements {
    /// Bytes of an element before it is encoded.
    pub(super) fn size(self) -> usize {
        self.memory.size()
    }

    /// The bytes of a page of these elements, in `room` if they are not as given.
    ///
    /// # Errors
    /// `Unsupported` if the column cannot hold them.
    pub(super) fn encode<'a>(self, elements: &'a [u8], room: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        match (self.memory, self.encoding.kind) {
            (Memory::Chars | Memory::Switch, _) => return Ok(elements),
            (Memory::Ends, kind) => return ends(elements, kind, room),
            (Memory::Numbers(Primitive::Bool), Kind::Bit) => pack(elements, room),
            (Memory::Numbers(own), Kind::Plain { primitive, split, .. }) if own == primitive => {
                if !split {
                    return Ok(elements);
                }
                in_planes(elements, primitive, room);
            }
            (Memory::Numbers(own), kind) => convert(elements, own, self.encoding.bits, kind, room)?,
        }
        Ok(room)
    }
}

/// Numbers as their bytes in planes; signed ones with their sign in the lowest bit.
fn in_planes(elements: &[u8], primitive: Primitive, room: &mut Vec<u8>) {
    macro_rules! zigzag {
        ($type:ty) => {
            split(elements, room, |bytes| {
                let value = <$type>::from_le_bytes(bytes);
                (value << 1 ^ value >> (<$type>::BITS - 1)).to_le_bytes()
            })
        };
    }
    match primitive {
        Primitive::I16 => zigzag!(i16),
        Primitive::I32 => zigzag!(i32),
        Primitive::I64 => zigzag!(i64),
        Primitive::U16 => split(elements, room, |bytes: [u8; 2]| bytes),
        Primitive::U32 | Primitive::F32 => split(elements, room, |bytes: [u8; 4]| bytes),
        Primitive::U64 | Primitive::F64 => split(elements, room, |bytes: [u8; 8]| bytes),
        Primitive::Bool | Primitive::I8 | Primitive::U8 => {
            room.clear();
            room.extend_from_slice(elements);
        }
    }
}

/// Ends of lists; split ones are stored as differences.
fn ends<'a>(elements: &'a [u8], kind: Kind, room: &'a mut Vec<u8>) -> Result<&'a [u8]> {
    let steps = |mut last: u64| {
        move |end: [u8; 8]| {
            let end = u64::from_le_bytes(end);
            let step = end.wrapping_sub(last);
            last = end;
            step.to_le_bytes()
        }
    };
    match kind {
        Kind::Index { wide: true, split: false } => return Ok(elements),
        Kind::Index { wide: true, split: true } => split(elements, room, steps(0)),
        _ => {
            let (ends, _) = elements.as_chunks::<8>();
            // The last one is the largest.
            if ends.last().is_some_and(|end| u64::from_le_bytes(*end) > u64::from(u32::MAX)) {
                return Err(Error::unsupported("a cluster has more items than a 32-bit index can count")
                    .hint("write smaller clusters"));
            }
            let narrow: Vec<u8> = match kind {
                Kind::Index { split: true, .. } => {
                    ends.iter().copied().map(steps(0)).flat_map(|[a, b, c, d, ..]| [a, b, c, d]).collect()
                }
                _ => ends.iter().flat_map(|[a, b, c, d, ..]| [*a, *b, *c, *d]).collect(),
            };
            match kind {
                Kind::Index { split: true, .. } => split(&narrow, room, |bytes: [u8; 4]| bytes),
                _ => *room = narrow,
            }
        }
    }
    Ok(room)
}

/// Numbers of another type than that of the column, or that it stores with fewer bits. They fit if they came from such a
/// column.
fn convert(elements: &[u8], own: Primitive, bits: u16, kind: Kind, room: &mut Vec<u8>) -> Result<()> {
    match kind {
        Kind::Bit => pack_bits(values(elements, own).map(|value| truth(&value)), 1, room),
        Kind::Plain { primitive, split, .. } => {
            let mut stored = Vec::with_capacity(elements.len());
            for value in values(elements, own) {
                put(value, primitive, &mut stored)?;
            }
            if split {
                in_planes(&stored, primitive, room);
            } else {
                *room = stored;
            }
        }
        Kind::Half { split } => {
            let halves =
                floats(elements, own).map(|value| narrow(value).and_then(to_half).map(u16::to_le_bytes));
            let stored = halves.collect::<Result<Vec<_>>>()?.concat();
            if split {
                in_planes(&stored, Primitive::U16, room);
            } else {
                *room = stored;
            }
        }
        Kind::Truncated => {
            let shift = 32 - u32::from(bits);
            let upper = floats(elements, own).map(|value| {
                let all = narrow(value)?.to_bits();
                if all >> shift << shift == all { Ok(all >> shift) } else { Err(inexact()) }
            });
            pack_bits(upper.collect::<Result<Vec<_>>>()?.into_iter(), bits, room);
        }
        Kind::Quantized { low, high } => {
            let step = (high - low) / ((1_u64 << bits) - 1) as f64;
            let narrow = own == Primitive::F32;
            let numbers = floats(elements, own).map(|value| {
                let number = ((value - low) / step).round();
                let found = quantized(number as u32, step, low, high);
                let found = if narrow { f64::from(found as f32) } else { found };
                if found == value { Ok(number as u32) } else { Err(inexact()) }
            });
            pack_bits(numbers.collect::<Result<Vec<_>>>()?.into_iter(), bits, room);
        }
        Kind::Index { .. } | Kind::Switch => return Err(Error::corrupt("numbers in a column of positions")),
    }
    Ok(())
}

fn inexact() -> Error {
    Error::unsupported("a number does not fit the precision of its column")
}

fn truth(value: &Value) -> u32 {
    match value {
        Value::Integer(value) => u32::from(*value != 0),
        Value::Float(value) => u32::from(*value != 0.0),
    }
}

/// Numbers of a type.
fn values(elements: &[u8], own: Primitive) -> impl Iterator<Item = Value> {
    let size = own.size();
    elements.chunks_exact(size).map(move |bytes| {
        macro_rules! value {
            ($($variant:ident $type:ty),*) => { match own {
                $(Primitive::$variant => {
                    bytes.try_into().map_or(Value::Integer(0), |bytes| <$type>::from_le_bytes(bytes).value())
                })*
            } };
        }
        value!(Bool u8, I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64, F32 f32, F64 f64)
    })
}

fn floats(elements: &[u8], own: Primitive) -> impl Iterator<Item = f64> {
    values(elements, own).map(|value| match value {
        Value::Integer(value) => value as f64,
        Value::Float(value) => value,
    })
}

fn put(value: Value, primitive: Primitive, stored: &mut Vec<u8>) -> Result<()> {
    macro_rules! put {
        ($($variant:ident $type:ty),*) => { match primitive {
            $(Primitive::$variant => <$type>::from_value(value).map(|value| stored.extend(value.to_le_bytes())),)*
        } };
    }
    let fits =
        put!(Bool u8, I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64, F32 f32, F64 f64);
    fits.ok_or_else(|| Error::unsupported("a number exceeds the range of its column"))
}

/// The number with 32 bits that is this one.
fn narrow(value: f64) -> Result<f32> {
    let found = value as f32;
    if f64::from(found) == value || value.is_nan() { Ok(found) } else { Err(inexact()) }
}

/// The number of IEEE 754 with 16 bits that is this one.
fn to_half(value: f32) -> Result<u16> {
    let bits = value.to_bits();
    let (sign, exponent, fraction) = ((bits >> 16 & 0x8000) as u16, bits >> 23 & 255, bits & 0x7F_FFFF);
    let magnitude = match exponent {
        255 => 0x7C00 | fraction >> 13,
        113..=142 => (exponent - 112) << 10 | fraction >> 13,
        // Numbers below the least exponent count its smallest steps.
        _ => (value.abs() * 16_777_216.0) as u32 & 0x3FF,
    };
    let found = sign | magnitude as u16;
    if half(found).to_bits() == bits { Ok(found) } else { Err(inexact()) }
}

/// The lowest bits of numbers as a stream.
fn pack_bits(numbers: impl Iterator<Item = u32>, bits: u16, room: &mut Vec<u8>) {
    room.clear();
    let (mut word, mut filled) = (0_u64, 0);
    for number in numbers {
        word |= u64::from(number) << filled;
        filled += u32::from(bits);
        while filled >= 8 {
            room.push(word as u8);
            word >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        room.push(word as u8);
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
                let memory = Memory::Numbers(primitive);
                let (kind, bits) = memory.usual_column(split);
                let encoding = Encoding::of(kind, bits, None).unwrap().unwrap();
                let mut room = Vec::new();
                let bytes = Elements { memory, encoding }.encode(&elements, &mut room).unwrap();
                let page = PageBytes { encoding, count, bytes };
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
    fn ends_are_differences_that_begin_again_in_each_page() {
        let ends = [10_u64, 10, 300, 70_000].map(u64::to_le_bytes).concat();
        for (kind, bits) in [(0x0E, 32), (0x0F, 64), (0x1A, 32), (0x1B, 64)] {
            let encoding = Encoding::of(kind, bits, None).unwrap().unwrap();
            let (mut room, mut read) = (Vec::new(), [0; 4]);
            let bytes = Elements { memory: Memory::Ends, encoding }.encode(&ends, &mut room).unwrap();
            let page = PageBytes { encoding, count: 4, bytes };
            page.ends(0..4, &mut read).unwrap();
            assert_eq!(read, [10, 10, 300, 70_000]);
        }
    }

    #[test]
    fn numbers_of_fewer_bits_are_written_as_they_were_stored() {
        let types = [(0x0B, 16), (0x17, 16), (0x1C, 10), (0x1C, 17), (0x1C, 31)];
        let quantized = [1, 5, 14, 24, 32].map(|bits| (0x1D, bits, Some((-2.0, 3.0))));
        for (kind, bits, range) in types.map(|(kind, bits)| (kind, bits, None)).into_iter().chain(quantized) {
            let encoding = Encoding::of(kind, bits, range).unwrap().unwrap();
            let count = 64;
            let mut stored: Vec<u8> =
                (0..encoding.bytes(count as u64)).map(|n| ((n * n * 37) >> 2) as u8).collect();
            if kind != 0x1D {
                // Not a number differs from itself.
                stored.iter_mut().for_each(|byte| *byte &= 0x5B);
            }
            let page = PageBytes { encoding, count, bytes: &stored };
            let mut values = vec![0_f64; count];
            page.numbers(0..count, &mut values).unwrap();
            let memory = Memory::Numbers(Primitive::F64);
            let mut room = Vec::new();
            let elements = Elements { memory, encoding };
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            assert_eq!(elements.encode(&bytes, &mut room).unwrap(), stored, "{kind:#x} {bits}");
            let between = [1.234_567_890_123_f64, 0.1].map(f64::to_le_bytes).concat();
            assert!(elements.encode(&between, &mut room).is_err(), "{kind:#x} {bits}");
        }
    }

    #[test]
    fn fields_may_have_other_types_than_their_columns() {
        let values = [0_i64, -1, 127, -128];
        let bytes = values.map(i64::to_le_bytes).concat();
        for (kind, bits) in [(0x03, 8), (0x05, 16), (0x13, 32)] {
            let encoding = Encoding::of(kind, bits, None).unwrap().unwrap();
            let elements = Elements { memory: Memory::Numbers(Primitive::I64), encoding };
            let (mut room, mut read) = (Vec::new(), [0_i64; 4]);
            let page = PageBytes { encoding, count: 4, bytes: elements.encode(&bytes, &mut room).unwrap() };
            page.numbers(0..4, &mut read).unwrap();
            assert_eq!(read, values);
            let large = i64::MAX.to_le_bytes();
            assert!(elements.encode(&large, &mut room).is_err());
        }
        let index = Encoding::of(0x0E, 32, None).unwrap().unwrap();
        let elements = Elements { memory: Memory::Ends, encoding: index };
        assert!(elements.encode(&(1_u64 << 32).to_le_bytes(), &mut Vec::new()).is_err());
    }
}
