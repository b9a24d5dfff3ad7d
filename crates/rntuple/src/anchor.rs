//! The anchor: the object of class `ROOT::RNTuple` that says where header and footer are.

use sapwood_core::{ByteRange, Error, ErrorKind, Result};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of an anchor without later extensions.
const LEN: usize = 78;
/// The bytes before the first that is in the checksum: byte count and class version.
const UNCHECKED: usize = 6;
/// The version of the format that is written: epoch, major, minor, patch.
const VERSION: [u16; 4] = [1, 0, 2, 0];
/// The class version.
const CLASS_VERSION: u16 = 2;
/// Marks a byte count.
const BYTE_COUNT_MASK: u32 = 0x4000_0000;

/// Where the metadata of an RNTuple is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// Where the header is stored.
    pub header: ByteRange,
    /// Uncompressed bytes of the header.
    pub header_len: u64,
    /// Where the footer is stored.
    pub footer: ByteRange,
    /// Uncompressed bytes of the footer.
    pub footer_len: u64,
    /// Longer blobs are stored in several parts.
    pub max_key_size: u64,
}

impl Anchor {
    /// Parses the uncompressed object of the key of an RNTuple.
    ///
    /// # Errors
    /// `Unsupported` for a version before 1.0; `Checksum` if it is damaged.
    pub fn parse(payload: &[u8]) -> Result<Anchor> {
        if payload.len() < LEN {
            return Err(Error::unsupported(format!("an RNTuple anchor of {} bytes", payload.len()))
                .hint("RNTuples that were written before ROOT 6.34 cannot be read"));
        }
        let (content, checksum) = payload.split_at(payload.len() - 8);
        let checked = content.get(UNCHECKED..).unwrap_or_default();
        let number = |at: usize| -> u64 {
            let bytes = payload.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u64::from_be_bytes)
        };
        let epoch = number(UNCHECKED) >> 48;
        if epoch != 1 {
            return Err(Error::unsupported(format!("an RNTuple of the format's epoch {epoch}"))
                .hint("only RNTuples of epoch 1, written by ROOT 6.34 or later, can be read"));
        }
        if checksum != xxh3_64(checked).to_be_bytes() {
            return Err(Error::new(
                ErrorKind::Checksum,
                "the anchor of the RNTuple does not match its checksum",
            ));
        }
        let blob = |at| ByteRange { start: number(at), len: number(at + 8) };
        Ok(Anchor {
            header: blob(14),
            header_len: number(30),
            footer: blob(38),
            footer_len: number(54),
            // uproot, which never splits blobs, writes 0.
            max_key_size: Some(number(62)).filter(|size| *size > 0).unwrap_or(u64::MAX),
        })
    }

    /// The object of the key of an RNTuple.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = (BYTE_COUNT_MASK | (LEN - 12) as u32).to_be_bytes().to_vec();
        bytes.extend(CLASS_VERSION.to_be_bytes());
        bytes.extend(VERSION.into_iter().flat_map(u16::to_be_bytes));
        let Anchor { header, header_len, footer, footer_len, max_key_size } = *self;
        let numbers =
            [header.start, header.len, header_len, footer.start, footer.len, footer_len, max_key_size];
        bytes.extend(numbers.into_iter().flat_map(u64::to_be_bytes));
        let checksum = xxh3_64(bytes.get(UNCHECKED..).unwrap_or_default());
        bytes.extend(checksum.to_be_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_anchor_of_a_minimal_file_is_parsed_and_damage_noticed() {
        let text = "400000420002000100000002000000000000000001100000000000000066\
                    00000000000000a400000000000001a000000000000000360000000000000070\
                    0000000040000000547fd3f04978c124";
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        let bytes: Vec<u8> = digits.chunks(2).map(byte).collect();
        let anchor = Anchor::parse(&bytes).unwrap();
        assert_eq!(anchor.bytes(), bytes);
        assert_eq!(anchor.header, ByteRange { start: 272, len: 102 });
        assert_eq!((anchor.header_len, anchor.footer_len, anchor.max_key_size), (164, 112, 1 << 30));
        for at in UNCHECKED..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(Anchor::parse(&damaged).is_err(), "byte {at}");
        }
        assert_eq!(Anchor::parse(&bytes[..70]).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
