//! How the values of events are written: variable-length numbers, texts, and ranges as steps from one to the next.

use sapwood_core::ByteRange;

/// A value that can be written, and read back.
pub(super) trait Wire: Sized {
    fn put(&self, out: &mut Vec<u8>);

    /// Takes a value from the front of `input`; `None` if there is no valid one.
    fn take(input: &mut &[u8]) -> Option<Self>;
}

impl Wire for u64 {
    /// Seven bits in each byte, the lowest first; the eighth bit marks that more follow.
    fn put(&self, out: &mut Vec<u8>) {
        let mut left = *self;
        while left >= 0x80 {
            out.push((left & 0x7f) as u8 | 0x80);
            left >>= 7;
        }
        out.push(left as u8);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = input.split_first()?;
            *input = rest;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

/// Differences, small in either direction: 0, -1, 1, -2, … become 0, 1, 2, 3, …
impl Wire for i64 {
    fn put(&self, out: &mut Vec<u8>) {
        ((self << 1) ^ (self >> 63)).cast_unsigned().put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let value = u64::take(input)?;
        Some((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }
}

impl Wire for String {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let len = usize::try_from(u64::take(input)?).ok()?;
        let (text, rest) = input.split_at_checked(len)?;
        *input = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

/// The count, then each value as its difference from the one before.
impl Wire for Vec<u64> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        let mut before = 0;
        for value in self {
            value.wrapping_sub(before).cast_signed().put(out);
            before = *value;
        }
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let mut before = 0_u64;
        many(input, |input| {
            before = before.wrapping_add(i64::take(input)?.cast_unsigned());
            Some(before)
        })
    }
}

/// The count, then for each range its distance from the end of the one before, and its length.
impl Wire for Vec<ByteRange> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        let mut end = 0;
        for range in self {
            put_range(*range, &mut end, out);
        }
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let mut end = 0;
        many(input, |input| take_range(input, &mut end))
    }
}

/// Where a chunk lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedChunk {
    /// Number of the file.
    pub file: u64,
    /// The first entry in it; 0 if irrelevant.
    pub first_entry: u64,
    /// Its byte range in the file.
    pub range: ByteRange,
}

impl Wire for Vec<RecordedChunk> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        let (mut file, mut entry, mut end) = (0_u64, 0_u64, 0);
        for chunk in self {
            chunk.file.wrapping_sub(file).cast_signed().put(out);
            chunk.first_entry.wrapping_sub(entry).cast_signed().put(out);
            (file, entry) = (chunk.file, chunk.first_entry);
            put_range(chunk.range, &mut end, out);
        }
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let (mut file, mut first_entry, mut end) = (0_u64, 0_u64, 0);
        many(input, |input| {
            file = file.wrapping_add(i64::take(input)?.cast_unsigned());
            first_entry = first_entry.wrapping_add(i64::take(input)?.cast_unsigned());
            Some(RecordedChunk { file, first_entry, range: take_range(input, &mut end)? })
        })
    }
}

fn put_range(range: ByteRange, end: &mut u64, out: &mut Vec<u8>) {
    range.start.wrapping_sub(*end).cast_signed().put(out);
    range.len.put(out);
    *end = range.start.wrapping_add(range.len);
}

fn take_range(input: &mut &[u8], end: &mut u64) -> Option<ByteRange> {
    let start = end.wrapping_add(i64::take(input)?.cast_unsigned());
    let range = ByteRange::new(start, u64::take(input)?).ok()?;
    *end = range.end();
    Some(range)
}

/// A count, then as many values. Each takes at least a byte, so the input bounds the count.
fn many<T>(input: &mut &[u8], mut one: impl FnMut(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    let count = usize::try_from(u64::take(input)?).ok().filter(|count| *count <= input.len())?;
    (0..count).map(|_| one(input)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;

    fn comes_back<T: Wire + PartialEq + Debug>(value: &T) {
        let mut out = Vec::new();
        value.put(&mut out);
        for cut in 0..out.len() {
            assert_ne!(T::take(&mut &out[..cut]).as_ref(), Some(value));
        }
        let mut input = &out[..];
        assert_eq!(T::take(&mut input).as_ref(), Some(value));
        assert!(input.is_empty());
    }

    #[test]
    fn values_come_back() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            comes_back(&value);
        }
        for value in [0, -1, 1, 63, -64, 64, i64::MAX, i64::MIN] {
            comes_back(&value);
        }
        comes_back(&"Muon_pt – µ".to_owned());
        comes_back(&vec![5, 3, u64::MAX, 0]);
        let range = |start, len| ByteRange { start, len };
        comes_back(&vec![range(100, 5), range(105, 0), range(7, 1 << 40)]);
        let chunk = |file, first_entry, range| RecordedChunk { file, first_entry, range };
        comes_back(&vec![chunk(3, 50, range(9, 9)), chunk(1, 0, range(0, 4))]);
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(u64::take(&mut &[0xff; 11][..]), None);
        assert_eq!(Vec::<u64>::take(&mut &[0xff, 0xff, 0xff, 0x7f, 1][..]), None);
        assert_eq!(String::take(&mut &[2, 0xff, 0xff][..]), None);
    }
}
