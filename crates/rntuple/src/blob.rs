//! Blobs: in one part, or, if they are longer than a key may be, in several; compressed or not.

use bytes::Bytes;
use sapwood_core::{ByteRange, Error, Result};

/// Bytes of the position of a part.
const LINK: u64 = 8;

/// A blob in several parts: the first is followed by the positions of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Split {
    first: ByteRange,
    /// The positions of the other parts.
    pub(crate) links: ByteRange,
    /// Bytes of the blob behind the first part.
    rest: u64,
    most: u64,
}

impl Split {
    /// How the blob at `range` is split, if keys have at most `most` bytes; `None` if it is in one part. 0 is no limit.
    ///
    /// # Errors
    /// `Corrupt` if the first part cannot hold the positions of the others.
    pub(crate) fn of(range: ByteRange, most: u64) -> Result<Option<Split>> {
        if most == 0 || range.len <= most {
            return Ok(None);
        }
        let mut others = range.len.div_ceil(most) - 1;
        let room = (most - range.len % most) % most;
        if room < others.saturating_mul(LINK) {
            others += 1;
        }
        let first = others.checked_mul(LINK).and_then(|links| most.checked_sub(links)).filter(|len| *len > 0);
        let end = range.start.checked_add(most);
        let (Some(first), Some(_)) = (first, end) else {
            return Err(Error::corrupt(format!("{} bytes are stored in impossibly many parts", range.len))
                .at(range.start));
        };
        Ok(Some(Split {
            first: ByteRange { start: range.start, len: first },
            links: ByteRange { start: range.start + first, len: most - first },
            rest: range.len - first,
            most,
        }))
    }

    /// The parts in order, given the bytes of their [positions](Split::links).
    ///
    /// # Errors
    /// `Corrupt` for positions beyond all files.
    pub(crate) fn parts(&self, links: &[u8]) -> Result<Vec<ByteRange>> {
        let mut parts = vec![self.first];
        let mut rest = self.rest;
        for link in links.as_chunks::<8>().0 {
            let (start, len) = (u64::from_le_bytes(*link), rest.min(self.most));
            if start.checked_add(len).is_none() {
                return Err(
                    Error::corrupt("a part of a blob is beyond the end of the file").at(self.links.start)
                );
            }
            rest -= len;
            parts.push(ByteRange { start, len });
        }
        Ok(parts)
    }
}

/// Uncompresses a blob of `stored` bytes to `len`.
///
/// # Errors
/// `Corrupt` if they are damaged, or hold more or less; `Limit` if there is not enough memory.
pub(crate) fn uncompress(stored: Bytes, len: usize) -> Result<Bytes> {
    if stored.len() == len {
        return Ok(stored);
    }
    check(&stored, len)?;
    sapwood_codec::with_decoder(|decoder| decoder.decode_to_vec(&stored, len)).map(Bytes::from)
}

/// Checks that compressed bytes can hold `len` bytes, and end with them.
///
/// # Errors
/// `Corrupt`.
pub(crate) fn check(stored: &[u8], len: usize) -> Result<()> {
    if stored.len() > len {
        return Err(Error::corrupt(format!("{} bytes are stored for {len} uncompressed ones", stored.len())));
    }
    let (mut end, mut missing) = (0, len);
    for block in sapwood_codec::blocks(stored, len) {
        let block = block?;
        if block.header.form != sapwood_codec::BlockEncoding::Bytes {
            return Err(Error::corrupt("a compression block has an encoding that RNTuples do not use"));
        }
        end = block.offset + sapwood_codec::HEADER_LEN + block.data.len();
        missing -= block.header.uncompressed;
    }
    match stored.len() - end {
        0 if missing == 0 => Ok(()),
        more => Err(Error::corrupt(format!("{more} bytes are left over after the last compression block"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_blobs_are_split_as_root_splits_them() {
        let range = |start, len| ByteRange { start, len };
        let split = |len| Split::of(range(5000, len), 1000).unwrap();
        assert_eq!((split(1000), Split::of(range(5000, 1001), 0).unwrap()), (None, None));
        // The positions fit behind the first part, or need one part more.
        let two = split(1992).unwrap();
        assert_eq!((two.first.len, two.links), (992, range(5992, 8)));
        assert_eq!(two.parts(&7_u64.to_le_bytes()).unwrap(), [range(5000, 992), range(7, 1000)]);
        let three = split(1993).unwrap();
        assert_eq!((three.first.len, three.links.len), (984, 16));
        let links = [7_u64, 9].map(u64::to_le_bytes).concat();
        assert_eq!(three.parts(&links).unwrap()[1..], [range(7, 1000), range(9, 9)]);
        assert!(three.parts(&u64::MAX.to_le_bytes()).is_err());
        assert!(Split::of(range(0, u64::MAX), 8).is_err());
    }

    #[test]
    fn bytes_behind_the_last_block_are_noticed() {
        let payload = &b"CS\x08\x0a\x00\x00\x64\x00\x00\x0b\xf2\xf7\x0f\x51\x08\xa2\x2d\x01\x00"[..];
        let uncompress = |bytes: &[u8], len| uncompress(Bytes::copy_from_slice(bytes), len);
        assert_eq!(uncompress(payload, 100).unwrap(), b"ROOT ".repeat(20));
        assert!(uncompress(&[payload, &[0]].concat(), 100).is_err());
        assert!(uncompress(payload, 101).is_err());
    }
}
