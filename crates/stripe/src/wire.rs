//! Numbers, byte planes and compressed blocks in objects: little-endian; sizes are checked before memory is
//! allocated.

use sapwood_codec::{Compression, with_decoder, with_encoder};
use sapwood_core::{Error, ErrorKind, Result};
use xxhash_rust::xxh64::xxh64;

/// XXH64 with seed 0, the checksum of everything in a dataset.
///
/// ```
/// assert_eq!(sapwood_stripe::checksum(b""), 0xef46_db37_51d8_e999);
/// ```
pub fn checksum(bytes: &[u8]) -> u64 {
    xxh64(bytes, 0)
}

/// A count or a length as `usize`.
pub(crate) fn size(number: u64) -> Result<usize> {
    usize::try_from(number)
        .map_err(|_| Error::new(ErrorKind::Limit, format!("{number} is more than fits in memory")))
}

/// Reads bytes in order; errors contain the position.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    what: &'static str,
}

impl<'a> Reader<'a> {
    /// Reads `bytes` from the beginning; errors call them `what`.
    pub(crate) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Reader { bytes, at: 0, what }
    }

    /// The next bytes.
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(len);
        let taken = end.and_then(|end| self.bytes.get(self.at..end)).ok_or_else(|| {
            let message = format!(
                "{} ends after {} bytes, before something of {len} bytes",
                self.what,
                self.bytes.len()
            );
            Error::new(ErrorKind::Truncated, message).at(self.at as u64)
        })?;
        self.at += len;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The position of the next byte.
    pub(crate) fn place(&self) -> usize {
        self.at
    }

    /// The number of remaining bytes.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// `count` numbers as [`put_planes`] writes them.
    pub(crate) fn planes(&mut self, count: usize, width: usize) -> Result<Vec<u64>> {
        let start = self.at;
        let len = count.checked_mul(width).ok_or_else(|| {
            Error::corrupt(format!("{} has a column of {count} numbers", self.what)).at(start as u64)
        })?;
        let bytes = self.take(len)?;
        let mut numbers = vec![0u64; count];
        if count > 0 {
            for (plane, bytes) in bytes.chunks_exact(count).enumerate() {
                for (number, byte) in numbers.iter_mut().zip(bytes) {
                    *number |= u64::from(*byte) << (8 * plane);
                }
            }
        }
        Ok(numbers)
    }

    /// A compressed block of at most `limit` bytes, as [`put_packed`] writes it.
    pub(crate) fn packed(&mut self, limit: usize) -> Result<Vec<u8>> {
        let start = self.at as u64;
        let (stored, len) = (self.u32()? as usize, self.u32()? as usize);
        if len > limit || stored > len {
            let message = format!(
                "{} has a block of {len} bytes, packed to {stored}, where {limit} is most",
                self.what
            );
            return Err(Error::corrupt(message).at(start));
        }
        let payload = self.take(stored)?;
        if stored == len {
            return Ok(payload.to_vec());
        }
        with_decoder(|decoder| decoder.decode_to_vec(payload, len)).map_err(|error| error.inside(start + 8))
    }

    /// Fails if bytes are left over.
    pub(crate) fn end(&self) -> Result<()> {
        if self.left() == 0 {
            return Ok(());
        }
        let message = format!("{} has {} bytes too many", self.what, self.left());
        Err(Error::corrupt(message).at(self.at as u64))
    }

    /// Checks a rule; `message` describes the violation.
    pub(crate) fn rule(&self, holds: bool, message: impl FnOnce() -> String) -> Result<()> {
        if holds {
            return Ok(());
        }
        Err(Error::corrupt(format!("{}: {}", self.what, message())).at(self.at as u64))
    }
}

/// Numbers of `width` bytes: all lowest bytes first, then all second ones, and so on: high bytes repeat, and
/// compress well.
pub(crate) fn put_planes(out: &mut Vec<u8>, width: u32, numbers: impl Iterator<Item = u64> + Clone) {
    for plane in 0..width {
        out.extend(numbers.clone().map(|number| (number >> (8 * plane)) as u8));
    }
}

/// A compressed block: the stored length, the length, and the bytes as in a ROOT record, that is uncompressed
/// if both lengths are equal, and compressed otherwise.
///
/// # Errors
/// `Limit` for 4 GiB and more, or if there is not enough memory for the compressor.
pub(crate) fn put_packed(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    let length = |bytes: &[u8]| {
        u32::try_from(bytes.len()).map_err(|_| {
            Error::new(ErrorKind::Limit, format!("a block has {} bytes, more than 4 GiB", bytes.len()))
        })
    };
    let mut payload = Vec::new();
    let smaller = with_encoder(|encoder| encoder.compress(bytes, Compression::default(), &mut payload))?;
    let stored = if smaller { payload.as_slice() } else { bytes };
    out.extend(length(stored)?.to_le_bytes());
    out.extend(length(bytes)?.to_le_bytes());
    out.extend(stored);
    Ok(())
}
