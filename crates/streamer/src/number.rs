//! Numbers as a basket holds them, and as an array holds them.

use multiversion::multiversion;
use sapwood_core::Primitive;
use sapwood_tfile::ValueRange;

/// How one number is encoded on file, and which type it becomes in memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StoredNumber {
    /// Big-endian, of the same type in memory. A `Bool` is any byte; non-zero is true
    /// (root-io-spec ElementTypes §2.5).
    Plain(Primitive),
    /// `Double32_t` without a range: a `float` on file, a `double` in memory (ElementTypes §5.2).
    FloatAsDouble,
    /// `Double32_t` or `Float16_t` with a range: a 32-bit unsigned integer on file (ElementTypes §5.2).
    Scaled {
        /// The value of integer 0.
        minimum: f64,
        /// Integers per unit.
        factor: f64,
        /// True for `Double32_t` (`double` in memory), false for `Float16_t` (`float`).
        double: bool,
    },
    /// A sign, 8 bits of exponent and `bits` of mantissa in three bytes (ElementTypes §5.2).
    Truncated {
        /// Bits of the mantissa kept, 1 to 15.
        bits: u32,
        /// True for `Double32_t` (`double` in memory), false for `Float16_t` (`float`).
        double: bool,
    },
}

impl StoredNumber {
    /// How a `Double32_t` (`double`) or `Float16_t` with this range is encoded (root-io-spec ElementTypes §5.2).
    pub fn packed(range: Option<ValueRange>, double: bool) -> StoredNumber {
        match range {
            Some(range) if range.factor != 0.0 => {
                StoredNumber::Scaled { minimum: range.min, factor: range.factor, double }
            }
            Some(range) if (1..=15).contains(&range.mantissa_bits()) => {
                StoredNumber::Truncated { bits: range.mantissa_bits(), double }
            }
            _ if double => StoredNumber::FloatAsDouble,
            _ => StoredNumber::Truncated { bits: 12, double },
        }
    }

    /// Bytes of one value on file.
    pub fn size_on_file(self) -> usize {
        match self {
            StoredNumber::Plain(primitive) => primitive.size(),
            StoredNumber::FloatAsDouble | StoredNumber::Scaled { .. } => 4,
            StoredNumber::Truncated { .. } => 3,
        }
    }

    /// The type in memory.
    pub fn primitive(self) -> Primitive {
        match self {
            StoredNumber::Plain(primitive) => primitive,
            StoredNumber::FloatAsDouble => Primitive::F64,
            StoredNumber::Scaled { double, .. } | StoredNumber::Truncated { double, .. } => {
                if double {
                    Primitive::F64
                } else {
                    Primitive::F32
                }
            }
        }
    }

    /// Its code in streamer information (root-io-spec ElementTypes §2); of several codes, the one whose size
    /// is the same on all machines.
    pub fn type_code(self) -> i32 {
        match self {
            StoredNumber::Plain(primitive) => match primitive {
                Primitive::Bool => 18,
                Primitive::I8 => 1,
                Primitive::U8 => 11,
                Primitive::I16 => 2,
                Primitive::U16 => 12,
                Primitive::I32 => 3,
                Primitive::U32 => 13,
                Primitive::I64 => 16,
                Primitive::U64 => 17,
                Primitive::F32 => 5,
                Primitive::F64 => 8,
            },
            StoredNumber::FloatAsDouble
            | StoredNumber::Scaled { double: true, .. }
            | StoredNumber::Truncated { double: true, .. } => 9,
            StoredNumber::Scaled { .. } | StoredNumber::Truncated { .. } => 19,
        }
    }

    /// The name of the type as people write it: that of `<cstdint>`, or ROOT's for a packed number.
    pub fn type_name(self) -> &'static str {
        match self {
            StoredNumber::Plain(primitive) => primitive.cpp_name(),
            packed if packed.primitive() == Primitive::F64 => "Double32_t",
            _ => "Float16_t",
        }
    }

    /// Bytes of one value in memory.
    pub fn size(self) -> usize {
        self.primitive().size()
    }

    /// True if a value has as many bytes on file as in memory, so that [`StoredNumber::decode_in_place`] works.
    pub fn keeps_size(self) -> bool {
        matches!(self, StoredNumber::Plain(_))
    }

    /// Decodes as many whole values as both slices hold.
    pub fn decode(self, on_file: &[u8], in_memory: &mut [u8]) {
        decode(self, on_file, in_memory);
    }

    /// Appends the whole values of `on_file`; fast for a single one, too.
    #[inline]
    pub(crate) fn append(self, on_file: &[u8], bytes: &mut Vec<u8>) {
        match (self, on_file) {
            (StoredNumber::Plain(Primitive::F32 | Primitive::I32 | Primitive::U32), &[a, b, c, d]) => {
                bytes.extend_from_slice(&u32::from_be_bytes([a, b, c, d]).to_ne_bytes());
            }
            (
                StoredNumber::Plain(Primitive::F64 | Primitive::I64 | Primitive::U64),
                &[a, b, c, d, e, f, g, h],
            ) => {
                bytes.extend_from_slice(&u64::from_be_bytes([a, b, c, d, e, f, g, h]).to_ne_bytes());
            }
            (StoredNumber::Plain(Primitive::I16 | Primitive::U16), &[a, b]) => {
                bytes.extend_from_slice(&u16::from_be_bytes([a, b]).to_ne_bytes());
            }
            (StoredNumber::Plain(Primitive::Bool), &[a]) => bytes.push(u8::from(a != 0)),
            (StoredNumber::Plain(Primitive::I8 | Primitive::U8), &[a]) => bytes.push(a),
            _ => {
                let begin = bytes.len();
                bytes.resize(begin + on_file.len() / self.size_on_file() * self.size(), 0);
                decode(self, on_file, &mut bytes[begin..]);
            }
        }
    }

    /// Converts values in place, from their form on file to that in memory.
    /// Only for numbers that [keep their size](StoredNumber::keeps_size).
    pub fn decode_in_place(self, values: &mut [u8]) {
        if let StoredNumber::Plain(primitive) = self {
            swap(primitive, values);
        }
    }
}

/// A number type by its code in streamer information (root-io-spec ElementTypes §2).
pub fn basic(code: i32) -> Option<Primitive> {
    Some(match code {
        1 | 10 => Primitive::I8,
        2 => Primitive::I16,
        3 | 6 => Primitive::I32,
        4 | 16 => Primitive::I64,
        5 => Primitive::F32,
        8 => Primitive::F64,
        11 => Primitive::U8,
        12 => Primitive::U16,
        13 => Primitive::U32,
        14 | 17 => Primitive::U64,
        18 => Primitive::Bool,
        _ => return None,
    })
}

/// The type of the items of a `TArray`, by the name of its class (root-io-spec TArray §2).
pub fn array_type(class_name: &str) -> Option<Primitive> {
    Some(match class_name {
        "TArrayC" => Primitive::I8,
        "TArrayS" => Primitive::I16,
        "TArrayI" => Primitive::I32,
        "TArrayL" | "TArrayL64" => Primitive::I64,
        "TArrayF" => Primitive::F32,
        "TArrayD" => Primitive::F64,
        _ => return None,
    })
}

// Swapping bytes takes one instruction per 32 bytes with AVX2, and a dozen per 16 bytes without.
#[multiversion(targets("x86_64+avx2"))]
fn decode(number: StoredNumber, on_file: &[u8], in_memory: &mut [u8]) {
    match number {
        StoredNumber::Plain(Primitive::Bool) => {
            for (to, from) in in_memory.iter_mut().zip(on_file) {
                *to = u8::from(*from != 0);
            }
        }
        StoredNumber::Plain(primitive) => match primitive.size() {
            1 => {
                let count = on_file.len().min(in_memory.len());
                in_memory[..count].copy_from_slice(&on_file[..count]);
            }
            2 => convert(on_file, in_memory, |b| u16::from_be_bytes(b).to_ne_bytes()),
            4 => convert(on_file, in_memory, |b| u32::from_be_bytes(b).to_ne_bytes()),
            _ => convert(on_file, in_memory, |b| u64::from_be_bytes(b).to_ne_bytes()),
        },
        StoredNumber::FloatAsDouble => {
            convert(on_file, in_memory, |b| f64::from(f32::from_be_bytes(b)).to_ne_bytes());
        }
        StoredNumber::Scaled { minimum, factor, double: true } => {
            convert(on_file, in_memory, |b| scaled(b, minimum, factor).to_ne_bytes());
        }
        StoredNumber::Scaled { minimum, factor, double: false } => {
            convert(on_file, in_memory, |b| narrow(scaled(b, minimum, factor)).to_ne_bytes());
        }
        StoredNumber::Truncated { bits, double: true } => {
            convert(on_file, in_memory, |b| f64::from(truncated(b, bits)).to_ne_bytes());
        }
        StoredNumber::Truncated { bits, double: false } => {
            convert(on_file, in_memory, |b| truncated(b, bits).to_ne_bytes());
        }
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn swap(primitive: Primitive, values: &mut [u8]) {
    match primitive {
        Primitive::Bool => values.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0)),
        _ => match primitive.size() {
            2 => swap_in_place(values, |b| u16::from_be_bytes(b).to_ne_bytes()),
            4 => swap_in_place(values, |b| u32::from_be_bytes(b).to_ne_bytes()),
            8 => swap_in_place(values, |b| u64::from_be_bytes(b).to_ne_bytes()),
            _ => {}
        },
    }
}

#[inline(always)]
fn convert<const FILE: usize, const MEMORY: usize>(
    on_file: &[u8],
    in_memory: &mut [u8],
    one: impl Fn([u8; FILE]) -> [u8; MEMORY],
) {
    let (values, _) = on_file.as_chunks::<FILE>();
    let (places, _) = in_memory.as_chunks_mut::<MEMORY>();
    for (place, value) in places.iter_mut().zip(values) {
        *place = one(*value);
    }
}

#[inline(always)]
fn swap_in_place<const SIZE: usize>(values: &mut [u8], one: impl Fn([u8; SIZE]) -> [u8; SIZE]) {
    let (values, _) = values.as_chunks_mut::<SIZE>();
    for value in values {
        *value = one(*value);
    }
}

fn scaled(bytes: [u8; 4], minimum: f64, factor: f64) -> f64 {
    f64::from(u32::from_be_bytes(bytes)) / factor + minimum
}

#[expect(clippy::cast_possible_truncation, reason = "Float16_t is a float in memory: rounding is meant")]
fn narrow(value: f64) -> f32 {
    value as f32
}

/// Three bytes: the exponent, then a 16-bit word with the mantissa in its low `bits` + 1 bits and the
/// sign in the bit above.
fn truncated(bytes: [u8; 3], bits: u32) -> f32 {
    let mantissa = u32::from(u16::from_be_bytes([bytes[1], bytes[2]]));
    let kept = mantissa & ((1 << (bits + 1)) - 1);
    let value = f32::from_bits(u32::from(bytes[0]) << 23 | kept << (23 - bits));
    if mantissa & (1 << (bits + 1)) != 0 { -value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_swapped() {
        let mut out = [0; 8];
        StoredNumber::Plain(Primitive::F32).decode(&[0x42, 0xc8, 0, 0, 0x43, 0x48, 0, 0], &mut out);
        assert_eq!(bytemuck_f32(&out), [100.0, 200.0]);
        let mut place = [0x42, 0xc8, 0, 0];
        StoredNumber::Plain(Primitive::F32).decode_in_place(&mut place);
        assert_eq!(bytemuck_f32(&place), [100.0]);
    }

    #[test]
    fn any_byte_but_zero_is_true() {
        let mut out = [9; 3];
        StoredNumber::Plain(Primitive::Bool).decode(&[0, 1, 0x99], &mut out);
        assert_eq!(out, [0, 1, 1]);
    }

    #[test]
    fn types_are_found_by_their_codes() {
        let codes = (1..20).filter_map(|code| basic(code).map(|primitive| (code, primitive)));
        let own = codes.filter(|(code, primitive)| StoredNumber::Plain(*primitive).type_code() == *code);
        assert_eq!(own.count(), 11, "each type has one code");
    }

    // The bytes are those that root-io-spec TLeaf §7 quotes for `ttree/leaf-truncated`.
    #[test]
    fn truncated_and_scaled_numbers_have_the_values_of_the_specification() {
        let mut out = [0; 4];
        StoredNumber::Scaled { minimum: 0.0, factor: 10.24, double: false }.decode(&[0, 0, 2, 0], &mut out);
        assert_eq!(bytemuck_f32(&out), [50.0]);
        StoredNumber::Truncated { bits: 12, double: false }.decode(&[0x7f, 0x08, 0x00], &mut out);
        assert_eq!(bytemuck_f32(&out), [1.5]);
        StoredNumber::Truncated { bits: 8, double: false }.decode(&[0x80, 0x00, 0xc0], &mut out);
        assert_eq!(bytemuck_f32(&out), [3.5]);
    }

    fn bytemuck_f32(bytes: &[u8]) -> Vec<f32> {
        bytes.as_chunks::<4>().0.iter().map(|b| f32::from_ne_bytes(*b)).collect()
    }
}
