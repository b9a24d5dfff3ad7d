//! Bodies of type multipart/byteranges (RFC 9110 §14.6).
//!
//! The boundary in the Content-Type is not needed, which avoids its quoting rules: the first line that begins with
//! `--` is the boundary, and the Content-Range of each part gives its length. Searching for the boundary in the data
//! would be wrong, since data may contain it.

use super::header::ContentRange;
use bytes::Bytes;

/// Bytes of the lines before the data of a part, at most.
const LONGEST_HEADER: usize = 16 << 10;

/// One part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AnswerPart {
    /// Offset of its first byte in the object.
    pub(super) start: u64,
    /// Size of the object, if stated.
    pub(super) total: Option<u64>,
    /// Its bytes.
    pub(super) bytes: Bytes,
}

/// The complete parts. Anything after a truncated or malformed part is skipped.
pub(super) fn parse(body: &Bytes) -> Vec<AnswerPart> {
    let mut parts = Vec::new();
    let mut rest = body.clone();
    while let Some((part, after)) = next_part(&rest) {
        parts.push(part);
        rest = after;
    }
    parts
}

/// The first part in `body`, and the rest after it; `None` at the end or if there is no complete part.
fn next_part(body: &Bytes) -> Option<(AnswerPart, Bytes)> {
    let mut lines = Lines { text: body.get(..LONGEST_HEADER.min(body.len()))?, at: 0 };
    // Empty lines and a preamble may come before the boundary. The line that ends all parts looks like another
    // boundary, but no headers follow it.
    while !lines.next()?.starts_with(b"--") {}
    let mut content_range = None;
    loop {
        let line = lines.next()?;
        if line.is_empty() {
            break;
        }
        let (name, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
        if name.trim().eq_ignore_ascii_case("content-range") {
            content_range = ContentRange::parse(value);
        }
    }
    let ContentRange { range, total } = content_range?;
    let range = range?;
    let end = lines.at.checked_add(usize::try_from(range.len).ok()?)?;
    if end > body.len() {
        return None;
    }
    Some((AnswerPart { start: range.start, total, bytes: body.slice(lines.at..end) }, body.slice(end..)))
}

/// Lines that end in LF or CRLF.
struct Lines<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.text.get(self.at..)?;
        let end = rest.iter().position(|&byte| byte == b'\n')?;
        self.at += end + 1;
        let line = rest.get(..end)?;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(line_end: &str, boundary: &str, close: &str) -> Bytes {
        let mut text = String::new();
        for (start, data) in [(0u64, "abc"), (10, "--B\r\n\r\n--B--"), (100, "z")] {
            let last = start + data.len() as u64 - 1;
            text += &format!("{line_end}--{boundary}{line_end}content-type: x/y{line_end}");
            text += &format!("Content-range:bytes {start}-{last}/200{line_end}{line_end}{data}");
        }
        text += &format!("{line_end}--{boundary}--{close}");
        Bytes::from(text)
    }

    #[test]
    fn all_forms_of_lines_and_boundaries() {
        for body in [body("\r\n", "B", "\r\n"), body("\n", "a b'()+_,-./:=?", ""), body("\r\n", "--B--", "")]
        {
            let parts = parse(&body);
            let starts: Vec<_> = parts.iter().map(|part| part.start).collect();
            assert_eq!(starts, [0, 10, 100]);
            assert_eq!(parts[1].bytes, "--B\r\n\r\n--B--");
            assert!(parts.iter().all(|part| part.total == Some(200)));
        }
    }

    #[test]
    fn cut_anywhere_keeps_the_whole_parts() {
        let body = body("\r\n", "B", "\r\n");
        let all = parse(&body);
        for end in 0..body.len() {
            let parts = parse(&body.slice(..end));
            assert_eq!(parts, all[..parts.len()]);
        }
    }

    #[test]
    fn garbled_bodies_end_in_no_part() {
        let whole = body("\r\n", "B", "\r\n");
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..5000 {
            let mut garbled = whole.to_vec();
            for _ in 0..random.usize(1..8) {
                let at = random.usize(..garbled.len());
                garbled[at] = random.u8(..);
            }
            for part in parse(&Bytes::from(garbled)) {
                assert!(part.bytes.len() <= whole.len());
            }
        }
        assert!(parse(&Bytes::from_static(b"--B\r\nContent-Range: bytes 0-9/*\r\n\r\nshort")).is_empty());
        assert!(parse(&Bytes::from_static(b"no parts at all")).is_empty());
    }
}
