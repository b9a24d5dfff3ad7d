//! Reads the little-endian records of RNTuple's metadata: numbers, strings, frames, locators, envelopes.

use sapwood_core::{ByteRange, Error, ErrorKind, Result};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a checksum.
pub(crate) const CHECKSUM: usize = 8;

/// What an envelope holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EnvelopeType {
    Header = 1,
    Footer = 2,
    PageList = 3,
}

impl EnvelopeType {
    fn name(self) -> &'static str {
        match self {
            EnvelopeType::Header => "header",
            EnvelopeType::Footer => "footer",
            EnvelopeType::PageList => "page list",
        }
    }
}

/// Where a blob is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locator {
    /// In the file.
    File(ByteRange),
    /// Elsewhere, in a way that is not known.
    Other(u8),
}

impl Locator {
    /// The place in the file.
    ///
    /// # Errors
    /// `Unsupported` if it is elsewhere.
    pub(crate) fn in_file(self) -> Result<ByteRange> {
        match self {
            Locator::File(range) => Ok(range),
            Locator::Other(kind) => {
                let message = format!("a part of the RNTuple is not in this file (locators of type {kind})");
                Err(Error::unsupported(message))
            }
        }
    }
}

/// A reader of a part of an envelope.
#[derive(Debug, Clone)]
pub(crate) struct Wire<'a> {
    rest: &'a [u8],
    what: &'static str,
}

macro_rules! numbers {
    ($($name:ident),*) => { $(
        pub(crate) fn $name(&mut self) -> Result<$name> {
            self.array().map($name::from_le_bytes)
        }
    )* };
}

impl<'a> Wire<'a> {
    /// The payload of an envelope of this type, and its checksum.
    pub(crate) fn envelope(bytes: &'a [u8], expected: EnvelopeType) -> Result<(Wire<'a>, u64)> {
        let what = expected.name();
        let damaged = |kind, why: &str| Error::new(kind, format!("the {what} of the RNTuple {why}"));
        let Some((content, checksum)) = bytes.split_last_chunk::<CHECKSUM>() else {
            return Err(damaged(ErrorKind::Truncated, "is too short"));
        };
        let checksum = u64::from_le_bytes(*checksum);
        if xxh3_64(content) != checksum {
            return Err(damaged(ErrorKind::Checksum, "does not match its checksum"));
        }
        let mut wire = Wire { rest: content, what };
        let head = wire.u64()?;
        if head & 0xFFFF != expected as u64 {
            return Err(damaged(ErrorKind::Corrupt, &format!("is an envelope of type {}", head & 0xFFFF)));
        }
        if head >> 16 != bytes.len() as u64 {
            return Err(damaged(ErrorKind::Corrupt, "states another length than its link"));
        }
        Ok((wire, checksum))
    }

    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn corrupt(&self, why: impl AsRef<str>) -> Error {
        Error::corrupt(format!("the {} of the RNTuple {}", self.what, why.as_ref()))
    }

    fn bytes(&mut self, len: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(len) else {
            return Err(self.corrupt("ends in the middle of a record"));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.corrupt("ends in the middle of a record"));
        };
        self.rest = rest;
        Ok(*taken)
    }

    numbers!(u16, u32, u64, i32, i64, f64);

    /// Bytes behind their number.
    pub(crate) fn blob(&mut self) -> Result<&'a [u8]> {
        let len = self.u32()? as usize;
        self.bytes(len)
    }

    pub(crate) fn string(&mut self) -> Result<String> {
        let bytes = self.blob()?.to_vec();
        String::from_utf8(bytes).map_err(|_| self.corrupt("has a string that is not UTF-8"))
    }

    /// A record frame; what follows its known part is ignored.
    pub(crate) fn record(&mut self) -> Result<Wire<'a>> {
        let size = self.i64()?;
        self.frame(size, 8)
    }

    /// A list frame and the number of its elements, each of at least `least` bytes.
    pub(crate) fn list(&mut self, least: usize) -> Result<(usize, Wire<'a>)> {
        let size = self.i64()?;
        let size = size.checked_neg().unwrap_or(-1);
        let mut frame = self.frame(size, 8)?;
        let count = frame.u32()? as usize;
        if count.saturating_mul(least) > frame.remaining() {
            return Err(
                self.corrupt(format!("has a list of {count} elements in {} bytes", frame.remaining()))
            );
        }
        Ok((count, frame))
    }

    fn frame(&mut self, size: i64, head: usize) -> Result<Wire<'a>> {
        let len = usize::try_from(size).ok().and_then(|size| size.checked_sub(head));
        let Some(len) = len else { return Err(self.corrupt(format!("has a frame of {size} bytes"))) };
        Ok(Wire { rest: self.bytes(len)?, what: self.what })
    }

    /// The flags, of which `known` may be set.
    pub(crate) fn feature_flags(&mut self, known: u64) -> Result<()> {
        let mut place = 0_u32;
        loop {
            let word = self.u64()?;
            let unknown = word & !(1 << 63) & if place == 0 { !known } else { u64::MAX };
            if unknown != 0 {
                let bit = place + unknown.trailing_zeros();
                return Err(Error::unsupported(format!("the RNTuple uses the unknown feature number {bit}"))
                    .hint("a newer version of sapwood may read it"));
            }
            if word >> 63 == 0 {
                return Ok(());
            }
            place = place.saturating_add(64);
        }
    }

    pub(crate) fn locator(&mut self) -> Result<Locator> {
        let head = self.i32()?;
        if head >= 0 {
            let start = self.u64()?;
            return Ok(Locator::File(ByteRange { start, len: u64::from(head.unsigned_abs()) }));
        }
        // The whole number is negated before its bits are looked at.
        let head = head.unsigned_abs();
        let (size, kind) = ((head & 0xFFFF) as usize, (head >> 24 & 0x7F) as u8);
        let Some(size) = size.checked_sub(4) else { return Err(self.corrupt("has an impossible locator")) };
        let mut body = Wire { rest: self.bytes(size)?, what: self.what };
        match kind {
            1 => {
                let len = body.u64()?;
                Ok(Locator::File(ByteRange { start: body.u64()?, len }))
            }
            other => Ok(Locator::Other(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(bytes: &[u8]) -> Wire<'_> {
        Wire { rest: bytes, what: "header" }
    }

    #[test]
    fn the_head_of_a_locator_is_negated_as_a_whole() {
        let mut bytes = vec![0xEC, 0xFF, 0xFF, 0xFE];
        bytes.extend(7_u64.to_le_bytes());
        bytes.extend(1000_u64.to_le_bytes());
        assert_eq!(wire(&bytes).locator().unwrap(), Locator::File(ByteRange { start: 1000, len: 7 }));
    }

    #[test]
    fn an_unknown_feature_is_named_by_its_number() {
        let words = [1_u64 << 63, 1 << 63, 1 << 9].map(u64::to_le_bytes).concat();
        let error = wire(&words).feature_flags(1).unwrap_err();
        assert!(error.message().contains("137"), "{error}");
    }

    #[test]
    fn lists_longer_than_their_frames_are_refused() {
        let list = [(-12_i64).to_le_bytes().to_vec(), u32::MAX.to_le_bytes().to_vec()].concat();
        assert!(wire(&list).list(8).is_err());
        assert!(wire(&i64::MIN.to_le_bytes()).list(8).is_err());
    }

    #[test]
    fn checksums_are_xxh3() {
        let input = |len: usize| -> Vec<u8> { (0..len).map(|i| (7 * i + 3) as u8).collect() };
        assert_eq!(xxh3_64(&input(0)), 0x2d06_8005_38d3_94c2);
        assert_eq!(xxh3_64(&input(241)), 0x8bea_dd3a_8874_fe17);
        assert_eq!(xxh3_64(&input(1025)), 0x806c_2072_ed71_3576);
    }
}
