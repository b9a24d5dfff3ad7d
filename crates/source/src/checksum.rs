//! Checksums of whole files, as servers and documents state them. They compare files without reading them.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::fmt;

/// The names of each kind of checksum, the canonical one first, and its length in bytes.
const KINDS: [(&[&str], usize); 8] = [
    (&["adler32", "adler"], 4),
    (&["crc32"], 4),
    (&["crc32c"], 4),
    (&["crc64nvme"], 8),
    (&["md5"], 16),
    (&["sha-1", "sha1", "sha"], 20),
    (&["sha-256", "sha256"], 32),
    (&["sha-512", "sha512"], 64),
];

/// A checksum of a whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checksum {
    kind: &'static str,
    value: Vec<u8>,
}

impl Checksum {
    /// Parses a checksum in hexadecimal digits or in base64; `None` if its kind is unknown or its length is wrong.
    ///
    /// ```
    /// use sapwood_source::Checksum;
    /// let one = Checksum::parse("adler32", "03da0195").unwrap();
    /// assert_eq!(one, Checksum::parse("Adler", "A9oBlQ==").unwrap());
    /// assert_eq!(one.to_string(), "adler32 03da0195");
    /// assert_eq!(Checksum::parse("md5", "03da0195"), None);
    /// ```
    pub fn parse(kind: &str, text: &str) -> Option<Checksum> {
        let kind = kind.trim().to_ascii_lowercase();
        let (names, bytes) = KINDS.into_iter().find(|(names, _)| names.contains(&&*kind))?;
        let text = text.trim();
        let value = hexadecimal(text, bytes).or_else(|| BASE64_STANDARD.decode(text).ok())?;
        Some(Checksum { kind: names.first()?, value }).filter(|checksum| checksum.value.len() == bytes)
    }

    /// Its value, if it is an ADLER-32 checksum.
    pub fn adler32(&self) -> Option<u32> {
        let value = <[u8; 4]>::try_from(&*self.value).ok()?;
        (self.kind == "adler32").then(|| u32::from_be_bytes(value))
    }

    /// Two checksums of the same kind, one of each file, that differ. If there are such, the files differ.
    pub fn contradiction<'a>(
        one: &'a [Checksum],
        other: &'a [Checksum],
    ) -> Option<(&'a Checksum, &'a Checksum)> {
        let pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a, b)));
        pairs.into_iter().find(|(a, b)| a.kind == b.kind && a.value != b.value)
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind)?;
        self.value.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// This many bytes in hexadecimal digits; some programs omit the leading zeros of short checksums.
fn hexadecimal(text: &str, bytes: usize) -> Option<Vec<u8>> {
    let digits = 2 * bytes;
    let fits = text.len() == digits || (bytes == 4 && (1..digits).contains(&text.len()));
    if !fits || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let text = format!("{text:0>digits$}");
    (0..bytes).map(|i| u8::from_str_radix(text.get(2 * i..2 * i + 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(texts: &[(&str, &str)]) -> Vec<Checksum> {
        texts.iter().filter_map(|(kind, text)| Checksum::parse(kind, text)).collect()
    }

    #[test]
    fn they_are_the_same_however_they_are_written() {
        let md5 = "d41d8cd98f00b204e9800998ecf8427e";
        for (kind, one, other) in [
            ("md5", md5, "1B2M2Y8AsgTpgAmY7PhCfg=="),
            ("MD5", md5, "D41D8CD98F00B204E9800998ECF8427E"),
            ("adler32", "1", "00000001"),
            ("crc32c", "AAAAAQ==", "00000001"),
        ] {
            assert_eq!(Checksum::parse(kind, one).unwrap(), Checksum::parse(kind, other).unwrap());
        }
        for (kind, text) in
            [("adler32", ""), ("adler32", "123456789"), ("md5", "xyz"), ("etag", "1"), ("md5", "é")]
        {
            assert_eq!(Checksum::parse(kind, text), None);
        }
        assert_eq!(Checksum::parse("adler", "11e60398").unwrap().adler32(), Some(0x11e6_0398));
        assert_eq!(Checksum::parse("crc32", "11e60398").unwrap().adler32(), None);
    }

    #[test]
    fn only_those_of_one_kind_are_compared() {
        let one = all(&[("adler32", "1"), ("crc32", "2")]);
        assert_eq!(Checksum::contradiction(&one, &all(&[("adler32", "1"), ("crc32c", "3")])), None);
        assert_eq!(Checksum::contradiction(&one, &[]), None);
        let other = all(&[("crc32", "3")]);
        let (a, b) = Checksum::contradiction(&one, &other).unwrap();
        assert_eq!((a.to_string(), b.to_string()), ("crc32 00000002".into(), "crc32 00000003".into()));
    }
}
