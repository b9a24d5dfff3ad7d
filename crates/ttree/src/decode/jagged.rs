//! Entries of any number of items: counted leaves, counted pointers, vectors of numbers.

use super::slice::BasketSlice;
use crate::basket::{Bounds, Content};
use multiversion::multiversion;
use rayon::prelude::*;
use sapwood_core::{Buffer, Error, Result};
use sapwood_streamer::{StoredNumber, position};
use std::sync::Arc;

/// The layout of an entry: `header` bytes, then items of `values` numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct ItemLayout {
    number: StoredNumber,
    values: usize,
    header: usize,
    /// Bytes of an item on file; not 0.
    size: usize,
}

impl ItemLayout {
    pub(super) fn new(number: StoredNumber, values: usize, header: usize) -> Self {
        ItemLayout { number, values, header, size: (number.size_on_file() * values).max(1) }
    }

    fn size_in_memory(self) -> usize {
        self.number.size() * self.values
    }

    /// Number of items in `bytes` bytes that hold `entries` entries.
    fn count(self, bytes: usize, entries: usize) -> Result<usize> {
        let wrong = || {
            Error::corrupt(format!(
                "{bytes} bytes of {entries} entries are no whole number of {}-byte items behind {}-byte headers",
                self.size, self.header
            ))
        };
        let items = bytes.checked_sub(entries.saturating_mul(self.header)).ok_or_else(wrong)?;
        if items % self.size == 0 { Ok(items / self.size) } else { Err(wrong()) }
    }
}

/// Offsets and values of all slices. The offsets are `likely` if these turn out to be correct.
pub(super) fn decode(
    item: ItemLayout,
    slices: &[BasketSlice<'_>],
    likely: Option<&Arc<Buffer>>,
) -> Result<Vec<Arc<Buffer>>> {
    // The number of items follows from the headers, so memory is allocated once and each slice is decoded in
    // place. Only partial slices, at most two, must be decompressed to count their items.
    let items: Vec<usize> = slices.iter().map(|slice| count_items(item, slice)).collect::<Result<_>>()?;
    let mut values = Buffer::zeroed(items.iter().sum::<usize>() * item.size_in_memory());
    if let Some(offsets) = likely
        && decode_values(item, slices, &items, offsets.view(), &mut values)?
    {
        return Ok(vec![Arc::clone(offsets), Arc::new(values)]);
    }
    let entries: usize = slices.iter().map(BasketSlice::len).sum();
    let mut offsets = Buffer::zeroed((entries + 1) * size_of::<i64>());
    let mut work = Vec::with_capacity(slices.len());
    let mut offsets_left = offsets.view_mut::<i64>().get_mut(1..).unwrap_or_default();
    let mut values_left = values.as_bytes_mut();
    let mut base = 0i64;
    for (slice, &count) in slices.iter().zip(&items) {
        let (offsets, after) = offsets_left.split_at_mut(slice.len());
        offsets_left = after;
        let (values, after) = values_left.split_at_mut(count * item.size_in_memory());
        values_left = after;
        work.push((slice, Destination { base, count, offsets, values }));
        base += position(count);
    }
    work.into_par_iter().try_for_each(|(slice, place)| {
        slice.with_content(|content| decode_slice(item, slice, &content, place))
    })?;
    Ok(vec![Arc::new(offsets), Arc::new(values)])
}

/// Decodes only the values, and returns whether `offsets` are those of the slices: each offset table is
/// compared with them, or its checksum with that of the expected table. This is cheaper than writing and
/// keeping the same offsets for many columns.
fn decode_values(
    item: ItemLayout,
    slices: &[BasketSlice<'_>],
    items: &[usize],
    offsets: &[i64],
    values: &mut Buffer,
) -> Result<bool> {
    let entries: usize = slices.iter().map(BasketSlice::len).sum();
    if offsets.len() != entries + 1 || item.header != 0 || !slices.iter().all(BasketSlice::is_whole) {
        return Ok(false);
    }
    let mut work = Vec::with_capacity(slices.len());
    let (mut entry, mut base) = (0, 0i64);
    let mut values_left = values.as_bytes_mut();
    for (slice, &count) in slices.iter().zip(items) {
        let expected = &offsets[entry..=entry + slice.len()];
        let end = base + position(count);
        if expected.first() != Some(&base) || expected.last() != Some(&end) {
            return Ok(false);
        }
        let (values, after) = values_left.split_at_mut(count * item.size_in_memory());
        values_left = after;
        work.push((slice, expected, values));
        (entry, base) = (entry + slice.len(), end);
    }
    let results = work.into_par_iter().map(|(slice, expected, values)| {
        if item.number.keeps_size() && slice.has_table_apart() {
            let table = table_of(item, slice.header.key_len, expected);
            if slice.decompress_before(&table, values, |values| item.number.decode_in_place(values))? {
                return Ok(true);
            }
        }
        slice.with_content(|content| {
            let Bounds::Table { words, key_len, mask: u32::MAX } = content.bounds else { return Ok(false) };
            item.number.decode(content.data, values);
            Ok(is_table(item, words, key_len, expected))
        })
    });
    results.try_reduce(|| true, |first, second| Ok(first && second))
}

/// The offset table, with its length and the final word, of a basket whose entries have these offsets in
/// items.
// Words have 32 bits: a basket with larger offsets has no such table, and its checksum differs.
#[multiversion(targets("x86_64+avx2"))]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the low halves are meant")]
fn table_of(item: ItemLayout, key_len: usize, offsets: &[i64]) -> Vec<u8> {
    let base = offsets.first().map_or(0, |first| *first as u32);
    let mut table = vec![0; (offsets.len() + 1) * 4];
    if let [count, words @ .., _] = table.as_chunks_mut::<4>().0 {
        *count = (offsets.len() as u32).to_be_bytes();
        for (word, offset) in words.iter_mut().zip(offsets) {
            let items = (*offset as u32).wrapping_sub(base);
            *word = items.wrapping_mul(item.size as u32).wrapping_add(key_len as u32).to_be_bytes();
        }
    }
    table
}

/// True if a table of byte offsets is equivalent to `expected`, which are offsets in items.
fn is_table(item: ItemLayout, words: &[u8], key_len: u32, expected: &[i64]) -> bool {
    let (Some(&base), Ok(size)) = (expected.first(), u32::try_from(item.size)) else { return false };
    words.len() + 4 == expected.len() * 4 && all_agree(words, key_len, size, base, expected)
}

// Baskets have fewer bytes than 32 bits can count, so comparing the low halves is enough.
#[multiversion(targets("x86_64+avx2"))]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the low halves are meant")]
fn all_agree(words: &[u8], key_len: u32, size: u32, base: i64, expected: &[i64]) -> bool {
    let differs = words.as_chunks::<4>().0.iter().zip(expected).fold(0, |differs, (word, offset)| {
        let items = (*offset as u32).wrapping_sub(base as u32);
        differs | (u32::from_be_bytes(*word) ^ items.wrapping_mul(size).wrapping_add(key_len))
    });
    differs == 0
}

/// The destination of a slice.
struct Destination<'a> {
    /// Items before it.
    base: i64,
    /// Items in it.
    count: usize,
    /// The offset after each entry.
    offsets: &'a mut [i64],
    /// The items.
    values: &'a mut [u8],
}

fn count_items(item: ItemLayout, slice: &BasketSlice<'_>) -> Result<usize> {
    if slice.is_whole() {
        return item.count(slice.header.data_len, slice.header.entries).map_err(|error| slice.placed(error));
    }
    slice.with_content(|content| {
        let mut bounds = Vec::new();
        boundaries(item, slice, &content, &mut bounds)?;
        item.count(bounds[bounds.len() - 1] - bounds[0], slice.len())
    })
}

/// As [`BasketSlice::boundaries`], computed from the counts if the basket does not store them.
fn boundaries(
    item: ItemLayout,
    slice: &BasketSlice<'_>,
    content: &Content<'_>,
    out: &mut Vec<usize>,
) -> Result<()> {
    if !matches!(content.bounds, Bounds::FromCounts) {
        return slice.boundaries(content, out);
    }
    let counts = slice.counts()?;
    let mut end = 0usize;
    let mut all = vec![0];
    for &count in counts {
        let size = usize::try_from(count).ok().and_then(|count| count.checked_mul(item.size));
        end = size
            .and_then(|size| end.checked_add(size)?.checked_add(item.header))
            .ok_or_else(|| Error::corrupt(format!("an entry cannot hold {count} items")))?;
        all.push(end);
    }
    if end != content.data.len() {
        return Err(Error::corrupt(format!(
            "the counts of a basket's entries ask for {end} bytes, it has {}",
            content.data.len()
        )));
    }
    out.clear();
    out.extend_from_slice(&all[slice.wanted.start..=slice.wanted.end]);
    Ok(())
}

fn decode_slice(
    item: ItemLayout,
    slice: &BasketSlice<'_>,
    content: &Content<'_>,
    place: Destination<'_>,
) -> Result<()> {
    if let (0, true, Bounds::Table { words, key_len, mask: u32::MAX }) =
        (item.header, slice.is_whole(), content.bounds)
    {
        item.number.decode(content.data, place.values);
        return offsets_of_table(item, words, key_len, content.data.len(), place);
    }
    let mut bounds = Vec::new();
    boundaries(item, slice, content, &mut bounds)?;
    let mut items = 0usize;
    let mut values = place.values;
    for (offset, (begin, end)) in place.offsets.iter_mut().zip(bounds.iter().zip(bounds.iter().skip(1))) {
        let body = body_of_entry(item, &content.data[*begin..*end])?;
        let count = body.len() / item.size;
        let (here, after) = values
            .split_at_mut_checked(count * item.size_in_memory())
            .ok_or_else(|| Error::corrupt("the entries of a basket overlap"))?;
        item.number.decode(body, here);
        values = after;
        items += count;
        *offset = place.base + position(items);
    }
    if items == place.count { Ok(()) } else { Err(Error::corrupt("a basket has bytes between its entries")) }
}

/// The items of an entry, after its header.
fn body_of_entry(item: ItemLayout, entry: &[u8]) -> Result<&[u8]> {
    let wrong = |what: &str| Error::corrupt(format!("an entry of {} bytes {what}", entry.len()));
    let (header, body) =
        entry.split_at_checked(item.header).ok_or_else(|| wrong("is shorter than its header"))?;
    if body.len() % item.size != 0 {
        return Err(wrong("is no whole number of items"));
    }
    match header {
        // Byte count, version, number of items (root-io-spec Collections §2 and §3).
        [_, _, _, _, _, _, count @ ..] => {
            let count = <[u8; 4]>::try_from(count).map(u32::from_be_bytes).unwrap_or_default();
            if count as usize != body.len() / item.size {
                return Err(wrong(&format!("has a count of {count} items")));
            }
        }
        // One byte: 0 if nothing follows (ElementTypes §4).
        [0] if !body.is_empty() => return Err(wrong("has bytes after a flag of 0")),
        _ => {}
    }
    Ok(body)
}

/// The hot path of counted leaves: the table of byte offsets becomes offsets in items, in one sweep.
fn offsets_of_table(
    item: ItemLayout,
    words: &[u8],
    key_len: u32,
    data_len: usize,
    place: Destination<'_>,
) -> Result<()> {
    let words = words.as_chunks::<4>().0;
    let begin = |word: &[u8; 4]| u32::from_be_bytes(*word).wrapping_sub(key_len);
    if words.first().is_some_and(|first| begin(first) != 0) {
        return Err(Error::corrupt("the first entry of a basket does not begin where its data do"));
    }
    let Some((last, offsets)) = place.offsets.split_last_mut() else { return Ok(()) };
    let mut remainders = 0u32;
    if item.size.is_power_of_two() {
        let (shift, mask) = (item.size.trailing_zeros(), (item.size - 1) as u32);
        for (offset, word) in offsets.iter_mut().zip(&words[1..]) {
            let at = begin(word);
            remainders |= at & mask;
            *offset = place.base + i64::from(at >> shift);
        }
    } else {
        let size = u32::try_from(item.size).unwrap_or(u32::MAX);
        for (offset, word) in offsets.iter_mut().zip(&words[1..]) {
            let at = begin(word);
            remainders |= at % size;
            *offset = place.base + i64::from(at / size);
        }
    }
    *last = place.base + position(data_len / item.size);
    let backwards = place.offsets.windows(2).fold(false, |found, pair| found | (pair[0] > pair[1]));
    if remainders != 0 || backwards || place.offsets.first().is_some_and(|first| *first < place.base) {
        return Err(Error::corrupt("the offsets of a basket's entries go backwards or split an item"));
    }
    Ok(())
}
