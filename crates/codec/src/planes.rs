//! Numbers as planes: first the first bytes of all numbers, then all second bytes, and so on; each plane is a
//! Zstandard frame.
//!
//! The first bytes of floating-point numbers are similar, the last ones look random. Separated, each plane
//! gets the code that suits it, and the fastest search finds the repetitions. ROOT does not read such blocks:
//! they are for stripes of datasets (docs/specs/stripe.md, "Baskets").

use multiversion::multiversion;
use std::array;
use zstd_safe::{CCtx, CParameter, ResetDirective};

/// The shortest repetition to search for. Shorter ones are coincidences, in bytes for which an entropy code
/// works better.
const LEAST_REPEATED: u32 = 7;
/// Widths in bytes of numbers that may be stored as planes.
pub(crate) const WIDTHS: [usize; 3] = [2, 4, 8];
/// The approximate overhead of a frame.
const FRAME: usize = 12;
/// The approximate cost of the code for a byte value that occurs in a plane.
const BITS_TO_SAY: f32 = 4.0;
/// Most bytes in one block: they are reassembled in the processor's cache.
pub(crate) const BLOCK: usize = 1 << 18;

/// Compresses a block as planes of numbers of `width` bytes; returns the length of the frames, `None` if they
/// do not fit. Bytes after the last number belong to the last plane.
pub(crate) fn compress(
    context: &mut CCtx<'static>,
    block: &[u8],
    width: usize,
    room: &mut Vec<u8>,
    stream: &mut [u8],
) -> Option<usize> {
    room.clear();
    divide(block, width, room);
    let count = block.len().checked_div(width)?;
    let (mut rest, mut written) = (room.as_slice(), 0);
    for number in 1..=width {
        let len = if number == width { rest.len() } else { count };
        let (plane, after) = rest.split_at_checked(len)?;
        context.reset(ResetDirective::SessionAndParameters).ok()?;
        context.set_parameter(CParameter::CompressionLevel(1)).ok()?;
        context.set_parameter(CParameter::MinMatch(LEAST_REPEATED)).ok()?;
        written += context.compress2(stream.get_mut(written..)?, plane).ok()?;
        rest = after;
    }
    Some(written)
}

/// The width of numbers with which the planes of these entries are likely to be smallest.
pub(crate) fn likely_width(entries: &[u8]) -> usize {
    let by_size = |width: &usize| match width {
        2 => likely_size::<2>(entries),
        4 => likely_size::<4>(entries),
        _ => likely_size::<8>(entries),
    };
    WIDTHS.into_iter().min_by_key(by_size).unwrap_or(WIDTHS[0])
}

/// The approximate size of planes if each has the best code for its bytes, and nothing repeats.
fn likely_size<const WIDTH: usize>(entries: &[u8]) -> usize {
    let (numbers, _) = entries.as_chunks::<WIDTH>();
    let mut counts = [[0_u16; 256]; WIDTH];
    // A code cannot be estimated from more than that.
    for number in numbers.iter().take(usize::from(u16::MAX)) {
        for (count, byte) in counts.iter_mut().zip(number) {
            count[usize::from(*byte)] += 1;
        }
    }
    let all = (numbers.len().min(usize::from(u16::MAX)) as f32).log2();
    let bits: f32 = counts
        .iter()
        .flatten()
        .filter(|count| **count > 0)
        .map(|count| f32::from(*count) * (all - f32::from(*count).log2()) + BITS_TO_SAY)
        .sum();
    (bits / 8.0) as usize + WIDTH * FRAME
}

/// Appends the planes of a block, and the bytes after the last number.
fn divide(block: &[u8], width: usize, planes: &mut Vec<u8>) {
    match width {
        2 => divide_by::<2>(block, planes),
        4 => divide_by::<4>(block, planes),
        _ => divide_by::<8>(block, planes),
    }
}

fn divide_by<const WIDTH: usize>(block: &[u8], planes: &mut Vec<u8>) {
    let (numbers, left) = block.as_chunks::<WIDTH>();
    for place in 0..WIDTH {
        planes.extend(numbers.iter().map(|number| number[place]));
    }
    planes.extend_from_slice(left);
}

/// Reassembles numbers from planes into `out`, which has their length.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn join(planes: &[u8], width: usize, out: &mut [u8]) {
    match width {
        2 => join_by::<2>(planes, out),
        4 => join_by::<4>(planes, out),
        _ => join_by::<8>(planes, out),
    }
}

#[inline(always)]
fn join_by<const WIDTH: usize>(planes: &[u8], out: &mut [u8]) {
    let (numbers, behind) = out.as_chunks_mut::<WIDTH>();
    let count = numbers.len();
    let (planes, left) = planes.split_at(count * WIDTH);
    behind.copy_from_slice(left);
    let planes: [&[u8]; WIDTH] = array::from_fn(|place| &planes[place * count..(place + 1) * count]);
    for (at, number) in numbers.iter_mut().enumerate() {
        for place in 0..WIDTH {
            number[place] = planes[place][at];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes without repetitions.
    fn noise(len: usize) -> Vec<u8> {
        (0..len as u64).map(|n| xxhash_rust::xxh64::xxh64(&n.to_le_bytes(), 0) as u8).collect()
    }

    #[test]
    fn blocks_of_any_length_come_back() {
        for (width, len) in WIDTHS.into_iter().flat_map(|width| (0..70).map(move |len| (width, len))) {
            let block = noise(len);
            let (mut planes, mut out) = (Vec::new(), vec![0; len]);
            divide(&block, width, &mut planes);
            join(&planes, width, &mut out);
            assert_eq!(out, block);
        }
        let mut planes = Vec::new();
        divide(b"abcdABCDxy", 4, &mut planes);
        assert_eq!(planes, b"aAbBcCdDxy");
    }

    #[test]
    fn the_width_of_numbers_is_found() {
        let numbers = |width: usize| -> Vec<u8> {
            let number = |byte: u8| [&[byte, byte ^ 3][..], &[0, 1, 7, 64, 65, 66][..width - 2]].concat();
            noise(1000).into_iter().flat_map(number).collect()
        };
        for width in WIDTHS {
            assert_eq!(likely_width(&numbers(width)), width);
        }
        assert_eq!(likely_width(&[]), 2);
    }

    #[test]
    fn numbers_with_alike_first_bytes_become_short() {
        let block: Vec<u8> = noise(8000).into_iter().flat_map(|byte| [66, 1, byte, 0]).collect();
        let (mut room, mut stream) = (Vec::new(), vec![0; block.len()]);
        let mut context = CCtx::create();
        let written = compress(&mut context, &block, 4, &mut room, &mut stream).unwrap();
        assert!(written < 8100);
        assert_eq!(compress(&mut context, &block, 4, &mut room, &mut stream[..8000]), None);
    }
}
