//! Writes the little-endian records of RNTuple's metadata: the counterpart of [`Wire`](crate::wire::Wire).

use crate::wire::EnvelopeType;
use sapwood_core::ByteRange;
use xxhash_rust::xxh3::xxh3_64;

/// Longer blobs need a locator with a wider size.
const SHORT_LOCATOR: u64 = i32::MAX as u64;

/// A part of an envelope.
#[derive(Debug, Default)]
pub(super) struct Out(Vec<u8>);

macro_rules! numbers {
    ($($name:ident),*) => { $(
        pub(super) fn $name(&mut self, value: $name) {
            self.0.extend(value.to_le_bytes());
        }
    )* };
}

impl Out {
    numbers!(u16, u32, u64, i32, i64, f64);

    /// An envelope with this content, and its checksum.
    pub(super) fn envelope(kind: EnvelopeType, content: impl FnOnce(&mut Out)) -> (Vec<u8>, u64) {
        let mut out = Out::default();
        out.u64(0);
        content(&mut out);
        let Out(mut bytes) = out;
        let head = (bytes.len() as u64 + 8) << 16 | kind as u64;
        bytes.splice(..8, head.to_le_bytes());
        let checksum = xxh3_64(&bytes);
        bytes.extend(checksum.to_le_bytes());
        (bytes, checksum)
    }

    pub(super) fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    pub(super) fn string(&mut self, text: &str) {
        self.blob(text.as_bytes());
    }

    pub(super) fn blob(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend(bytes);
    }

    pub(super) fn record(&mut self, content: impl FnOnce(&mut Out)) {
        self.frame(content, |size| size);
    }

    /// A list of `count` elements, which `content` writes.
    pub(super) fn list(&mut self, count: usize, content: impl FnOnce(&mut Out)) {
        let counted = |out: &mut Out| {
            out.count(count);
            content(out);
        };
        self.frame(counted, |size| -size);
    }

    /// A list of records.
    pub(super) fn records<T>(&mut self, items: &[T], record: impl Fn(&mut Out, &T)) {
        self.list(items.len(), |out| items.iter().for_each(|item| out.record(|out| record(out, item))));
    }

    fn frame(&mut self, content: impl FnOnce(&mut Out), sign: impl FnOnce(i64) -> i64) {
        let start = self.0.len();
        self.i64(0);
        content(self);
        let size = sign((self.0.len() - start) as i64);
        self.0.splice(start..start + 8, size.to_le_bytes());
    }

    pub(super) fn locator(&mut self, blob: ByteRange) {
        if blob.len <= SHORT_LOCATOR {
            self.u32(blob.len as u32);
        } else {
            // Type 1 and 20 bytes, negated as one number.
            self.i32(-(1 << 24 | 20));
            self.u64(blob.len);
        }
        self.u64(blob.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Locator, Wire};

    #[test]
    fn what_is_written_is_read() {
        let blobs = [ByteRange { start: 7, len: 5 }, ByteRange { start: 1 << 40, len: 1 << 33 }];
        let (bytes, checksum) = Out::envelope(EnvelopeType::Footer, |out| {
            out.records(&blobs, |out, blob| out.locator(*blob));
            out.record(|out| out.string("über"));
        });
        let (mut wire, found) = Wire::envelope(&bytes, EnvelopeType::Footer).unwrap();
        assert_eq!(found, checksum);
        let (count, mut list) = wire.list(8).unwrap();
        assert_eq!(count, 2);
        for blob in blobs {
            assert_eq!(list.record().unwrap().locator().unwrap(), Locator::File(blob));
        }
        assert_eq!(wire.record().unwrap().string().unwrap(), "über");
    }
}
