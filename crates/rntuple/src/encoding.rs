//! Encodings of columns: the bytes of a page, to numbers in the array of a field.

use sapwood_core::{Buffer, Error, Primitive, Result};
use std::ops::Range;

/// How the elements of a column are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Encoding {
    pub(crate) kind: Kind,
    /// Bits of an element.
    pub(crate) bits: u16,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Bit,
    /// Numbers as they are, or split into bytes.
    Plain {
        primitive: Primitive,
        split: bool,
        zigzag: bool,
    },
    Half {
        split: bool,
    },
    /// Ends of lists; split ones are differences.
    Index {
        wide: bool,
        split: bool,
    },
    Switch,
    /// The upper bits of floats.
    Truncated,
    Quantised {
        low: f64,
        high: f64,
    },
}

impl Encoding {
    /// The encoding of a column type; `None` if it is unknown.
    ///
    /// # Errors
    /// `Corrupt` if the type does not have so many bits.
    pub(crate) fn of(kind: u16, bits: u16, range: Option<(f64, f64)>) -> Result<Option<Encoding>> {
        use Primitive::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let plain = |primitive| Kind::Plain { primitive, split: false, zigzag: false };
        let split = |primitive, zigzag| Kind::Plain { primitive, split: true, zigzag };
        let (kind, allowed) = match kind {
            0x00 => (Kind::Bit, 1..=1),
            0x01 | 0x04 => (plain(U8), 8..=8),
            0x02 | 0x03 => (plain(I8), 8..=8),
            0x05 => (plain(I16), 16..=16),
            0x06 => (plain(U16), 16..=16),
            0x07 => (plain(I32), 32..=32),
            0x08 => (plain(U32), 32..=32),
            0x09 => (plain(I64), 64..=64),
            0x0A => (plain(U64), 64..=64),
            0x0B => (Kind::Half { split: false }, 16..=16),
            0x0C => (plain(F32), 32..=32),
            0x0D => (plain(F64), 64..=64),
            0x0E => (Kind::Index { wide: false, split: false }, 32..=32),
            0x0F => (Kind::Index { wide: true, split: false }, 64..=64),
            0x10 => (Kind::Switch, 96..=96),
            0x11 => (split(I16, true), 16..=16),
            0x12 => (split(U16, false), 16..=16),
            0x13 => (split(I32, true), 32..=32),
            0x14 => (split(U32, false), 32..=32),
            0x15 => (split(I64, true), 64..=64),
            0x16 => (split(U64, false), 64..=64),
            0x17 => (Kind::Half { split: true }, 16..=16),
            0x18 => (split(F32, false), 32..=32),
            0x19 => (split(F64, false), 64..=64),
            0x1A => (Kind::Index { wide: false, split: true }, 32..=32),
            0x1B => (Kind::Index { wide: true, split: true }, 64..=64),
            0x1C => (Kind::Truncated, 10..=31),
            0x1D => {
                let Some((low, high)) = range else {
                    return Err(Error::corrupt("a quantised column without a range of values"));
                };
                (Kind::Quantised { low, high }, 1..=32)
            }
            _ => return Ok(None),
        };
        match allowed.contains(&bits) {
            true => Ok(Some(Encoding { kind, bits })),
            false => Err(Error::corrupt(format!("a column of {bits} bits, which its type cannot have"))),
        }
    }

    /// Bytes of so many elements.
    pub(crate) fn bytes(self, elements: u64) -> u64 {
        (elements * u64::from(self.bits)).div_ceil(8)
    }

    /// Whether its elements are numbers that a field of this type may have.
    pub(crate) fn can_be(self, field: Primitive) -> bool {
        let is_float = |primitive| matches!(primitive, Primitive::F32 | Primitive::F64);
        match self.kind {
            Kind::Bit => !is_float(field),
            Kind::Plain { primitive, .. } => is_float(primitive) == is_float(field),
            Kind::Half { .. } | Kind::Truncated | Kind::Quantised { .. } => is_float(field),
            Kind::Index { .. } => !is_float(field),
            Kind::Switch => false,
        }
    }
}

/// A page of `count` elements, uncompressed; holds as many bytes as the encoding says.
#[derive(Clone, Copy)]
pub(crate) struct PageBytes<'a> {
    pub(crate) encoding: Encoding,
    pub(crate) count: usize,
    pub(crate) bytes: &'a [u8],
}

impl PageBytes<'_> {
    /// Decodes some elements to `out`, from its item number `at` on.
    pub(crate) fn decode(
        &self,
        wanted: &Range<usize>,
        out: &mut Buffer,
        as_type: Primitive,
        at: usize,
    ) -> Result<()> {
        macro_rules! into {
            ($($variant:ident $type:ty),*) => { match as_type {
                $(Primitive::$variant => self.numbers::<$type>(wanted, room(out, at, wanted)?),)*
                Primitive::Bool => self.bools(wanted, room(out, at, wanted)?),
            } };
        }
        into!(I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64, F32 f32, F64 f64)
    }

    fn numbers<T: Number>(&self, wanted: &Range<usize>, out: &mut [T]) -> Result<()> {
        use Primitive::{Bool, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        match self.encoding.kind {
            Kind::Bit => self.each(wanted, out, |page, index| T::integer(page.bit(index).into())),
            Kind::Plain { primitive, split, zigzag } => {
                macro_rules! stored {
                    ($type:ty, $convert:expr) => {{
                        const N: usize = size_of::<$type>();
                        let convert = $convert;
                        match split {
                            false => self.each(wanted, out, |page, index| {
                                convert(<$type>::from_le_bytes(page.plain::<N>(index)))
                            }),
                            true => self.each(wanted, out, |page, index| {
                                convert(<$type>::from_le_bytes(page.split::<N>(index)))
                            }),
                        }
                    }};
                }
                macro_rules! signed {
                    ($signed:ty, $unsigned:ty) => {
                        if zigzag {
                            stored!($unsigned, |x: $unsigned| {
                                let value = (x >> 1) ^ (x & 1).wrapping_neg();
                                T::integer(value.cast_signed().into())
                            })
                        } else {
                            stored!($signed, |x: $signed| T::integer(x.into()))
                        }
                    };
                }
                match primitive {
                    Bool | U8 => stored!(u8, |x: u8| T::integer(x.into())),
                    I8 => stored!(i8, |x: i8| T::integer(x.into())),
                    I16 => signed!(i16, u16),
                    U16 => stored!(u16, |x: u16| T::integer(x.into())),
                    I32 => signed!(i32, u32),
                    U32 => stored!(u32, |x: u32| T::integer(x.into())),
                    I64 => signed!(i64, u64),
                    U64 => stored!(u64, |x: u64| T::integer(x.into())),
                    F32 => stored!(f32, |x: f32| Some(T::single(x))),
                    F64 => stored!(f64, |x: f64| Some(T::double(x))),
                }
            }
            Kind::Half { split } => self.each(wanted, out, |page, index| {
                let bytes = if split { page.split::<2>(index) } else { page.plain::<2>(index) };
                Some(T::single(half(u16::from_le_bytes(bytes))))
            }),
            Kind::Truncated => {
                let bits = u32::from(self.encoding.bits);
                self.each(wanted, out, |page, index| {
                    let word = u32::try_from(page.packed(index)).ok()?;
                    Some(T::single(f32::from_bits(word << (32 - bits))))
                })
            }
            Kind::Quantised { low, high } => {
                let steps = ((1_u64 << self.encoding.bits) - 1) as f64;
                let step = (high - low) / steps;
                self.each(wanted, out, |page, index| {
                    #[expect(clippy::cast_possible_truncation, reason = "the field is a float")]
                    let value = (page.packed(index) as f64 * step + low).min(high) as f32;
                    Some(T::single(value))
                })
            }
            Kind::Index { .. } | Kind::Switch => Err(Error::unsupported("a column of positions as numbers")),
        }
    }

    fn each<T: Number>(
        &self,
        wanted: &Range<usize>,
        out: &mut [T],
        element: impl Fn(&Self, usize) -> Option<T>,
    ) -> Result<()> {
        for (place, index) in out.iter_mut().zip(wanted.clone()) {
            *place = element(self, index)
                .ok_or_else(|| Error::corrupt("a stored number exceeds the range of its field's type"))?;
        }
        Ok(())
    }

    fn bools(&self, wanted: &Range<usize>, out: &mut [u8]) -> Result<()> {
        if self.encoding.kind == Kind::Bit {
            out.iter_mut().zip(wanted.clone()).for_each(|(place, index)| *place = u8::from(self.bit(index)));
            return Ok(());
        }
        self.numbers(wanted, out)?;
        out.iter_mut().for_each(|value| *value = u8::from(*value != 0));
        Ok(())
    }

    /// The ends of lists: element by element, in their cluster.
    pub(crate) fn ends(&self, wanted: &Range<usize>, out: &mut Vec<u64>) -> Result<()> {
        let Kind::Index { wide, split } = self.encoding.kind else {
            return Err(Error::corrupt("the ends of lists are in a column of another type"));
        };
        let stored = |index: usize| match (wide, split) {
            (false, false) => u32::from_le_bytes(self.plain(index)).into(),
            (false, true) => u32::from_le_bytes(self.split(index)).into(),
            (true, false) => u64::from_le_bytes(self.plain(index)),
            (true, true) => u64::from_le_bytes(self.split(index)),
        };
        if !split {
            out.extend(wanted.clone().map(stored));
            return Ok(());
        }
        // Differences begin in each page.
        let mut sum = (0..wanted.start).map(stored).fold(0, u64::wrapping_add);
        for index in wanted.clone() {
            sum = sum.wrapping_add(stored(index));
            out.push(if wide { sum } else { sum & u64::from(u32::MAX) });
        }
        Ok(())
    }

    /// Positions and tags of variants.
    pub(crate) fn switches(&self, wanted: &Range<usize>, out: &mut Vec<(u64, u32)>) -> Result<()> {
        if self.encoding.kind != Kind::Switch {
            return Err(Error::corrupt("the tags of variants are in a column of another type"));
        }
        out.extend(wanted.clone().map(|index| {
            let [a, b, c, d, e, f, g, h, tag @ ..] = self.plain::<12>(index);
            (u64::from_le_bytes([a, b, c, d, e, f, g, h]), u32::from_le_bytes(tag))
        }));
        Ok(())
    }

    fn bit(&self, index: usize) -> bool {
        self.bytes[index / 8] >> (index % 8) & 1 != 0
    }

    fn plain<const N: usize>(&self, index: usize) -> [u8; N] {
        let mut element = [0; N];
        element.copy_from_slice(&self.bytes[index * N..(index + 1) * N]);
        element
    }

    fn split<const N: usize>(&self, index: usize) -> [u8; N] {
        std::array::from_fn(|byte| self.bytes[byte * self.count + index])
    }

    /// An element of up to 32 bits in a stream of bits.
    fn packed(&self, index: usize) -> u64 {
        let bits = usize::from(self.encoding.bits);
        let (byte, shift) = (index * bits / 8, index * bits % 8);
        let mut word = [0; 8];
        let there = &self.bytes[byte..self.bytes.len().min(byte + 8)];
        word[..there.len()].copy_from_slice(there);
        u64::from_le_bytes(word) >> shift & ((1 << bits) - 1)
    }
}

fn room<'o, T: bytemuck::Pod>(out: &'o mut Buffer, at: usize, wanted: &Range<usize>) -> Result<&'o mut [T]> {
    let room = out.view_mut::<T>().get_mut(at..at + wanted.len());
    room.ok_or_else(|| Error::corrupt("a page has more elements than its column"))
}

trait Number: bytemuck::Pod {
    fn integer(value: i128) -> Option<Self>;
    fn single(value: f32) -> Self;
    fn double(value: f64) -> Self;
}

macro_rules! integers {
    ($($type:ty),*) => { $(
        impl Number for $type {
            #[inline]
            fn integer(value: i128) -> Option<Self> {
                <$type>::try_from(value).ok()
            }
            fn single(_: f32) -> Self {
                0
            }
            fn double(_: f64) -> Self {
                0
            }
        }
    )* };
}

integers!(i8, u8, i16, u16, i32, u32, i64, u64);

impl Number for f32 {
    fn integer(_: i128) -> Option<Self> {
        None
    }
    #[inline]
    fn single(value: f32) -> Self {
        value
    }
    #[expect(clippy::cast_possible_truncation, reason = "a field of floats rounds")]
    fn double(value: f64) -> Self {
        value as f32
    }
}

impl Number for f64 {
    fn integer(_: i128) -> Option<Self> {
        None
    }
    fn single(value: f32) -> Self {
        value.into()
    }
    #[inline]
    fn double(value: f64) -> Self {
        value
    }
}

/// A number of IEEE 754 with 16 bits.
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (u32::from(bits >> 15) << 31, bits >> 10 & 31, u32::from(bits & 1023));
    match exponent {
        0 => {
            let magnitude = fraction as f32 / 16_777_216.0;
            if sign == 0 { magnitude } else { -magnitude }
        }
        31 => f32::from_bits(sign | 0x7F80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (u32::from(exponent) + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(kind: u16, bits: u16, range: Option<(f64, f64)>, bytes: &[u8]) -> Vec<f32> {
        let encoding = Encoding::of(kind, bits, range).unwrap().unwrap();
        let mut out = Buffer::zeroed(16);
        PageBytes { encoding, count: 4, bytes }.decode(&(0..4), &mut out, Primitive::F32, 0).unwrap();
        out.view::<f32>().to_vec()
    }

    #[test]
    fn truncated_and_quantised_numbers_are_those_of_root() {
        let truncated = floats(0x1C, 10, None, &[0xFE, 0x54, 0x05, 0xE7, 0xBF]);
        assert_eq!(truncated, [1.0, 13_194_139_533_312.0, -4.235_164_7e-22, -1.5]);
        let eight = floats(0x1D, 8, Some((-2.0, 3.0)), &[0xA5, 0xBB, 0x66, 0x05]);
        assert_eq!(eight, [1.235_294_1, 1.666_666_6, 0.0, -1.901_960_7]);
        assert_eq!(floats(0x1D, 1, Some((-2.0, 3.0)), &[3]), [3.0, 3.0, -2.0, -2.0]);
    }

    #[test]
    fn halves_are_exact() {
        let values = [0x3C00, 0xC000, 0x0001, 0x7C00].map(half);
        assert_eq!(values, [1.0, -2.0, 5.960_464_5e-8, f32::INFINITY]);
        assert!(half(0x7E00).is_nan());
    }

    #[test]
    fn split_differences_begin_in_each_page() {
        let encoding = Encoding::of(0x1A, 32, None).unwrap().unwrap();
        let bytes = [3, 2, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let mut ends = Vec::new();
        PageBytes { encoding, count: 3, bytes: &bytes }.ends(&(1..3), &mut ends).unwrap();
        assert_eq!(ends, [5, 10]);
    }

    #[test]
    fn numbers_beyond_a_field_are_refused() {
        let encoding = Encoding::of(0x05, 16, None).unwrap().unwrap();
        let mut out = Buffer::zeroed(1);
        let page = PageBytes { encoding, count: 1, bytes: &[0, 1] };
        assert!(page.decode(&(0..1), &mut out, Primitive::I8, 0).is_err());
        assert!(Encoding::of(0x05, 15, None).is_err());
    }
}
