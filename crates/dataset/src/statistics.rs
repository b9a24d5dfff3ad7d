//! Statistics of the values in a stripe (count, minimum, maximum), computed from entries as ROOT writes them.

use multiversion::multiversion;
use sapwood_core::{Extremes, Primitive, Statistics};
use sapwood_streamer::StoredNumber;
use sapwood_ttree::{Entries, Layout};
use std::ops::Range;

/// The location of a branch's values in its entries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values {
    /// Their type on file.
    primitive: Primitive,
    /// Values of an entry, if all have the same number.
    each: Option<usize>,
    /// Bytes before the values of each entry.
    header: usize,
}

impl Values {
    /// `None` if the values are not plain numbers.
    pub(super) fn of(layout: &Layout) -> Option<Values> {
        let (number, each, header) = match *layout {
            Layout::Fixed { number, values } => (number, Some(values), 0),
            Layout::Jagged { number, header, .. } => (number, None, header),
            Layout::Program(_) => return None,
        };
        let primitive = match number {
            StoredNumber::Plain(primitive) => primitive,
            StoredNumber::FloatAsDouble => Primitive::F32,
            StoredNumber::Scaled { .. } | StoredNumber::Truncated { .. } => return None,
        };
        Some(Values { primitive, each, header })
    }

    fn fit(&self, entries: usize, bytes: usize) -> bool {
        let size = self.primitive.size();
        match self.each {
            Some(each) => size.checked_mul(each).and_then(|one| one.checked_mul(entries)) == Some(bytes),
            None => bytes.is_multiple_of(size),
        }
    }
}

/// The statistics of a stripe, while its entries are added.
#[derive(Debug)]
pub(super) struct Summary {
    /// `None` if the branch has no statistics.
    values: Option<Values>,
    so_far: Option<Statistics>,
}

/// The statistics of no values.
const NOTHING: Statistics = Statistics { count: 0, nans: 0, extremes: None };

impl Summary {
    pub(super) fn new(values: Option<Values>) -> Summary {
        Summary { values, so_far: Some(NOTHING) }
    }

    /// Adds some entries of a basket.
    pub(super) fn add(&mut self, entries: &Entries, range: Range<usize>) {
        let Some((values, so_far)) = self.values.zip(self.so_far.as_mut()) else { return };
        let mut sound = true;
        let mut add = |entries: usize, bytes: &[u8]| {
            sound &= values.fit(entries, bytes.len());
            let found = statistics(values.primitive, bytes);
            so_far.count += found.count;
            so_far.nans += found.nans;
            so_far.extremes = both(so_far.extremes, found.extremes);
        };
        if values.header == 0 {
            add(range.len(), entries.range(range));
        } else {
            // An entry shorter than its header has no values.
            range.for_each(|index| add(1, entries.entry(index).get(values.header..).unwrap_or_default()));
        }
        if !sound {
            self.so_far = None;
        }
    }

    /// The statistics of the entries since the last call; `None` if unknown.
    pub(super) fn take(&mut self) -> Option<Statistics> {
        self.values?;
        self.so_far.replace(NOTHING)
    }
}

fn both(one: Option<Extremes>, other: Option<Extremes>) -> Option<Extremes> {
    let (Some(a), Some(b)) = (one, other) else { return one.or(other) };
    match (a, b) {
        (Extremes::Signed(a, b), Extremes::Signed(c, d)) => Some(Extremes::Signed(a.min(c), b.max(d))),
        (Extremes::Unsigned(a, b), Extremes::Unsigned(c, d)) => Some(Extremes::Unsigned(a.min(c), b.max(d))),
        (Extremes::Float(a, b), Extremes::Float(c, d)) => Some(Extremes::Float(a.min(c), b.max(d))),
        // The values of a branch have one type.
        _ => None,
    }
}

/// The statistics of big-endian values, as stored.
fn statistics(primitive: Primitive, bytes: &[u8]) -> Statistics {
    let count = (bytes.len() / primitive.size()) as u64;
    let (nans, extremes) = match primitive {
        Primitive::F32 => floats(bytes),
        Primitive::F64 => doubles(bytes),
        _ => (0, if count == 0 { None } else { Some(integers(primitive, bytes)) }),
    };
    Statistics { count, nans, extremes: extremes.filter(|_| count > nans) }
}

// As in decoding: AVX2 swaps bytes in one instruction.
#[multiversion(targets("x86_64+avx2"))]
fn integers(primitive: Primitive, bytes: &[u8]) -> Extremes {
    macro_rules! extremes {
        ($kind:ident, $number:ty) => {{
            let ends = (<$number>::MAX, <$number>::MIN);
            let (low, high) = bytes.as_chunks().0.iter().fold(ends, |(low, high), word| {
                let value = <$number>::from_be_bytes(*word);
                (value.min(low), value.max(high))
            });
            Extremes::$kind(low.into(), high.into())
        }};
    }
    match primitive {
        Primitive::I8 => extremes!(Signed, i8),
        Primitive::I16 => extremes!(Signed, i16),
        Primitive::I32 => extremes!(Signed, i32),
        Primitive::I64 => extremes!(Signed, i64),
        Primitive::U8 => extremes!(Unsigned, u8),
        Primitive::U16 => extremes!(Unsigned, u16),
        Primitive::U32 => extremes!(Unsigned, u32),
        Primitive::U64 => extremes!(Unsigned, u64),
        // Any byte but 0 is true.
        Primitive::Bool | Primitive::F32 | Primitive::F64 => Extremes::Unsigned(
            bytes.iter().all(|byte| *byte != 0).into(),
            bytes.iter().any(|byte| *byte != 0).into(),
        ),
    }
}

/// Number of NaN, and the extremes of all else. The bits of a floating-point number, with all but the sign inverted if it is
/// negative, are an integer in the order of the numbers: such comparisons are done several at once.
macro_rules! of_floats {
    ($name:ident, $float:ty, $bits:ty, $unsigned:ty) => {
        #[multiversion(targets("x86_64+avx2"))]
        fn $name(bytes: &[u8]) -> (u64, Option<Extremes>) {
            let infinity = <$float>::INFINITY.to_bits();
            let ordered =
                |bits: $bits| bits ^ ((bits >> (<$bits>::BITS - 1)).cast_unsigned() >> 1).cast_signed();
            let ends = (<$bits>::MAX, <$bits>::MIN, 0 as $unsigned);
            let (low, high, nans) = bytes.as_chunks().0.iter().fold(ends, |(low, high, nans), word| {
                let bits = <$bits>::from_be_bytes(*word);
                let nan = bits.cast_unsigned() & (<$unsigned>::MAX >> 1) > infinity;
                let value = ordered(bits);
                let (least, greatest) = if nan { (<$bits>::MAX, <$bits>::MIN) } else { (value, value) };
                (least.min(low), greatest.max(high), nans + <$unsigned>::from(nan))
            });
            let float = |value: $bits| f64::from(<$float>::from_bits(ordered(value).cast_unsigned()));
            (u64::from(nans), Some(Extremes::Float(float(low), float(high))))
        }
    };
}
of_floats!(floats, f32, i32, u32);
of_floats!(doubles, f64, i64, u64);

#[cfg(test)]
mod tests {
    use super::*;

    fn of_floats(values: &[f32]) -> Statistics {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
        statistics(Primitive::F32, &bytes)
    }

    #[test]
    fn extremes_are_those_of_numbers() {
        let (nan, infinity) = (f32::NAN, f32::INFINITY);
        let known = |count, nans, extremes| Statistics { count, nans, extremes };
        let float = |low, high| Some(Extremes::Float(low, high));
        assert_eq!(of_floats(&[1.5, nan, -0.25, -nan, 7.0]), known(5, 2, float(-0.25, 7.0)));
        assert_eq!(of_floats(&[-3.0, -infinity, -2.0]), known(3, 0, float(f64::NEG_INFINITY, -2.0)));
        assert_eq!(of_floats(&[nan, nan]), known(2, 2, None));
        assert_eq!(of_floats(&[]), NOTHING);
        assert_eq!(of_floats(&[0.1]), known(1, 0, float(f64::from(0.1_f32), f64::from(0.1_f32))));
        let doubles: Vec<u8> =
            [-1e300, f64::NAN, 5e-324].iter().flat_map(|one: &f64| one.to_be_bytes()).collect();
        assert_eq!(statistics(Primitive::F64, &doubles), known(3, 1, float(-1e300, 5e-324)));
    }

    #[test]
    fn integers_keep_all_their_digits() {
        let of = |primitive, values: &[u64]| {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
            statistics(primitive, &bytes).extremes
        };
        let values = [u64::MAX, (1 << 53) + 1, 1 << 53];
        assert_eq!(of(Primitive::U64, &values), Some(Extremes::Unsigned(1 << 53, u64::MAX)));
        assert_eq!(of(Primitive::I64, &values), Some(Extremes::Signed(-1, (1 << 53) + 1)));
        assert_eq!(of(Primitive::Bool, &[0x0200]), Some(Extremes::Unsigned(0, 1)));
        assert_eq!(of(Primitive::I8, &[0xff80_0000_0000_007f]), Some(Extremes::Signed(-128, 127)));
    }
}
