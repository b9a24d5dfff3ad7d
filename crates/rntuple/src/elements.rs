//! The elements of a page: from its bytes straight into the array of a field.

use crate::encoding::{Encoding, Kind};
use bytemuck::Pod;
use multiversion::multiversion;
use sapwood_core::{Error, Primitive, Result};
use std::array;
use std::ops::Range;

/// Numbers that are converted to another type go through as many in the processor's cache.
const BLOCK: usize = 512;

/// A page of `count` elements, uncompressed; holds as many bytes as the encoding says.
#[derive(Clone, Copy)]
pub(crate) struct PageBytes<'a> {
    pub(crate) encoding: Encoding,
    pub(crate) count: usize,
    pub(crate) bytes: &'a [u8],
}

impl PageBytes<'_> {
    /// Decodes the elements `wanted` to `out`, which has room for them.
    ///
    /// # Errors
    /// `Corrupt` if one exceeds the range of its type.
    pub(crate) fn numbers<T: Number>(&self, wanted: Range<usize>, out: &mut [T]) -> Result<()> {
        match self.encoding.kind {
            Kind::Bit => via(wanted, out, |wanted, out| self.bits(wanted, out)),
            Kind::Plain { primitive, split, zigzag } => {
                macro_rules! words {
                    ($type:ty, $word:ty, $planes:ident, $zigzag:ident) => {
                        via::<$type, T>(wanted, out, |wanted, out| {
                            let out: &mut [$word] = bytemuck::cast_slice_mut(out);
                            match split {
                                false => plain(self.bytes, wanted, out),
                                true if zigzag => $zigzag(self.planes(wanted), out),
                                true => $planes(self.planes(wanted), out),
                            }
                        })
                    };
                }
                match primitive {
                    Primitive::Bool | Primitive::U8 => via::<u8, T>(wanted, out, |wanted, out| {
                        out.copy_from_slice(&self.bytes[wanted]);
                    }),
                    Primitive::I8 => via::<i8, T>(wanted, out, |wanted, out| {
                        out.copy_from_slice(bytemuck::cast_slice(&self.bytes[wanted]));
                    }),
                    Primitive::I16 => words!(i16, u16, planes_16, zigzag_16),
                    Primitive::U16 => words!(u16, u16, planes_16, zigzag_16),
                    Primitive::I32 => words!(i32, u32, planes_32, zigzag_32),
                    Primitive::U32 => words!(u32, u32, planes_32, zigzag_32),
                    Primitive::I64 => words!(i64, u64, planes_64, zigzag_64),
                    Primitive::U64 => words!(u64, u64, planes_64, zigzag_64),
                    Primitive::F32 => words!(f32, u32, planes_32, zigzag_32),
                    Primitive::F64 => words!(f64, u64, planes_64, zigzag_64),
                }
            }
            Kind::Half { split } => via::<f32, T>(wanted, out, |wanted, out| {
                let mut words = [0_u16; BLOCK];
                for (block, out) in blocks(wanted).zip(out.chunks_mut(BLOCK)) {
                    let words = &mut words[..out.len()];
                    if split {
                        planes_16(self.planes(block), words)
                    } else {
                        plain(self.bytes, block, words)
                    }
                    out.iter_mut().zip(words).for_each(|(out, word)| *out = half(*word));
                }
            }),
            Kind::Truncated => via::<f32, T>(wanted, out, |wanted, out| {
                let shift = 32 - u32::from(self.encoding.bits);
                for (out, index) in out.iter_mut().zip(wanted) {
                    *out = f32::from_bits(self.packed(index) << shift);
                }
            }),
            Kind::Quantized { low, high } => {
                let step = (high - low) / ((1_u64 << self.encoding.bits) - 1) as f64;
                via::<f64, T>(wanted, out, |wanted, out| {
                    for (out, index) in out.iter_mut().zip(wanted) {
                        *out = quantized(self.packed(index), step, low, high);
                    }
                })
            }
            Kind::Index { .. } | Kind::Switch => {
                Err(Error::corrupt("a column of positions where numbers are expected"))
            }
        }
    }

    /// As [`numbers`](Self::numbers): 0 is false, all else is true.
    pub(crate) fn bools(&self, wanted: Range<usize>, out: &mut [u8]) -> Result<()> {
        self.numbers(wanted, out)?;
        if self.encoding.kind != Kind::Bit {
            out.iter_mut().for_each(|value| *value = u8::from(*value != 0));
        }
        Ok(())
    }

    /// The ends of the lists `wanted`, counted in their cluster, which are in order.
    ///
    /// # Errors
    /// `Corrupt` if a list ends before it begins.
    pub(crate) fn ends(&self, wanted: Range<usize>, out: &mut [i64]) -> Result<()> {
        let Kind::Index { wide, split } = self.encoding.kind else {
            return Err(Error::corrupt("the ends of lists are in a column of another type"));
        };
        macro_rules! ends {
            ($word:ty, $planes:ident) => {{
                let mut words = [0; BLOCK];
                let mut last: $word = 0;
                // Differences begin in each page.
                for block in blocks(if split { 0..wanted.start } else { 0..0 }) {
                    let words = &mut words[..block.len()];
                    $planes(self.planes(block), words);
                    last = words.iter().fold(last, |sum, word| sum.wrapping_add(*word));
                }
                let mut in_order = true;
                for (block, out) in blocks(wanted).zip(out.chunks_mut(BLOCK)) {
                    let words = &mut words[..out.len()];
                    if split {
                        $planes(self.planes(block), words);
                    } else {
                        plain(self.bytes, block, words);
                    }
                    for (out, word) in out.iter_mut().zip(words) {
                        let end = if split { last.wrapping_add(*word) } else { *word };
                        in_order &= last <= end;
                        // Negative if it exceeds 2⁶³, which the last one shows.
                        (*out, last) = (end as i64, end);
                    }
                }
                in_order
            }};
        }
        let in_order = if wide { ends!(u64, planes_64) } else { ends!(u32, planes_32) };
        let in_order = in_order && out.last().is_none_or(|last| *last >= 0);
        if in_order { Ok(()) } else { Err(Error::corrupt("a list ends before it begins")) }
    }

    /// Positions and tags of variants.
    pub(crate) fn switches(&self, wanted: Range<usize>, out: &mut Vec<(u64, u32)>) -> Result<()> {
        if self.encoding.kind != Kind::Switch {
            return Err(Error::corrupt("the tags of variants are in a column of another type"));
        }
        let elements = &self.bytes.as_chunks::<12>().0[wanted];
        out.extend(elements.iter().map(|[a, b, c, d, e, f, g, h, tag @ ..]| {
            (u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]), u32::from_le_bytes(*tag))
        }));
        Ok(())
    }

    /// The bytes of these elements in each plane.
    fn planes<const N: usize>(&self, wanted: Range<usize>) -> [&[u8]; N] {
        array::from_fn(|byte| &self.bytes[byte * self.count..][wanted.clone()])
    }

    fn bits(&self, wanted: Range<usize>, out: &mut [u8]) {
        let bit = |index: usize| self.bytes[index / 8] >> (index % 8) & 1;
        let whole = wanted.start.next_multiple_of(8).min(wanted.end);
        let (head, rest) = out.split_at_mut(whole - wanted.start);
        head.iter_mut().zip(wanted.start..whole).for_each(|(out, index)| *out = bit(index));
        let (eights, tail) = rest.as_chunks_mut::<8>();
        for (out, byte) in eights.iter_mut().zip(&self.bytes[(whole / 8).min(self.bytes.len())..]) {
            // Each byte of the word keeps its bit of the eight, which then moves to the lowest place.
            let each = u64::from(*byte).wrapping_mul(0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
            *out = ((each + 0x7F7F_7F7F_7F7F_7F7F) >> 7 & 0x0101_0101_0101_0101).to_le_bytes();
        }
        let last = wanted.end - tail.len();
        tail.iter_mut().zip(last..wanted.end).for_each(|(out, index)| *out = bit(index));
    }

    /// An element of up to 32 bits in a stream of bits.
    fn packed(&self, index: usize) -> u32 {
        let bits = usize::from(self.encoding.bits);
        let (byte, shift) = (index * bits / 8, index * bits % 8);
        let there = &self.bytes[byte..];
        let word = there.first_chunk().copied().unwrap_or_else(|| {
            let mut word = [0; 8];
            word[..there.len()].copy_from_slice(there);
            word
        });
        // At most 32 bits are left.
        (u64::from_le_bytes(word) >> shift & ((1 << bits) - 1)) as u32
    }
}

/// A range in blocks.
fn blocks(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    range.clone().step_by(BLOCK).map(move |start| start..range.end.min(start + BLOCK))
}

/// Decodes to the stored type `S` with `fill`: in place if that is the type of `out`, else block by block.
fn via<S: Number, T: Number>(
    wanted: Range<usize>,
    out: &mut [T],
    fill: impl Fn(Range<usize>, &mut [S]),
) -> Result<()> {
    if S::PRIMITIVE == T::PRIMITIVE {
        fill(wanted, bytemuck::cast_slice_mut(out));
        return Ok(());
    }
    let mut stored = [S::zeroed(); BLOCK];
    for (block, out) in blocks(wanted).zip(out.chunks_mut(BLOCK)) {
        let stored = &mut stored[..out.len()];
        fill(block, stored);
        convert(stored, out)?;
    }
    Ok(())
}

fn convert<S: Number, T: Number>(stored: &[S], out: &mut [T]) -> Result<()> {
    let mut in_range = true;
    for (out, stored) in out.iter_mut().zip(stored) {
        let converted = T::from_value(stored.value());
        in_range &= converted.is_some();
        *out = converted.unwrap_or(T::zeroed());
    }
    if in_range {
        Ok(())
    } else {
        Err(Error::corrupt("a stored number exceeds the range of its field's type"))
    }
}

fn plain<W: Word>(bytes: &[u8], wanted: Range<usize>, out: &mut [W]) {
    let bytes = &bytes[wanted.start * size_of::<W>()..wanted.end * size_of::<W>()];
    bytemuck::cast_slice_mut(out).copy_from_slice(bytes);
    if cfg!(target_endian = "big") {
        out.iter_mut().for_each(|word| *word = word.little_endian());
    }
}

trait Word: Pod {
    fn little_endian(self) -> Self;
}

macro_rules! words {
    ($($word:ty, $planes:ident, $zigzag:ident;)*) => { $(
        impl Word for $word {
            fn little_endian(self) -> Self {
                <$word>::from_le(self)
            }
        }

        /// Joins the bytes of each word.
        #[multiversion(targets("x86_64+avx2"))]
        fn $planes(planes: [&[u8]; size_of::<$word>()], out: &mut [$word]) {
            let planes = planes.map(|plane| &plane[..out.len()]);
            for (index, out) in out.iter_mut().enumerate() {
                *out = <$word>::from_le_bytes(planes.map(|plane| plane[index]));
            }
        }

        /// As without zigzag: signed numbers are stored with their sign in the lowest bit.
        #[multiversion(targets("x86_64+avx2"))]
        fn $zigzag(planes: [&[u8]; size_of::<$word>()], out: &mut [$word]) {
            let planes = planes.map(|plane| &plane[..out.len()]);
            for (index, out) in out.iter_mut().enumerate() {
                let word = <$word>::from_le_bytes(planes.map(|plane| plane[index]));
                *out = (word >> 1) ^ (word & 1).wrapping_neg();
            }
        }
    )* };
}

words! {
    u16, planes_16, zigzag_16;
    u32, planes_32, zigzag_32;
    u64, planes_64, zigzag_64;
}

/// A number of any type.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    Integer(i128),
    Float(f64),
}

/// The type of a field of numbers.
pub(crate) trait Number: Pod + Send + Sync {
    const PRIMITIVE: Primitive;
    fn value(self) -> Value;
    /// `None` if it is no number of this type.
    fn from_value(value: Value) -> Option<Self>;
}

macro_rules! integers {
    ($($type:ty, $primitive:ident;)*) => { $(
        impl Number for $type {
            const PRIMITIVE: Primitive = Primitive::$primitive;
            #[inline]
            fn value(self) -> Value {
                Value::Integer(self.into())
            }
            #[inline]
            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::Integer(value) => value.try_into().ok(),
                    Value::Float(_) => None,
                }
            }
        }
    )* };
}

integers! { i8, I8; u8, U8; i16, I16; u16, U16; i32, I32; u32, U32; i64, I64; u64, U64; }

macro_rules! floats {
    ($($type:ty, $primitive:ident;)*) => { $(
        impl Number for $type {
            const PRIMITIVE: Primitive = Primitive::$primitive;
            #[inline]
            fn value(self) -> Value {
                Value::Float(self.into())
            }
            #[inline]
            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::Integer(_) => None,
                    // As ROOT, doubles in fields of floats are rounded.
                    Value::Float(value) => Some(value as $type),
                }
            }
        }
    )* };
}

floats! { f32, F32; f64, F64; }

/// The number that a quantized one stands for.
pub(crate) fn quantized(number: u32, step: f64, low: f64, high: f64) -> f64 {
    (f64::from(number) * step + low).min(high)
}

/// A number of IEEE 754 with 16 bits.
pub(crate) fn half(bits: u16) -> f32 {
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

    fn page(kind: u16, bits: u16, range: Option<(f64, f64)>, count: usize, bytes: &[u8]) -> PageBytes<'_> {
        PageBytes { encoding: Encoding::of(kind, bits, range).unwrap().unwrap(), count, bytes }
    }

    fn numbers<T: Number>(page: PageBytes<'_>, wanted: Range<usize>) -> Result<Vec<T>> {
        let mut out = vec![T::zeroed(); wanted.len()];
        page.numbers(wanted, &mut out).map(|()| out)
    }

    #[test]
    fn truncated_and_quantized_numbers_are_those_of_root() {
        let floats = |kind, bits, range, bytes: &[u8]| -> Vec<f32> {
            numbers(page(kind, bits, range, 4, bytes), 0..4).unwrap()
        };
        let truncated = floats(0x1C, 10, None, &[0xFE, 0x54, 0x05, 0xE7, 0xBF]);
        assert_eq!(truncated, [1.0, 13_194_139_533_312.0, -4.235_164_7e-22, -1.5]);
        let eight = floats(0x1D, 8, Some((-2.0, 3.0)), &[0xA5, 0xBB, 0x66, 0x05]);
        assert_eq!(eight, [1.235_294_1, 1.666_666_6, 0.0, -1.901_960_7]);
        assert_eq!(floats(0x1D, 1, Some((-2.0, 3.0)), &[3]), [3.0, 3.0, -2.0, -2.0]);
        // Fields of doubles have more digits.
        let double = page(0x1D, 17, Some((0.0, 1.0)), 1, &[0xB1, 0x32, 0x00]);
        assert_eq!(numbers::<f64>(double, 0..1).unwrap(), [0.099_007_408_198_609_91]);
    }

    #[test]
    fn halves_are_exact() {
        let values = [0x3C00, 0xC000, 0x0001, 0x7C00].map(half);
        assert_eq!(values, [1.0, -2.0, 5.960_464_5e-8, f32::INFINITY]);
        assert!(half(0x7E00).is_nan());
    }

    /// Words as they are split into planes.
    fn split<const N: usize>(words: impl Iterator<Item = [u8; N]> + Clone) -> Vec<u8> {
        (0..N).flat_map(|byte| words.clone().map(move |word| word[byte])).collect()
    }

    #[test]
    fn parts_of_split_pages_have_the_numbers_of_all_types() {
        let signed: Vec<i64> = (0..1300).map(|n: i64| (n - 700) * if n % 3 == 0 { 1 } else { -9 }).collect();
        macro_rules! check {
            ($type:ty, $word:ty, $plain:literal, $split:literal) => {{
                let bits = 8 * size_of::<$type>() as u16;
                let values: Vec<$type> = signed.iter().map(|n| *n as $type).collect();
                let zigzag = |n: &$type| ((n << 1) ^ (n >> (bits - 1))) as $word;
                let stored = split(values.iter().map(|n| zigzag(n).to_le_bytes()));
                let plain: Vec<u8> = values.iter().flat_map(|n| n.to_le_bytes()).collect();
                for wanted in [0..1300, 3..1299, 511..514, 7..7] {
                    for (kind, bytes) in [($split, &stored), ($plain, &plain)] {
                        let page = page(kind, bits, None, 1300, bytes);
                        assert_eq!(numbers::<$type>(page, wanted.clone()).unwrap(), values[wanted.clone()]);
                        assert_eq!(numbers::<i64>(page, wanted.clone()).unwrap(), signed[wanted.clone()]);
                    }
                }
            }};
        }
        check!(i16, u16, 0x05, 0x11);
        check!(i32, u32, 0x07, 0x13);
        check!(i64, u64, 0x09, 0x15);
        let stored = split(signed.iter().map(|n| (*n as f64).to_le_bytes()));
        let page = page(0x19, 64, None, 1300, &stored);
        assert_eq!(numbers::<f32>(page, 600..900).unwrap()[100], 0.0);
    }

    #[test]
    fn bits_begin_anywhere() {
        let bytes: Vec<u8> = (0..100).map(|n: u8| n.wrapping_mul(37)).collect();
        for wanted in [0..800, 3..797, 5..6, 8..16, 13..13, 799..800] {
            let expected: Vec<u8> = wanted.clone().map(|n| bytes[n / 8] >> (n % 8) & 1).collect();
            let page = page(0x00, 1, None, 800, &bytes);
            assert_eq!(numbers::<u8>(page, wanted).unwrap(), expected);
        }
    }

    #[test]
    fn split_differences_begin_in_each_page_and_never_go_back() {
        let ends: Vec<i64> = (0..1300)
            .map(|n| n * (n % 2))
            .scan(0, |sum, n| {
                *sum += n;
                Some(*sum)
            })
            .collect();
        let steps = ends.iter().scan(0, |last, end| Some(end - std::mem::replace(last, *end)));
        let steps: Vec<i64> = steps.collect();
        let narrow = split(steps.iter().map(|step| (*step as u32).to_le_bytes()));
        let wide = split(steps.iter().map(|step| step.to_le_bytes()));
        let plain: Vec<u8> = ends.iter().flat_map(|end| end.to_le_bytes()).collect();
        for (kind, bits, bytes) in [(0x1A, 32, &narrow), (0x1B, 64, &wide), (0x0F, 64, &plain)] {
            for wanted in [0..1300, 1..3, 700..1300] {
                let mut found = vec![0; wanted.len()];
                page(kind, bits, None, 1300, bytes).ends(wanted.clone(), &mut found).unwrap();
                assert_eq!(found, ends[wanted.clone()]);
            }
        }
        let mut out = [0; 2];
        let back = [3_u64, 2].map(u64::to_le_bytes).concat();
        assert!(page(0x0F, 64, None, 2, &back).ends(0..2, &mut out).is_err());
        let beyond = split([1_u64 << 62, 1 << 62].map(u64::to_le_bytes).into_iter());
        assert!(page(0x1B, 64, None, 2, &beyond).ends(0..2, &mut out).is_err());
        let wraps = split([9_u32, u32::MAX].map(u32::to_le_bytes).into_iter());
        assert!(page(0x1A, 32, None, 2, &wraps).ends(0..2, &mut out).is_err());
    }

    #[test]
    fn numbers_beyond_a_field_are_refused() {
        let page = page(0x05, 16, None, 1, &[0, 1]);
        assert!(numbers::<i8>(page, 0..1).is_err());
        assert_eq!(numbers::<u32>(page, 0..1).unwrap(), [256]);
    }
}
