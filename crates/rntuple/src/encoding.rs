//! Encodings of columns: how each column type stores its elements, and which fields it can be of.

use sapwood_core::{Error, Primitive, Result};

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
    Quantized {
        low: f64,
        high: f64,
    },
}

impl Encoding {
    /// The encoding of a column type; `None` if it is unknown.
    ///
    /// # Errors
    /// `Corrupt` if the type does not have this number of bits.
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
                    return Err(Error::corrupt("a quantized column without a range of values"));
                };
                (Kind::Quantized { low, high }, 1..=32)
            }
            _ => return Ok(None),
        };
        match allowed.contains(&bits) {
            true => Ok(Some(Encoding { kind, bits })),
            false => Err(Error::corrupt(format!("a column of {bits} bits, which its type cannot have"))),
        }
    }

    /// Bytes of this many elements; there are fewer than 2³¹ in a page.
    pub(crate) fn bytes(self, elements: u64) -> u64 {
        elements.saturating_mul(u64::from(self.bits)).div_ceil(8)
    }

    /// Whether pages hold the values of this type as they are in memory.
    pub(crate) fn is_memory_of(self, primitive: Primitive) -> bool {
        let one_byte = primitive.size() == 1;
        let of = |stored| stored == primitive && (one_byte || cfg!(target_endian = "little"));
        matches!(self.kind, Kind::Plain { primitive, split: false, .. } if of(primitive))
    }

    /// Whether its elements are numbers that a field of this type may have.
    pub(crate) fn can_be(self, field: Primitive) -> bool {
        let is_float = |primitive| matches!(primitive, Primitive::F32 | Primitive::F64);
        match self.kind {
            Kind::Bit => !is_float(field),
            Kind::Plain { primitive, .. } => is_float(primitive) == is_float(field),
            Kind::Half { .. } | Kind::Truncated | Kind::Quantized { .. } => is_float(field),
            Kind::Index { .. } | Kind::Switch => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_fields_that_a_type_cannot_have_are_refused() {
        assert!(Encoding::of(0x05, 15, None).is_err());
        assert!(Encoding::of(0x1D, 8, None).is_err());
        assert!(Encoding::of(0x77, 8, None).unwrap().is_none());
        let float = Encoding::of(0x18, 32, None).unwrap().unwrap();
        assert!(float.can_be(Primitive::F64) && !float.can_be(Primitive::I32));
        assert!(!float.is_memory_of(Primitive::F32));
        let plain = Encoding::of(0x0C, 32, None).unwrap().unwrap();
        assert!(plain.is_memory_of(Primitive::F32) && !plain.is_memory_of(Primitive::F64));
    }
}
