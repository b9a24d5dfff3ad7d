//! Offset tables of entries, as Zstandard frames.
//!
//! The offsets of a table grow, and are big-endian: most share three bytes with the previous offset. The
//! library finds such short repetitions only with searches that take forty times as long. Here, it is given
//! their positions: its frames become half as long as with the searches that pay off for numbers, and are as
//! fast as with the fastest.
//!
//! They end with a checksum, with which a reader that knows the table from elsewhere can confirm it without
//! decompressing: [`holds`].

use std::ptr::NonNull;
use xxhash_rust::xxh64::xxh64;
use zstd_sys::ZSTD_ResetDirective::ZSTD_reset_session_and_parameters;
use zstd_sys::ZSTD_cParameter::{
    ZSTD_c_checksumFlag, ZSTD_c_compressionLevel, ZSTD_c_experimentalParam12 as ZSTD_c_validateSequences,
    ZSTD_c_minMatch,
};
use zstd_sys::{
    ZSTD_CCtx, ZSTD_CCtx_reset, ZSTD_CCtx_setParameter, ZSTD_Sequence, ZSTD_compressSequences,
    ZSTD_createCCtx, ZSTD_freeCCtx, ZSTD_isError,
};

/// Tables from this size on are worth a block of their own.
pub(crate) const LEAST: usize = 512;
/// Most bytes of a table in one block: they determine the memory for its repetitions.
pub(crate) const BLOCK: usize = 1 << 18;

/// Bytes of an offset: the distance of repetitions.
const OFFSET_LEN: u32 = 4;
/// The shortest repetition in the format (RFC 8878 §3.1.1.3.2.1.1).
const LEAST_REPEATED: u32 = 3;

/// The first bytes of a frame, and the bit of the next byte that announces a checksum at its end: the lower
/// half of the XXH64, seed 0, of its contents (RFC 8878 §3.1.1).
const FRAME: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
const HAS_CHECKSUM: u8 = 1 << 2;

/// Compresses tables to frames; reuses its memory.
pub(crate) struct TableEncoder {
    context: NonNull<ZSTD_CCtx>,
    sequences: Vec<ZSTD_Sequence>,
}

// SAFETY: the context belongs to this alone, and the library ties none to a thread.
#[expect(unsafe_code, reason = "a context of the C library is a pointer")]
unsafe impl Send for TableEncoder {}

impl TableEncoder {
    /// `None` if there is not enough memory.
    #[expect(unsafe_code, reason = "no safe wrapper passes the positions of repetitions")]
    pub(crate) fn new() -> Option<TableEncoder> {
        // SAFETY: it has no arguments, and returns null if there is no memory.
        let context = NonNull::new(unsafe { ZSTD_createCCtx() })?;
        Some(TableEncoder { context, sequences: Vec::new() })
    }

    /// Compresses a table; returns the length of the stream, `None` if it does not fit.
    #[expect(unsafe_code, reason = "no safe wrapper passes the positions of repetitions")]
    pub(crate) fn compress(&mut self, table: &[u8], stream: &mut [u8]) -> Option<usize> {
        find(table, &mut self.sequences);
        let context = self.context.as_ptr();
        // SAFETY: the context is valid and not shared; the pointers are valid for the lengths given with
        // them, beyond which the function neither reads nor writes. `ZSTD_c_validateSequences` makes it
        // return an error for sequences that do not match the table.
        unsafe {
            let mut refused = ZSTD_isError(ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters));
            for (parameter, value) in [
                (ZSTD_c_compressionLevel, 1),
                (ZSTD_c_minMatch, LEAST_REPEATED as i32),
                (ZSTD_c_validateSequences, 1),
                (ZSTD_c_checksumFlag, 1),
            ] {
                refused |= ZSTD_isError(ZSTD_CCtx_setParameter(context, parameter, value));
            }
            if refused != 0 {
                return None;
            }
            let written = ZSTD_compressSequences(
                context,
                stream.as_mut_ptr().cast(),
                stream.len(),
                self.sequences.as_ptr(),
                self.sequences.len(),
                table.as_ptr().cast(),
                table.len(),
            );
            (ZSTD_isError(written) == 0).then_some(written)
        }
    }
}

impl Drop for TableEncoder {
    #[expect(unsafe_code, reason = "a context of the C library is a pointer")]
    fn drop(&mut self) {
        // SAFETY: the context came from the library, and is not used again.
        unsafe { ZSTD_freeCCtx(self.context.as_ptr()) };
    }
}

/// True if the checksum of a Zstandard frame confirms that it holds these bytes; false if it does not, or is
/// missing.
pub(crate) fn holds(frame: &[u8], bytes: &[u8]) -> bool {
    let Some(([m0, m1, m2, m3, descriptor], rest)) = frame.split_first_chunk::<5>() else { return false };
    let Some(checksum) = rest.last_chunk::<4>() else { return false };
    let has_checksum = [*m0, *m1, *m2, *m3] == FRAME && descriptor & HAS_CHECKSUM != 0;
    let [c0, c1, c2, c3, ..] = xxh64(bytes, 0).to_le_bytes();
    has_checksum && *checksum == [c0, c1, c2, c3]
}

/// Finds the parts of a table that repeat the previous offset.
fn find(table: &[u8], sequences: &mut Vec<ZSTD_Sequence>) {
    sequences.clear();
    let (words, _) = table.as_chunks::<{ OFFSET_LEN as usize }>();
    let mut words = words.iter().map(|word| u32::from_be_bytes(*word));
    let Some(mut before) = words.next() else { return };
    // Literal bytes, and repeated bytes behind them, up to the current word.
    let (mut literals, mut repeated) = (OFFSET_LEN, 0);
    let mut push = |literals: &mut u32, repeated: &mut u32| {
        if *repeated >= LEAST_REPEATED {
            sequences.push(ZSTD_Sequence {
                offset: OFFSET_LEN,
                litLength: std::mem::take(literals),
                matchLength: *repeated,
                rep: 0,
            });
        } else {
            *literals += *repeated;
        }
        *repeated = 0;
    };
    for word in words {
        let differs = word ^ std::mem::replace(&mut before, word);
        if differs == 0 {
            repeated += OFFSET_LEN;
            continue;
        }
        // Between the first differing byte and the last one, there are too few bytes for a repetition.
        let (first, after) = (differs.leading_zeros() / 8, OFFSET_LEN - differs.trailing_zeros() / 8);
        repeated += first;
        push(&mut literals, &mut repeated);
        literals += after - first;
        repeated = OFFSET_LEN - after;
    }
    push(&mut literals, &mut repeated);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table as in baskets: its length, offsets, and a meaningless last one.
    fn table(lengths: impl IntoIterator<Item = u32>) -> Vec<u8> {
        let mut offset = 90;
        let mut offsets = Vec::new();
        for length in lengths {
            offsets.push(offset);
            offset = u32::wrapping_add(offset, length);
        }
        let words = [vec![offsets.len() as u32 + 1], offsets, vec![0]].concat();
        words.into_iter().flat_map(u32::to_be_bytes).collect()
    }

    /// The length of a frame that was decompressed to the same bytes.
    fn frame_len(bytes: &[u8]) -> usize {
        let (mut stream, mut back) = (vec![0; bytes.len() + 40], vec![0; bytes.len()]);
        let written = TableEncoder::new().unwrap().compress(bytes, &mut stream).unwrap();
        assert_eq!(zstd_safe::decompress(&mut back[..], &stream[..written]), Ok(bytes.len()));
        assert!(back == bytes);
        assert!(holds(&stream[..written], bytes) || bytes.is_empty());
        written
    }

    #[test]
    fn tables_come_back_and_are_short() {
        let lengths = |most: u32| (0..5000_u32).map(move |n| n.wrapping_mul(2_654_435_761) % most * 4);
        // Little more than six bits for an offset that is a multiple of 4, and almost nothing where nothing
        // is added.
        assert!(frame_len(&table(lengths(6))) < 4500);
        assert!(frame_len(&table((0..5000).map(|n| u32::from(n % 100 == 0)))) < 300);
        assert!(frame_len(&table(std::iter::repeat_n(0, 5000))) < 35);
        // Entries longer than 256 bytes change two bytes, beyond 64 kB three.
        for most in [1, 100, 300, 20_000, 10_000_000] {
            frame_len(&table(lengths(most).take(400)));
        }
    }

    #[test]
    fn checksums_tell_tables_apart() {
        let (one, other) = (table([4, 8, 0, 4].repeat(200)), table([4, 8, 4, 0].repeat(200)));
        let mut stream = vec![0; one.len()];
        let written = TableEncoder::new().unwrap().compress(&one, &mut stream).unwrap();
        let frame = &stream[..written];
        assert!(holds(frame, &one) && !holds(frame, &other) && !holds(frame, &one[1..]));
        assert!((0..written).all(|end| !holds(&frame[..end], &one)));
        // A frame without a checksum confirms nothing.
        let written = zstd_safe::compress(&mut stream[..], &one, 3).unwrap();
        assert!(!holds(&stream[..written], &one));
    }

    #[test]
    fn any_bytes_come_back() {
        let noise: Vec<u8> = (0..4096_u32).flat_map(|n| xxh64(&n.to_le_bytes(), 0).to_le_bytes()).collect();
        for len in [0, 1, 3, 4, 5, 7, 8, 9, 100, 101, 102, 103] {
            for start in 0..40 {
                frame_len(&noise[start..start + len]);
            }
        }
        // Few distinct bytes, so that repetitions of all lengths begin and end anywhere.
        let few: Vec<u8> = noise.iter().map(|byte| byte % 16 / 13).collect();
        frame_len(&few);
        // Output that does not fit is not written.
        assert_eq!(TableEncoder::new().unwrap().compress(&noise, &mut vec![0; noise.len()]), None);
    }
}
