//! Brackets in titles: dimensions (`x[n][3]`) and ranges of truncated numbers (`x[0,10,12]`).

use crate::decode::Number;
use sapwood_core::Primitive;
use sapwood_tfile::ValueRange;

/// The texts in square brackets.
fn brackets(title: &str) -> impl Iterator<Item = &str> {
    title.split('[').skip(1).filter_map(|part| part.split_once(']')).map(|(inside, _)| inside.trim())
}

/// The fixed dimensions that a title names, if their product is `len`; otherwise `len` alone, and nothing
/// for a `len` of 1. Only the title tells the shape (root-io-spec TLeaf §4).
pub(super) fn dimensions(titles: [&str; 2], len: usize) -> Vec<usize> {
    for title in titles {
        let sizes: Vec<usize> = brackets(title).filter_map(|inside| inside.parse().ok()).collect();
        let product = sizes.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
        if !sizes.is_empty() && product == Some(len) {
            return sizes;
        }
    }
    if len == 1 { Vec::new() } else { vec![len] }
}

/// How a `Double32_t` (`double`) or `Float16_t` leaf is encoded, by the annotation in one of its titles.
pub(super) fn truncated(titles: [&str; 2], double: bool) -> Number {
    let annotated = titles.into_iter().find(|title| brackets(title).any(|inside| inside.contains(',')));
    packed(annotated.and_then(ValueRange::from_title), double)
}

/// How a `Double32_t` (`double`) or `Float16_t` with this range is encoded (root-io-spec ElementTypes §5.2).
pub(super) fn packed(range: Option<ValueRange>, double: bool) -> Number {
    match range {
        Some(range) if range.factor != 0.0 => {
            Number::Scaled { minimum: range.min, factor: range.factor, double }
        }
        Some(range) if (1..=15).contains(&range.mantissa_bits()) => {
            Number::Truncated { bits: range.mantissa_bits(), double }
        }
        _ if double => Number::FloatAsDouble,
        _ => Number::Truncated { bits: 12, double },
    }
}

/// A number type by its code in streamer information (root-io-spec ElementTypes §2), with the name to show.
pub(super) fn basic(code: i32) -> Option<(Primitive, &'static str)> {
    Some(match code {
        1 | 10 => (Primitive::I8, "int8_t"),
        2 => (Primitive::I16, "int16_t"),
        3 | 6 => (Primitive::I32, "int32_t"),
        4 | 16 => (Primitive::I64, "int64_t"),
        5 => (Primitive::F32, "float"),
        8 => (Primitive::F64, "double"),
        11 => (Primitive::U8, "uint8_t"),
        12 => (Primitive::U16, "uint16_t"),
        13 => (Primitive::U32, "uint32_t"),
        14 | 17 => (Primitive::U64, "uint64_t"),
        18 => (Primitive::Bool, "bool"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_product_decides_which_brackets_are_dimensions() {
        assert_eq!(dimensions(["x[n][3]", ""], 3), [3]);
        assert_eq!(dimensions(["x[2][3]", ""], 6), [2, 3]);
        assert_eq!(dimensions(["x", "x[2][3]/F"], 6), [2, 3]);
        assert_eq!(dimensions(["x[7]", ""], 6), [6]);
        assert_eq!(dimensions(["x", ""], 1), [0usize; 0]);
    }

    #[test]
    fn annotations_choose_the_encoding() {
        assert_eq!(truncated(["x", ""], true), Number::FloatAsDouble);
        assert_eq!(truncated(["x", ""], false), Number::Truncated { bits: 12, double: false });
        assert_eq!(truncated(["d[0,0,8]", ""], true), Number::Truncated { bits: 8, double: true });
        assert_eq!(truncated(["d[0,0,15]", ""], true), Number::FloatAsDouble);
        let Number::Scaled { minimum, factor, .. } = truncated(["b[n][0,100,10]", ""], false) else {
            panic!("a range was given")
        };
        assert!((minimum, factor) == (0.0, 10.24));
        let Number::Scaled { minimum, .. } = truncated(["phi[-pi, pi, 16]", ""], true) else {
            panic!("a range was given")
        };
        assert!((minimum + std::f64::consts::PI).abs() < 1e-15);
    }
}
