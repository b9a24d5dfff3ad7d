//! The headers `Range` and `Content-Range`, and how ranges are packed into requests.

use super::server::Limits;
pub(super) use crate::spans::spans;

use sapwood_core::ByteRange;
use std::fmt::Write;

/// The value of a `Range` header: the ranges, then the last `suffix` bytes if given.
///
/// No space follows a comma: some servers cannot parse one.
pub(super) fn range_value(ranges: &[ByteRange], suffix: Option<u64>) -> String {
    let mut value = String::from("bytes=");
    for range in ranges {
        if !value.ends_with('=') {
            value.push(',');
        }
        // Writing to a string cannot fail.
        let _ = write!(value, "{}-{}", range.start, range.end().saturating_sub(1));
    }
    if let Some(suffix) = suffix {
        if !value.ends_with('=') {
            value.push(',');
        }
        let _ = write!(value, "-{suffix}");
    }
    value
}

/// The contents of a `Content-Range` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContentRange {
    /// The bytes that follow; `None` if the range cannot be satisfied.
    pub(super) range: Option<ByteRange>,
    /// Size of the object; `None` if the header does not state it.
    pub(super) total: Option<u64>,
}

impl ContentRange {
    /// Parses `bytes 0-99/1234`, `bytes 0-99/*` or `bytes */1234`.
    pub(super) fn parse(value: &str) -> Option<Self> {
        let value = value.trim();
        let rest = value.get(..5).filter(|unit| unit.eq_ignore_ascii_case("bytes")).and(value.get(5..))?;
        let (range, total) = rest.trim_start_matches([' ', '=']).split_once('/')?;
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let total = match total.trim() {
            "*" => None,
            digits => Some(number(digits)?),
        };
        let range = match range.trim() {
            "*" => None,
            range => {
                let (first, last) = range.split_once('-')?;
                let (first, last) = (number(first)?, number(last)?);
                let len = last.checked_sub(first)?.checked_add(1)?;
                Some(ByteRange::new(first, len).ok()?)
            }
        };
        let inside = range.zip(total).is_none_or(|(range, total)| range.end() <= total);
        inside.then_some(ContentRange { range, total })
    }
}

/// Packs spans into requests, each within the limits and of at most `largest` bytes (one span may be larger).
pub(super) fn requests(spans: &[ByteRange], limits: Limits, largest: u64) -> Vec<Vec<ByteRange>> {
    let mut requests: Vec<Vec<ByteRange>> = Vec::new();
    let (mut header_bytes, mut bytes) = (0, 0u64);
    for &span in spans {
        let text = range_value(&[span], None).len() - "bytes".len(); // with its comma
        let fits = |request: &&mut Vec<ByteRange>| {
            request.len() < limits.ranges
                && header_bytes + text <= limits.header_bytes
                && bytes + span.len <= largest
        };
        match requests.last_mut().filter(fits) {
            Some(request) => {
                request.push(span);
                header_bytes += text;
                bytes += span.len;
            }
            None => {
                requests.push(vec![span]);
                header_bytes = "bytes".len() + text;
                bytes = span.len;
            }
        }
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, len: u64) -> ByteRange {
        ByteRange { start, len }
    }

    #[test]
    fn values() {
        assert_eq!(range_value(&[range(0, 10), range(20, 1)], Some(5)), "bytes=0-9,20-20,-5");
        assert_eq!(range_value(&[], Some(5)), "bytes=-5");
    }

    #[test]
    fn content_ranges() {
        let parsed = |text| ContentRange::parse(text).map(|c| (c.range, c.total));
        assert_eq!(parsed("bytes 0-9/100"), Some((Some(range(0, 10)), Some(100))));
        assert_eq!(parsed("Bytes 5-5/*"), Some((Some(range(5, 1)), None)));
        assert_eq!(parsed("bytes */7"), Some((None, Some(7))));
        for bad in ["bytes 9-0/100", "bytes 0-9/5", "items 0-9/100", "bytes 0-9", "", "bytes a-b/c"] {
            assert_eq!(parsed(bad), None, "{bad}");
        }
        assert_eq!(parsed("bytes 0-18446744073709551615/*"), None);
    }

    #[test]
    fn requests_keep_every_limit() {
        let spans: Vec<_> = (0..1000).map(|i| range(i * 1000, 100)).collect();
        let limits = Limits { ranges: 100, header_bytes: 500 };
        let packed = requests(&spans, limits, 2000);
        assert_eq!(packed.concat(), spans);
        for request in &packed {
            assert!(request.len() <= 20); // 20 × 100 bytes
            assert!(range_value(request, None).len() <= 500);
        }
        assert_eq!(requests(&[range(0, 1 << 40)], limits, 10).len(), 1);
    }
}
