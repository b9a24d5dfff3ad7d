//! Brackets in titles: dimensions (`x[n][3]`) and ranges of truncated numbers (`x[0,10,12]`).

use sapwood_streamer::StoredNumber;
use sapwood_tfile::ValueRange;

/// The texts in square brackets.
fn brackets(title: &str) -> impl Iterator<Item = &str> {
    title.split('[').skip(1).filter_map(|part| part.split_once(']')).map(|(inside, _)| inside.trim())
}

/// The fixed dimensions in a title if their product is `len`; otherwise only `len`, and nothing for a `len`
/// of 1. Only the title states the shape (root-io-spec TLeaf §4).
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

/// How a `Double32_t` (`double`) or `Float16_t` leaf is encoded, according to the annotation in one of its
/// titles.
pub(super) fn truncated(titles: [&str; 2], double: bool) -> StoredNumber {
    let annotated = titles.into_iter().find(|title| brackets(title).any(|inside| inside.contains(',')));
    StoredNumber::packed(annotated.and_then(ValueRange::from_title), double)
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
        assert_eq!(truncated(["x", ""], true), StoredNumber::FloatAsDouble);
        assert_eq!(truncated(["x", ""], false), StoredNumber::Truncated { bits: 12, double: false });
        assert_eq!(truncated(["d[0,0,8]", ""], true), StoredNumber::Truncated { bits: 8, double: true });
        assert_eq!(truncated(["d[0,0,15]", ""], true), StoredNumber::FloatAsDouble);
        let StoredNumber::Scaled { minimum, factor, .. } = truncated(["b[n][0,100,10]", ""], false) else {
            panic!("a range was given")
        };
        assert!((minimum, factor) == (0.0, 10.24));
        let StoredNumber::Scaled { minimum, .. } = truncated(["phi[-pi, pi, 16]", ""], true) else {
            panic!("a range was given")
        };
        assert!((minimum + std::f64::consts::PI).abs() < 1e-15);
    }
}
