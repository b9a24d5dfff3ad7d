//! Whether two sources have the same file: the same size, and the same bytes wherever both are known.
//!
//! The bytes that come with opening, head and tail, distinguish files: at least a short head must have been compared.

use sapwood_core::{ByteRange, Error, ErrorKind, Result, Segments};
use sapwood_source::{Identity, SHORT_HEAD};

/// Checks that two files are the same as far as both are known. Returns the ranges to compare before they
/// count as the same: the known ranges of `first`, where `other` is not known there.
///
/// # Errors
/// `Changed` if they are not the same.
pub(crate) fn compare(
    (first, known): (&Identity, &Segments),
    (other, other_known): (&Identity, &Segments),
) -> Result<Vec<ByteRange>> {
    if first.size != other.size {
        let message = format!("a different file: it has {} bytes, not {}", other.size, first.size);
        return Err(Error::new(ErrorKind::Changed, message).url(&*other.url));
    }
    let mut compared = 0;
    for range in common(known, other_known) {
        compared += range.len;
        if known.get(range) != other_known.get(range) {
            let message = "a different file: it has other bytes at the same offset";
            return Err(Error::new(ErrorKind::Changed, message).url(&*other.url).at(range.start));
        }
    }
    if compared >= SHORT_HEAD.min(first.size) { Ok(Vec::new()) } else { Ok(known.ranges().collect()) }
}

/// The ranges that are known of both.
fn common(a: &Segments, b: &Segments) -> Vec<ByteRange> {
    let overlap = |a: ByteRange, b: ByteRange| {
        let (start, end) = (a.start.max(b.start), a.end().min(b.end()));
        (start < end).then(|| ByteRange { start, len: end - start })
    };
    a.ranges().flat_map(|a| b.ranges().filter_map(move |b| overlap(a, b))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn file(size: u64) -> Identity {
        Identity { url: "test://h/f".into(), size, version: None }
    }

    fn known(parts: &[(u64, &'static [u8])]) -> Segments {
        let mut known = Segments::default();
        parts.iter().for_each(|&(start, bytes)| known.insert(start, Bytes::from_static(bytes)));
        known
    }

    #[test]
    fn files_of_equal_size_and_bytes_are_the_same() {
        let (a, b) = (known(&[(0, b"abc"), (7, b"xyz")]), known(&[(0, b"ab"), (8, b"yz")]));
        let ask = compare((&file(4), &a), (&file(4), &b)).unwrap();
        assert!(ask.is_empty(), "{ask:?}");
        let size = compare((&file(10), &a), (&file(11), &b)).unwrap_err();
        assert_eq!(size.kind(), ErrorKind::Changed);
        let bytes = compare((&file(10), &a), (&file(10), &known(&[(8, b"yy")]))).unwrap_err();
        assert_eq!((bytes.kind(), bytes.offset()), (ErrorKind::Changed, Some(8)));
    }

    #[test]
    fn bytes_for_the_comparison_are_requested() {
        let a = known(&[(0, b"abc")]);
        let ask = compare((&file(10_000), &a), (&file(10_000), &Segments::default())).unwrap();
        assert_eq!(ask, [ByteRange { start: 0, len: 3 }]);
    }
}
